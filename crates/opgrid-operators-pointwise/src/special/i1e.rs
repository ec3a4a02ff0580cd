//! `aten::special_i1e`: the modified Bessel function of the first kind of order one, scaled by an exponential.
//!
//! `out[i] = e ^ -|self[i]| * I1(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype. Results are computed in double precision.
//! - Aliasing: `special_i1e.out` writes `out`.
//! - Derivative: `special_i0e(x) - result * (sign(x) + 1 / x)`, one half at zero.
//! - Errors: complex numbers.
//! - Source: torch.special.i1e, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;
use opgrid_tensor::ops::SpecialI0e;

pub use opgrid_tensor::ops::special::i1e::*;

/// The family of `aten::special_i1e`: its kind, shape rule and `out` rule.
pub const SPECIAL_I1E: Family<SpecialI1e> =
    Family::new(SpecialI1e, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_I1E)
        .cpu(|input, out| special::unary(input, out, opgrid_special::i1e))
        .derivative(|d, (input,)| {
            d.by(input, [input, d.result(0)], |grad, [x, out]| {
                grad * ((SpecialI0e.call(x)? - (out * x.sgn()?)?)? - special::over_x(out, x)?)?
            })
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(SpecialI1e, ORDERED, generate::unary_numbers, |it| {
                it.unary(DTypeRule::Inexact, |x| {
                    number::float_by(x, |x| special::samples::modified_first(1, x) * (-x.abs()).exp())
                })
            })
            .tolerance(16.0);
        samples.rounds(SpecialI1e, Roundings::all(Rounding::Near(64)));
    }
}
