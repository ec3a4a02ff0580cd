//! `aten::special_laguerre_polynomial_l`: Laguerre polynomials, by their degrees.
//!
//! `out[i] = L_n(x[i])` with `n = n[i]`
//!
//! - Shapes: `x` and `n` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: a degree is rounded towards zero, and a negative one gives zero; a number of steps that is above 2²⁰, or numbers out of range on the way, give NaN.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.laguerre_polynomial_l, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::laguerre_polynomial_l::*;

/// The family of `aten::special_laguerre_polynomial_l`: its kind, shape rule and `out` rule.
pub const SPECIAL_LAGUERRE_POLYNOMIAL_L: Family<SpecialLaguerrePolynomialL> =
    Family::new(SpecialLaguerrePolynomialL, &kind::POINTWISE_BINARY, special::polynomial);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_LAGUERRE_POLYNOMIAL_L)
        .cpu(|x, n, out| special::binary(x, n, out, opgrid_special::laguerre_l))
        .non_differentiable()
        .number(SpecialLaguerrePolynomialLNScalar, SpecialLaguerrePolynomialL)
        .number(SpecialLaguerrePolynomialLNScalarOut, SpecialLaguerrePolynomialLOut)
        .number_first(SpecialLaguerrePolynomialLXScalar, SpecialLaguerrePolynomialL)
        .number_first(SpecialLaguerrePolynomialLXScalarOut, SpecialLaguerrePolynomialLOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operators = (
            SpecialLaguerrePolynomialL,
            SpecialLaguerrePolynomialLXScalar,
            SpecialLaguerrePolynomialLNScalar,
        );
        special::samples::polynomial(samples, operators, special::samples::laguerre_l);
    }
}
