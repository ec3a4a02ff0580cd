//! `aten::i0`, `special_i0`: the modified Bessel function of the first kind of order zero.
//!
//! `out[i] = I0(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: NaN for infinities.
//! - Aliasing: `i0_` writes `self`, `i0.out` writes `out`.
//! - Dispatch: `special_i0` is another name.
//! - Derivative: `special_i1`.
//! - Errors: complex numbers; `i0_` of integers and bools.
//! - Source: torch.special.i0, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialI1;

pub use opgrid_tensor::ops::special::i0::*;

/// The family of `aten::i0`: its kind, shape rule and `out` rule.
pub const I0_FAMILY: Family<I0> = Family::new(I0, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&I0_FAMILY)
        .cpu(|input, out| special::unary(input, out, opgrid_special::i0))
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| grad * SpecialI1.call(x)?));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(I0, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::modified_first(0, x))
                })
            })
            .tolerance(16.0);
        samples.rounds(I0, Roundings::all(Rounding::Near(64)));
        samples.differs(I0, special::samples::MODIFIED);
    }
}
