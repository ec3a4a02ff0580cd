//! `aten::special_bessel_j0`: the Bessel function of the first kind of order zero.
//!
//! `out[i] = J0(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: NaN for infinities.
//! - Aliasing: `special_bessel_j0.out` writes `out`.
//! - Derivative: minus `special_bessel_j1`.
//! - Errors: complex numbers.
//! - Source: torch.special.bessel_j0, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialBesselJ1;

pub use opgrid_tensor::ops::special::bessel_j0::*;

/// The family of `aten::special_bessel_j0`: its kind, shape rule and `out` rule.
pub const SPECIAL_BESSEL_J0: Family<SpecialBesselJ0> =
    Family::new(SpecialBesselJ0, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_BESSEL_J0)
        .cpu(|input, out| special::unary(input, out, opgrid_special::bessel_j0))
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| (grad * SpecialBesselJ1.call(x)?)?.neg()));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialBesselJ0, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, |x| special::samples::first(0, x)))
            })
            .tolerance(16.0);
        samples.rounds(SpecialBesselJ0, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialBesselJ0, special::samples::BESSEL);
    }
}
