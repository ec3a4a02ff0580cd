//! `aten::special_i1`: the modified Bessel function of the first kind of order one.
//!
//! `out[i] = I1(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: NaN for infinities.
//! - Aliasing: `special_i1.out` writes `out`.
//! - Derivative: `I0(x) - I1(x) / x`, one half at zero.
//! - Errors: complex numbers.
//! - Source: torch.special.i1, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::I0;

pub use opgrid_tensor::ops::special::i1::*;

/// The family of `aten::special_i1`: its kind, shape rule and `out` rule.
pub const SPECIAL_I1: Family<SpecialI1> =
    Family::new(SpecialI1, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&SPECIAL_I1).cpu(|input, out| special::unary(input, out, opgrid_special::i1)).derivative(
        |d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                grad * (I0.call(x)? - special::over_x(out, x)?)?
            })
        },
    );
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialI1, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::modified_first(1, x))
                })
            })
            .tolerance(16.0);
        samples.rounds(SpecialI1, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialI1, special::samples::MODIFIED);
    }
}
