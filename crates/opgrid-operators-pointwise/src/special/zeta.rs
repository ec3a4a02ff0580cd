//! `aten::special_zeta`: the Hurwitz zeta function.
//!
//! `out[i] = the sum of (other[i] + k) ^ -self[i] for k = 0, 1, …`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: infinite where `self` is 1, NaN where it is less. Where `other` is not positive, infinite at integers, and elsewhere NaN unless `self` is an integer. NaN for infinities.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: of `other` only, as in torch; a gradient of `self` is an error.
//! - Errors: complex numbers.
//! - Source: torch.special.zeta, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::zeta::*;

/// The family of `aten::special_zeta`: its kind, shape rule and `out` rule.
pub const SPECIAL_ZETA: Family<SpecialZeta> =
    Family::new(SpecialZeta, &kind::POINTWISE_BINARY, pointwise::inexact_real_binary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_ZETA)
        .cpu(|input, other, out| special::binary(input, other, out, opgrid_special::zeta))
        .derivative(|d, (input, other)| {
            d.by(input, [], |_, []| special::without_gradient("aten::special_zeta"))?;
            d.by(other, [input, other], |grad, [x, q]| (grad * (x * SpecialZeta.call(&(x + 1)?, q)?)?)?.neg())
        })
        .number(SpecialZetaOtherScalar, SpecialZeta)
        .number(SpecialZetaOtherScalarOut, SpecialZetaOut)
        .number_first(SpecialZetaSelfScalar, SpecialZeta)
        .number_first(SpecialZetaSelfScalarOut, SpecialZetaOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let reference = |it: &Inputs| {
            it.binary(DTypeRule::Inexact, |x, q| {
                Scalar::Float(special::samples::zeta(x.to_complex().re, q.to_complex().re))
            })
        };
        samples
            .operator(SpecialZeta, ORDERED, generate::pairs_to_divide, reference)
            .tolerance(64.0)
            .constant(&["self"]);
        samples
            .operator(SpecialZetaOtherScalar, ORDERED, special::samples::with_number, reference)
            .tolerance(64.0)
            .constant(&["self"]);
        samples
            .operator(
                SpecialZetaSelfScalar,
                ORDERED,
                |dtype| generate::number_first(special::samples::with_number(dtype)),
                reference,
            )
            .tolerance(64.0);
        samples.rounds(SpecialZeta, Roundings::all(Rounding::Near(64)));
        samples.differs(SpecialZeta, special::samples::ZETA);
    }
}
