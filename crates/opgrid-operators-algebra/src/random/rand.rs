//! `aten::rand`: a new tensor of random numbers, evenly distributed from 0 to before 1.
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Aliasing: `rand.out` and `rand.generator_out` write `out`.
//! - Dispatch: a composite of `empty` and `uniform_`.
//! - Errors: those of [`EmptyMemoryFormat`](opgrid_tensor::ops::EmptyMemoryFormat) and [`UniformInplace`].
//! - Source: torch.rand, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::factory;
use opgrid_tensor::ops::UniformInplace;

pub use opgrid_tensor::ops::random::rand::*;

pub(super) fn register(library: &mut Library) {
    factory::define_drawn(library, (Rand, RandGenerator), (RandOut, RandGeneratorOut), |out, generator| {
        UniformInplace.call(out, 0.0, 1.0, generator)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        factory::samples::of_drawn(samples, (Rand, RandGenerator), Distribution::uniform(0.0, 1.0));
    }
}
