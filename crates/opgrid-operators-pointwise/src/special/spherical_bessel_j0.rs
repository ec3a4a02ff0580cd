//! `aten::special_spherical_bessel_j0`: the spherical Bessel function of the first kind of order zero.
//!
//! `out[i] = sin(x[i]) / x[i], which is 1 at 0`
//!
//! - Shapes: that of `x`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: zero for infinities.
//! - Aliasing: `special_spherical_bessel_j0.out` writes `out`.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.spherical_bessel_j0, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::spherical_bessel_j0::*;

/// The family of `aten::special_spherical_bessel_j0`: its kind, shape rule and `out` rule.
pub const SPECIAL_SPHERICAL_BESSEL_J0: Family<SpecialSphericalBesselJ0> =
    Family::new(SpecialSphericalBesselJ0, &kind::POINTWISE_UNARY, special::real_unary_of_x);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_SPHERICAL_BESSEL_J0)
        .cpu(|input, out| special::unary(input, out, opgrid_special::spherical_bessel_j0))
        .non_differentiable();
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialSphericalBesselJ0, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, special::samples::spherical))
            })
            .tolerance(16.0);
        samples.rounds(SpecialSphericalBesselJ0, Roundings::all(Rounding::Near(64)));
    }
}
