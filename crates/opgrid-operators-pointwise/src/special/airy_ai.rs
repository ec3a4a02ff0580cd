//! `aten::special_airy_ai`: the Airy function of the first kind.
//!
//! `out[i] = Ai(x[i])`
//!
//! - Shapes: that of `x`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: NaN for infinities.
//! - Aliasing: `special_airy_ai.out` writes `out`.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.airy_ai, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::airy_ai::*;

/// The family of `aten::special_airy_ai`: its kind, shape rule and `out` rule.
pub const SPECIAL_AIRY_AI: Family<SpecialAiryAi> =
    Family::new(SpecialAiryAi, &kind::POINTWISE_UNARY, special::real_unary_of_x);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_AIRY_AI)
        .cpu(|input, out| special::unary(input, out, opgrid_special::airy_ai))
        .non_differentiable();
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialAiryAi, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| number::float_by(x, special::samples::airy))
            })
            .tolerance(256.0);
        samples.rounds(SpecialAiryAi, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialAiryAi, special::samples::AIRY);
    }
}
