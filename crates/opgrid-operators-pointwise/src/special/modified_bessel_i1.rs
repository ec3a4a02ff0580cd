//! `aten::special_modified_bessel_i1`: the modified Bessel function of the first kind of order one.
//!
//! `out[i] = I1(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: NaN for infinities.
//! - Aliasing: `special_modified_bessel_i1.out` writes `out`.
//! - Derivative: `I0(x) - I1(x) / x`, one half at zero.
//! - Errors: complex numbers.
//! - Source: torch.special.modified_bessel_i1, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialModifiedBesselI0;

pub use opgrid_tensor::ops::special::modified_bessel_i1::*;

/// The family of `aten::special_modified_bessel_i1`: its kind, shape rule and `out` rule.
pub const SPECIAL_MODIFIED_BESSEL_I1: Family<SpecialModifiedBesselI1> =
    Family::new(SpecialModifiedBesselI1, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_MODIFIED_BESSEL_I1)
        .cpu(|input, out| special::unary(input, out, opgrid_special::i1))
        .derivative(|d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                grad * (SpecialModifiedBesselI0.call(x)? - special::over_x(out, x)?)?
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialModifiedBesselI1, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::modified_first(1, x))
                })
            })
            .tolerance(16.0);
        samples.rounds(SpecialModifiedBesselI1, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialModifiedBesselI1, special::samples::MODIFIED);
    }
}
