//! `aten::special_legendre_polynomial_p`: Legendre polynomials, by their degrees.
//!
//! `out[i] = P_n(x[i])` with `n = n[i]`
//!
//! - Shapes: `x` and `n` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: a degree is rounded towards zero, and a negative one gives zero; a number of steps that is above 2²⁰, or numbers out of range on the way, give NaN.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.legendre_polynomial_p, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::legendre_polynomial_p::*;

/// The family of `aten::special_legendre_polynomial_p`: its kind, shape rule and `out` rule.
pub const SPECIAL_LEGENDRE_POLYNOMIAL_P: Family<SpecialLegendrePolynomialP> =
    Family::new(SpecialLegendrePolynomialP, &kind::POINTWISE_BINARY, special::polynomial);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_LEGENDRE_POLYNOMIAL_P)
        .cpu(|x, n, out| special::binary(x, n, out, opgrid_special::legendre_p))
        .non_differentiable()
        .number(SpecialLegendrePolynomialPNScalar, SpecialLegendrePolynomialP)
        .number(SpecialLegendrePolynomialPNScalarOut, SpecialLegendrePolynomialPOut)
        .number_first(SpecialLegendrePolynomialPXScalar, SpecialLegendrePolynomialP)
        .number_first(SpecialLegendrePolynomialPXScalarOut, SpecialLegendrePolynomialPOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operators = (
            SpecialLegendrePolynomialP,
            SpecialLegendrePolynomialPXScalar,
            SpecialLegendrePolynomialPNScalar,
        );
        special::samples::polynomial(samples, operators, special::samples::legendre_p);
    }
}
