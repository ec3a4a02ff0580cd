//! `aten::erfinv`: the inverse of the error function.
//!
//! `out[i] = the x with erf(x) = self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype.
//! - Values: Infinite at 1 and -1, NaN beyond.
//! - Aliasing: `erfinv_` writes `self`, `erfinv.out` writes `out`.
//! - Errors: complex numbers; `erfinv_` of integers and bools.
//! - Source: torch.special.erfinv, PyTorch 2.15.

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::prelude::*;
use opgrid_kernels::special;

pub use opgrid_tensor::ops::pointwise::erfinv::*;

/// The family of `aten::erfinv`: its kind, shape rule and `out` rule.
pub const ERFINV: Family<Erfinv> = Family::new(Erfinv, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ERFINV).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [d.result(0)], |grad, [out]| grad * ((out * out)?.exp()? / FRAC_2_SQRT_PI)?)
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => elementwise::unary_by::<T, T>(out, input, special::ErrorFunctionInverse))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .unary(Erfinv, ORDERED, DTypeRule::Inexact, |x| number::inexact(x, number::erf_inverse, |x| x))
            .tolerance(64.0);
        samples.rounds(Erfinv, pointwise::samples::ELEMENTARY);
    }
}
