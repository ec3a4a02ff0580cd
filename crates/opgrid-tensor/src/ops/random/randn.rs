//! `aten::randn`: a new tensor of random numbers, normally distributed with mean 0 and deviation 1.
//!
//! - Shapes: `size`, row-major.
//! - Dtypes: `dtype`, the default one without it.
//! - Aliasing: `randn.out` and `randn.generator_out` write `out`.
//! - Dispatch: a composite of `empty` and `normal_`.
//! - Errors: those of [`EmptyMemoryFormat`](crate::ops::EmptyMemoryFormat) and [`NormalInplace`].
//! - Source: torch.randn, PyTorch 2.15.

use crate::ops::NormalInplace;
use crate::ops::kinds::factory;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    pub Randn = "aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
    pub RandnGenerator = "aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
}

pub(super) fn register(library: &mut Library) {
    factory::define_drawn(
        library,
        (Randn, RandnGenerator),
        (RandnOut, RandnGeneratorOut),
        |out, generator| NormalInplace.call(out, 0.0, 1.0, generator),
    );
}

impl Tensor {
    /// A new row-major tensor of random numbers, normally distributed with mean 0 and deviation 1.
    ///
    /// # Errors
    ///
    /// Those of [`Randn`].
    pub fn randn(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Randn.call(size, Some(dtype), None, Some(device), None)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        factory::samples::of_drawn(samples, (Randn, RandnGenerator), Distribution::normal(0.0, 1.0));
        // Box and Muller's formula, by another logarithm, sine and cosine.
        samples.rounds(Randn, Roundings::all(Rounding::Sum(32)));
    }
}
