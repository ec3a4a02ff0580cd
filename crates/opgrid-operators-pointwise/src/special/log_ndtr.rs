//! `aten::special_log_ndtr`: the logarithm of the part of a normal distribution that lies below elements.
//!
//! `out[i] = ln(erfc(-self[i] / sqrt(2)) / 2)`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Aliasing: `special_log_ndtr.out` writes `out`.
//! - Derivative: the density of the distribution over the part.
//! - Errors: complex numbers.
//! - Source: torch.special.log_ndtr, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::log_ndtr::*;

/// The density at zero: `1 / sqrt(2 pi)`.
const DENSITY: f64 = 0.398_942_280_401_432_7;

/// The family of `aten::special_log_ndtr`: its kind, shape rule and `out` rule.
pub const SPECIAL_LOG_NDTR: Family<SpecialLogNdtr> =
    Family::new(SpecialLogNdtr, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_LOG_NDTR)
        .cpu(|input, out| special::unary(input, out, opgrid_special::log_ndtr))
        .derivative(|d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                grad * (out + (x.square()? * 0.5)?)?.neg()?.exp()?.mul(DENSITY)?
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialLogNdtr, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, |x| special::samples::normal(x).ln()))
            })
            .tolerance(64.0);
        samples.rounds(SpecialLogNdtr, Roundings::all(Rounding::Near(64)));
    }
}
