//! `aten::special_chebyshev_polynomial_t`: Chebyshev polynomials of the first kind, by their degrees.
//!
//! `out[i] = T_n(x[i])` with `n = n[i]`
//!
//! - Shapes: `x` and `n` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: a degree is rounded towards zero, and a negative one gives zero; a number of steps that is above 2²⁰, or numbers out of range on the way, give NaN.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.chebyshev_polynomial_t, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::chebyshev_polynomial_t::*;

/// The family of `aten::special_chebyshev_polynomial_t`: its kind, shape rule and `out` rule.
pub const SPECIAL_CHEBYSHEV_POLYNOMIAL_T: Family<SpecialChebyshevPolynomialT> =
    Family::new(SpecialChebyshevPolynomialT, &kind::POINTWISE_BINARY, special::polynomial);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_CHEBYSHEV_POLYNOMIAL_T)
        .cpu(|x, n, out| special::binary(x, n, out, opgrid_special::chebyshev_t))
        .non_differentiable()
        .number(SpecialChebyshevPolynomialTNScalar, SpecialChebyshevPolynomialT)
        .number(SpecialChebyshevPolynomialTNScalarOut, SpecialChebyshevPolynomialTOut)
        .number_first(SpecialChebyshevPolynomialTXScalar, SpecialChebyshevPolynomialT)
        .number_first(SpecialChebyshevPolynomialTXScalarOut, SpecialChebyshevPolynomialTOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operators = (
            SpecialChebyshevPolynomialT,
            SpecialChebyshevPolynomialTXScalar,
            SpecialChebyshevPolynomialTNScalar,
        );
        special::samples::polynomial(samples, operators, special::samples::chebyshev_t);
    }
}
