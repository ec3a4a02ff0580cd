//! `aten::igammac`, `special_gammaincc`: the upper incomplete gamma function, as a part of the whole one.
//!
//! `out[i] = Q(a, x)` with `a = self[i]` and `x = other[i]`, the integral of `t ^ (a - 1) e ^ -t / gamma(a)` from x on
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted to a floating-point one. Results are computed in double precision.
//! - Values: NaN for negative numbers, and where both are 0 or both infinite.
//! - Aliasing: `igammac_` writes `self`, `igammac.out` writes `out`.
//! - Dispatch: `special_gammaincc` is another name.
//! - Derivative: of `other` only, as in torch; a gradient of `self` is an error.
//! - Errors: other dtypes.
//! - Source: torch.special.gammaincc, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::igammac::*;

/// The family of `aten::igammac`: its kind, shape rule and `out` rule.
pub const IGAMMAC: Family<Igammac> = Family::new(Igammac, &kind::POINTWISE_BINARY, special::float_binary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&IGAMMAC)
        .cpu(|input, other, out| special::binary(input, other, out, opgrid_special::gamma_q))
        .derivative(|d, (input, other)| {
            d.by(input, [], |_, []| special::without_gradient("aten::igammac"))?;
            d.by(other, [input, other], |grad, [a, x]| (grad * special::gamma_density(a, x)?)?.neg())
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Igammac, FLOATS, special::samples::float_pairs, |it| {
                it.binary(DTypeRule::Promoted, |a, x| {
                    let part = special::samples::lower_gamma(a.to_complex().re, x.to_complex().re);
                    Scalar::Float(1.0 - part)
                })
            })
            .tolerance(64.0)
            .constant(&["self"]);
        samples.rounds(Igammac, Roundings::all(Rounding::Near(256)));
        samples.differs(Igammac, special::samples::INCOMPLETE);
    }
}
