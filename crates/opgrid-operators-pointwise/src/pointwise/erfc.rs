//! `aten::erfc`: one minus the error function.
//!
//! `out[i] = 1 - erf(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype.
//! - Values: All digits where the error function is next to one.
//! - Aliasing: `erfc_` writes `self`, `erfc.out` writes `out`.
//! - Errors: complex numbers; `erfc_` of integers and bools.
//! - Source: torch.special.erfc, PyTorch 2.15.

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::prelude::*;
use opgrid_kernels::special;

pub use opgrid_tensor::ops::pointwise::erfc::*;

/// The family of `aten::erfc`: its kind, shape rule and `out` rule.
pub const ERFC: Family<Erfc> = Family::new(Erfc, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ERFC).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| grad * ((-(x * x)?)?.exp()? * -FRAC_2_SQRT_PI)?)
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => elementwise::unary_by::<T, T>(out, input, special::ErrorFunctionComplement))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .unary(Erfc, ORDERED, DTypeRule::Inexact, |x| number::inexact(x, libm::erfc, |x| x))
            .tolerance(16.0);
        samples.rounds(Erfc, pointwise::samples::ELEMENTARY);
    }
}
