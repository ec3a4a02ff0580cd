//! `aten::special_i0e`: the modified Bessel function of the first kind of order zero, scaled by an exponential.
//!
//! `out[i] = e ^ -|self[i]| * I0(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Aliasing: `special_i0e.out` writes `out`.
//! - Derivative: `special_i1e` less the result, by the sign.
//! - Errors: complex numbers.
//! - Source: torch.special.i0e, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialI1e;

pub use opgrid_tensor::ops::special::i0e::*;

/// The family of `aten::special_i0e`: its kind, shape rule and `out` rule.
pub const SPECIAL_I0E: Family<SpecialI0e> =
    Family::new(SpecialI0e, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_I0E)
        .cpu(|input, out| special::unary(input, out, opgrid_special::i0e))
        .derivative(|d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                grad * (SpecialI1e.call(x)? - (x.sgn()? * out)?)?
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialI0e, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::modified_first(0, x) * (-x.abs()).exp())
                })
            })
            .tolerance(16.0);
        samples.rounds(SpecialI0e, Roundings::all(Rounding::Near(64)));
    }
}
