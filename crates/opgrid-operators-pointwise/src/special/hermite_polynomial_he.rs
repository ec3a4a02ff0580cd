//! `aten::special_hermite_polynomial_he`: Hermite polynomials of statistics, by their degrees.
//!
//! `out[i] = He_n(x[i])` with `n = n[i]`
//!
//! - Shapes: `x` and `n` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: a degree is rounded towards zero, and a negative one gives zero; degrees above 512 give NaN.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.hermite_polynomial_he, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::hermite_polynomial_he::*;

/// The family of `aten::special_hermite_polynomial_he`: its kind, shape rule and `out` rule.
pub const SPECIAL_HERMITE_POLYNOMIAL_HE: Family<SpecialHermitePolynomialHe> =
    Family::new(SpecialHermitePolynomialHe, &kind::POINTWISE_BINARY, special::polynomial);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_HERMITE_POLYNOMIAL_HE)
        .cpu(|x, n, out| special::binary(x, n, out, opgrid_special::hermite_he))
        .non_differentiable()
        .number(SpecialHermitePolynomialHeNScalar, SpecialHermitePolynomialHe)
        .number(SpecialHermitePolynomialHeNScalarOut, SpecialHermitePolynomialHeOut)
        .number_first(SpecialHermitePolynomialHeXScalar, SpecialHermitePolynomialHe)
        .number_first(SpecialHermitePolynomialHeXScalarOut, SpecialHermitePolynomialHeOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operators = (
            SpecialHermitePolynomialHe,
            SpecialHermitePolynomialHeXScalar,
            SpecialHermitePolynomialHeNScalar,
        );
        special::samples::polynomial(samples, operators, special::samples::hermite_he);
    }
}
