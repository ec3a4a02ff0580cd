//! `aten::special_modified_bessel_k1`: the modified Bessel function of the second kind of order one.
//!
//! `out[i] = K1(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: infinite at zero, NaN for negative numbers.
//! - Aliasing: `special_modified_bessel_k1.out` writes `out`.
//! - Derivative: `-K0(x) - K1(x) / x`.
//! - Errors: complex numbers.
//! - Source: torch.special.modified_bessel_k1, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialModifiedBesselK0;

pub use opgrid_tensor::ops::special::modified_bessel_k1::*;

/// The family of `aten::special_modified_bessel_k1`: its kind, shape rule and `out` rule.
pub const SPECIAL_MODIFIED_BESSEL_K1: Family<SpecialModifiedBesselK1> =
    Family::new(SpecialModifiedBesselK1, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_MODIFIED_BESSEL_K1)
        .cpu(|input, out| special::unary(input, out, opgrid_special::k1))
        .derivative(|d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                (grad * (SpecialModifiedBesselK0.call(x)? + (out / x)?)?)?.neg()
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialModifiedBesselK1, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::modified_second(1.0, x))
                })
            })
            .tolerance(64.0);
        samples.rounds(SpecialModifiedBesselK1, Roundings::all(Rounding::Near(64)));
    }
}
