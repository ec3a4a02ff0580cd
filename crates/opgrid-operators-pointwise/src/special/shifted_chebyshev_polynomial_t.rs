//! `aten::special_shifted_chebyshev_polynomial_t`: Chebyshev polynomials of the first kind, shifted to numbers from 0 to 1, by their degrees.
//!
//! `out[i] = T_n(2 x[i] - 1)` with `n = n[i]`
//!
//! - Shapes: `x` and `n` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: a degree is rounded towards zero, and a negative one gives zero; a number of steps that is above 2²⁰, or numbers out of range on the way, give NaN.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.shifted_chebyshev_polynomial_t, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::shifted_chebyshev_polynomial_t::*;

/// The family of `aten::special_shifted_chebyshev_polynomial_t`: its kind, shape rule and `out` rule.
pub const SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T: Family<SpecialShiftedChebyshevPolynomialT> =
    Family::new(SpecialShiftedChebyshevPolynomialT, &kind::POINTWISE_BINARY, special::polynomial);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T)
        .cpu(|x, n, out| special::binary(x, n, out, opgrid_special::shifted_chebyshev_t))
        .non_differentiable()
        .number(SpecialShiftedChebyshevPolynomialTNScalar, SpecialShiftedChebyshevPolynomialT)
        .number(SpecialShiftedChebyshevPolynomialTNScalarOut, SpecialShiftedChebyshevPolynomialTOut)
        .number_first(SpecialShiftedChebyshevPolynomialTXScalar, SpecialShiftedChebyshevPolynomialT)
        .number_first(SpecialShiftedChebyshevPolynomialTXScalarOut, SpecialShiftedChebyshevPolynomialTOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operators = (
            SpecialShiftedChebyshevPolynomialT,
            SpecialShiftedChebyshevPolynomialTXScalar,
            SpecialShiftedChebyshevPolynomialTNScalar,
        );
        special::samples::polynomial(samples, operators, special::samples::shifted_chebyshev_t);
    }
}
