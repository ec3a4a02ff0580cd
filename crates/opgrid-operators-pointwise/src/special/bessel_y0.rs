//! `aten::special_bessel_y0`: the Bessel function of the second kind of order zero.
//!
//! `out[i] = Y0(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: minus infinity at zero, NaN for negative numbers and infinities.
//! - Aliasing: `special_bessel_y0.out` writes `out`.
//! - Derivative: minus `special_bessel_y1`.
//! - Errors: complex numbers.
//! - Source: torch.special.bessel_y0, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialBesselY1;

pub use opgrid_tensor::ops::special::bessel_y0::*;

/// The family of `aten::special_bessel_y0`: its kind, shape rule and `out` rule.
pub const SPECIAL_BESSEL_Y0: Family<SpecialBesselY0> =
    Family::new(SpecialBesselY0, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_BESSEL_Y0)
        .cpu(|input, out| special::unary(input, out, opgrid_special::bessel_y0))
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| (grad * SpecialBesselY1.call(x)?)?.neg()));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialBesselY0, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, |x| special::samples::second(0, x)))
            })
            .tolerance(256.0);
        samples.rounds(SpecialBesselY0, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialBesselY0, special::samples::BESSEL);
    }
}
