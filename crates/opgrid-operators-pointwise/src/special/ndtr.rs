//! `aten::special_ndtr`: the part of a normal distribution that lies below elements.
//!
//! `out[i] = erfc(-self[i] / sqrt(2)) / 2`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Aliasing: `special_ndtr.out` writes `out`.
//! - Derivative: the density of the distribution.
//! - Errors: complex numbers.
//! - Source: torch.special.ndtr, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::ndtr::*;

/// The density at zero: `1 / sqrt(2 pi)`.
const DENSITY: f64 = 0.398_942_280_401_432_7;

/// The family of `aten::special_ndtr`: its kind, shape rule and `out` rule.
pub const SPECIAL_NDTR: Family<SpecialNdtr> =
    Family::new(SpecialNdtr, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_NDTR)
        .cpu(|input, out| special::unary(input, out, opgrid_special::ndtr))
        .derivative(|d, (input,)| {
            d.by(input, [input], |grad, [x]| grad * ((x * x)? * -0.5)?.exp()?.mul(DENSITY)?)
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialNdtr, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, special::samples::normal))
            })
            .tolerance(16.0);
        samples.rounds(SpecialNdtr, Roundings::all(Rounding::Near(64)));
    }
}
