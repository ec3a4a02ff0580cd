//! `aten::special_modified_bessel_k0`: the modified Bessel function of the second kind of order zero.
//!
//! `out[i] = K0(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: infinite at zero, NaN for negative numbers.
//! - Aliasing: `special_modified_bessel_k0.out` writes `out`.
//! - Derivative: minus `special_modified_bessel_k1`.
//! - Errors: complex numbers.
//! - Source: torch.special.modified_bessel_k0, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialModifiedBesselK1;

pub use opgrid_tensor::ops::special::modified_bessel_k0::*;

/// The family of `aten::special_modified_bessel_k0`: its kind, shape rule and `out` rule.
pub const SPECIAL_MODIFIED_BESSEL_K0: Family<SpecialModifiedBesselK0> =
    Family::new(SpecialModifiedBesselK0, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_MODIFIED_BESSEL_K0)
        .cpu(|input, out| special::unary(input, out, opgrid_special::k0))
        .derivative(|d, (input,)| {
            d.by(input, [input], |grad, [x]| (grad * SpecialModifiedBesselK1.call(x)?)?.neg())
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialModifiedBesselK0, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::modified_second(0.0, x))
                })
            })
            .tolerance(64.0);
        samples.rounds(SpecialModifiedBesselK0, Roundings::all(Rounding::Near(64)));
    }
}
