//! `aten::special_scaled_modified_bessel_k1`: the modified Bessel function of the second kind of order one, scaled by an exponential.
//!
//! `out[i] = e ^ x[i] * K1(x[i])`
//!
//! - Shapes: that of `x`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: infinite at zero, NaN for negative numbers.
//! - Aliasing: `special_scaled_modified_bessel_k1.out` writes `out`.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.scaled_modified_bessel_k1, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::scaled_modified_bessel_k1::*;

/// The family of `aten::special_scaled_modified_bessel_k1`: its kind, shape rule and `out` rule.
pub const SPECIAL_SCALED_MODIFIED_BESSEL_K1: Family<SpecialScaledModifiedBesselK1> =
    Family::new(SpecialScaledModifiedBesselK1, &kind::POINTWISE_UNARY, special::real_unary_of_x);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_SCALED_MODIFIED_BESSEL_K1)
        .cpu(|input, out| special::unary(input, out, opgrid_special::k1e))
        .non_differentiable();
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialScaledModifiedBesselK1, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::scaled_modified_second(1.0, x))
                })
            })
            .tolerance(64.0);
        samples.rounds(SpecialScaledModifiedBesselK1, Roundings::all(Rounding::Near(64)));
    }
}
