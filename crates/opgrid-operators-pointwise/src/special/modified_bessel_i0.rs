//! `aten::special_modified_bessel_i0`: the modified Bessel function of the first kind of order zero.
//!
//! `out[i] = I0(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: NaN for infinities.
//! - Aliasing: `special_modified_bessel_i0.out` writes `out`.
//! - Derivative: `special_modified_bessel_i1`.
//! - Errors: complex numbers.
//! - Source: torch.special.modified_bessel_i0, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialModifiedBesselI1;

pub use opgrid_tensor::ops::special::modified_bessel_i0::*;

/// The family of `aten::special_modified_bessel_i0`: its kind, shape rule and `out` rule.
pub const SPECIAL_MODIFIED_BESSEL_I0: Family<SpecialModifiedBesselI0> =
    Family::new(SpecialModifiedBesselI0, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_MODIFIED_BESSEL_I0)
        .cpu(|input, out| special::unary(input, out, opgrid_special::i0))
        .derivative(|d, (input,)| {
            d.by(input, [input], |grad, [x]| grad * SpecialModifiedBesselI1.call(x)?)
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialModifiedBesselI0, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::modified_first(0, x))
                })
            })
            .tolerance(16.0);
        samples.rounds(SpecialModifiedBesselI0, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialModifiedBesselI0, special::samples::MODIFIED);
    }
}
