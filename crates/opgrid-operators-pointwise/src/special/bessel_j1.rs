//! `aten::special_bessel_j1`: the Bessel function of the first kind of order one.
//!
//! `out[i] = J1(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: NaN for infinities.
//! - Aliasing: `special_bessel_j1.out` writes `out`.
//! - Derivative: `J0(x) - J1(x) / x`, one half at zero.
//! - Errors: complex numbers.
//! - Source: torch.special.bessel_j1, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialBesselJ0;

pub use opgrid_tensor::ops::special::bessel_j1::*;

/// The family of `aten::special_bessel_j1`: its kind, shape rule and `out` rule.
pub const SPECIAL_BESSEL_J1: Family<SpecialBesselJ1> =
    Family::new(SpecialBesselJ1, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_BESSEL_J1)
        .cpu(|input, out| special::unary(input, out, opgrid_special::bessel_j1))
        .derivative(|d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                grad * (SpecialBesselJ0.call(x)? - special::over_x(out, x)?)?
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialBesselJ1, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, |x| special::samples::first(1, x)))
            })
            .tolerance(16.0);
        samples.rounds(SpecialBesselJ1, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialBesselJ1, special::samples::BESSEL);
    }
}
