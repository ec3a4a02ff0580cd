//! `aten::special_entr`: the entropy of elements.
//!
//! `out[i] = -self[i] * ln(self[i]), which is 0 at 0`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: minus infinity for negative numbers.
//! - Aliasing: `special_entr.out` writes `out`.
//! - Derivative: `-1 - ln(x)`.
//! - Errors: complex numbers.
//! - Source: torch.special.entr, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::entr::*;

/// The family of `aten::special_entr`: its kind, shape rule and `out` rule.
pub const SPECIAL_ENTR: Family<SpecialEntr> =
    Family::new(SpecialEntr, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_ENTR)
        .cpu(|input, out| special::unary(input, out, opgrid_special::entr))
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| (grad * (x.log()? + 1)?)?.neg()));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialEntr, ORDERED, generate::unary, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| {
                        if x < 0.0 {
                            f64::NEG_INFINITY
                        } else if x == 0.0 {
                            0.0
                        } else {
                            -(x * x.ln())
                        }
                    })
                })
            })
            .tolerance(8.0);
        samples.rounds(SpecialEntr, Roundings::all(Rounding::Near(64)));
    }
}
