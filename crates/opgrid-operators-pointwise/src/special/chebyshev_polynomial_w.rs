//! `aten::special_chebyshev_polynomial_w`: Chebyshev polynomials of the fourth kind, by their degrees.
//!
//! `out[i] = W_n(x[i])` with `n = n[i]`
//!
//! - Shapes: `x` and `n` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: a degree is rounded towards zero, and a negative one gives zero; a number of steps that is above 2²⁰, or numbers out of range on the way, give NaN.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.chebyshev_polynomial_w, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::chebyshev_polynomial_w::*;

/// The family of `aten::special_chebyshev_polynomial_w`: its kind, shape rule and `out` rule.
pub const SPECIAL_CHEBYSHEV_POLYNOMIAL_W: Family<SpecialChebyshevPolynomialW> =
    Family::new(SpecialChebyshevPolynomialW, &kind::POINTWISE_BINARY, special::polynomial);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_CHEBYSHEV_POLYNOMIAL_W)
        .cpu(|x, n, out| special::binary(x, n, out, opgrid_special::chebyshev_w))
        .non_differentiable()
        .number(SpecialChebyshevPolynomialWNScalar, SpecialChebyshevPolynomialW)
        .number(SpecialChebyshevPolynomialWNScalarOut, SpecialChebyshevPolynomialWOut)
        .number_first(SpecialChebyshevPolynomialWXScalar, SpecialChebyshevPolynomialW)
        .number_first(SpecialChebyshevPolynomialWXScalarOut, SpecialChebyshevPolynomialWOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operators = (
            SpecialChebyshevPolynomialW,
            SpecialChebyshevPolynomialWXScalar,
            SpecialChebyshevPolynomialWNScalar,
        );
        special::samples::polynomial(samples, operators, special::samples::chebyshev_w);
    }
}
