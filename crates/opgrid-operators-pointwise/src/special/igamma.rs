//! `aten::igamma`, `special_gammainc`: the lower incomplete gamma function, as a part of the whole one.
//!
//! `out[i] = P(a, x)` with `a = self[i]` and `x = other[i]`, the integral of `t ^ (a - 1) e ^ -t / gamma(a)` from 0 to x
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted to a floating-point one. Results are computed in double precision.
//! - Values: NaN for negative numbers, and where both are 0 or both infinite.
//! - Aliasing: `igamma_` writes `self`, `igamma.out` writes `out`.
//! - Dispatch: `special_gammainc` is another name.
//! - Derivative: of `other` only, as in torch; a gradient of `self` is an error.
//! - Errors: other dtypes.
//! - Source: torch.special.gammainc, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::igamma::*;

/// The family of `aten::igamma`: its kind, shape rule and `out` rule.
pub const IGAMMA: Family<Igamma> = Family::new(Igamma, &kind::POINTWISE_BINARY, special::float_binary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&IGAMMA)
        .cpu(|input, other, out| special::binary(input, other, out, opgrid_special::gamma_p))
        .derivative(|d, (input, other)| {
            d.by(input, [], |_, []| special::without_gradient("aten::igamma"))?;
            d.by(other, [input, other], |grad, [a, x]| grad * special::gamma_density(a, x)?)
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(Igamma, FLOATS, special::samples::float_pairs, |it| {
                it.binary(DTypeRule::Promoted, |a, x| {
                    let part = special::samples::lower_gamma(a.to_complex().re, x.to_complex().re);
                    Scalar::Float(part)
                })
            })
            .tolerance(64.0)
            .constant(&["self"]);
        samples.rounds(Igamma, Roundings::all(Rounding::Near(256)));
        samples.differs(Igamma, special::samples::INCOMPLETE);
    }
}
