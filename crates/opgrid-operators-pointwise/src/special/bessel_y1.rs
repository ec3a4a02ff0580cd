//! `aten::special_bessel_y1`: the Bessel function of the second kind of order one.
//!
//! `out[i] = Y1(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: minus infinity at zero, NaN for negative numbers and infinities.
//! - Aliasing: `special_bessel_y1.out` writes `out`.
//! - Derivative: `Y0(x) - Y1(x) / x`.
//! - Errors: complex numbers.
//! - Source: torch.special.bessel_y1, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::{SpecialBesselY0, WhereScalarSelf};

pub use opgrid_tensor::ops::special::bessel_y1::*;

/// The family of `aten::special_bessel_y1`: its kind, shape rule and `out` rule.
pub const SPECIAL_BESSEL_Y1: Family<SpecialBesselY1> =
    Family::new(SpecialBesselY1, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_BESSEL_Y1)
        .cpu(|input, out| special::unary(input, out, opgrid_special::bessel_y1))
        .derivative(|d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                // At zero both terms are infinite, of which the second is the larger one.
                let slope = (SpecialBesselY0.call(x)? - (out / x)?)?;
                grad * WhereScalarSelf.call(&x.eq(0)?, Scalar::Float(f64::INFINITY), &slope)?
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialBesselY1, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, |x| special::samples::second(1, x)))
            })
            .tolerance(256.0);
        samples.rounds(SpecialBesselY1, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialBesselY1, special::samples::BESSEL);
    }
}
