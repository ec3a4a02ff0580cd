//! `aten::randn`: a new tensor of random numbers, normally distributed with mean 0 and deviation 1.
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Aliasing: `randn.out` and `randn.generator_out` write `out`.
//! - Dispatch: a composite of `empty` and `normal_`.
//! - Errors: those of [`EmptyMemoryFormat`](opgrid_tensor::ops::EmptyMemoryFormat) and [`NormalInplace`].
//! - Source: torch.randn, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::NormalInplace;

pub use opgrid_tensor::ops::random::randn::*;

pub(super) fn register(library: &mut Library) {
    factory::define_drawn(
        library,
        (Randn, RandnGenerator),
        (RandnOut, RandnGeneratorOut),
        |out, generator| NormalInplace.call(out, 0.0, 1.0, generator),
    );
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        factory::samples::of_drawn(samples, (Randn, RandnGenerator), Distribution::normal(0.0, 1.0));
        // Box and Muller's formula, by another logarithm, sine and cosine.
        samples.rounds(Randn, Roundings::all(Rounding::Sum(32)));
    }
}
