//! `aten::special_ndtri`: the number below which a part of a normal distribution lies.
//!
//! `out[i] = the x with erfc(-x / sqrt(2)) / 2 = self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: infinite at 0 and 1, NaN beyond.
//! - Aliasing: `special_ndtri.out` writes `out`.
//! - Derivative: the reciprocal of the density at the result.
//! - Errors: complex numbers.
//! - Source: torch.special.ndtri, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::ndtri::*;

/// The density at zero: `1 / sqrt(2 pi)`.
const DENSITY: f64 = 0.398_942_280_401_432_7;

/// The family of `aten::special_ndtri`: its kind, shape rule and `out` rule.
pub const SPECIAL_NDTRI: Family<SpecialNdtri> =
    Family::new(SpecialNdtri, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_NDTRI)
        .cpu(|input, out| special::unary(input, out, opgrid_special::ndtri))
        .derivative(|d, (input,)| {
            d.by(input, [d.result(0)], |grad, [out]| grad * (out.square()? * 0.5)?.exp()?.div(DENSITY)?)
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialNdtri, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, special::samples::quantile))
            })
            .tolerance(64.0);
        samples.rounds(SpecialNdtri, Roundings::all(Rounding::Near(64)));
    }
}
