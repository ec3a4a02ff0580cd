//! `aten::special_erfcx`: the complementary error function, scaled by an exponential.
//!
//! `out[i] = e ^ (self[i] ^ 2) * erfc(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Aliasing: `special_erfcx.out` writes `out`.
//! - Derivative: `2 x result - 2 / sqrt(pi)`.
//! - Errors: complex numbers.
//! - Source: torch.special.erfcx, PyTorch 2.15.

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::erfcx::*;

/// The family of `aten::special_erfcx`: its kind, shape rule and `out` rule.
pub const SPECIAL_ERFCX: Family<SpecialErfcx> =
    Family::new(SpecialErfcx, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_ERFCX)
        .cpu(|input, out| special::unary(input, out, opgrid_special::erfcx))
        .derivative(|d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                grad * ((x * 2)? * out)?.sub(FRAC_2_SQRT_PI)?
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialErfcx, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, special::samples::scaled_complement))
            })
            .tolerance(64.0);
        samples.rounds(SpecialErfcx, Roundings::all(Rounding::Near(64)));
    }
}
