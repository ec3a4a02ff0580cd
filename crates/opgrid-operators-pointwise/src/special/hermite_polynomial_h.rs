//! `aten::special_hermite_polynomial_h`: Hermite polynomials of the physicists, by their degrees.
//!
//! `out[i] = H_n(x[i])` with `n = n[i]`
//!
//! - Shapes: `x` and `n` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: a degree is rounded towards zero, and a negative one gives zero; degrees above 512 give NaN.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: none, as in torch: results need no gradient.
//! - Errors: complex numbers.
//! - Source: torch.special.hermite_polynomial_h, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::hermite_polynomial_h::*;

/// The family of `aten::special_hermite_polynomial_h`: its kind, shape rule and `out` rule.
pub const SPECIAL_HERMITE_POLYNOMIAL_H: Family<SpecialHermitePolynomialH> =
    Family::new(SpecialHermitePolynomialH, &kind::POINTWISE_BINARY, special::polynomial);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_HERMITE_POLYNOMIAL_H)
        .cpu(|x, n, out| special::binary(x, n, out, opgrid_special::hermite_h))
        .non_differentiable()
        .number(SpecialHermitePolynomialHNScalar, SpecialHermitePolynomialH)
        .number(SpecialHermitePolynomialHNScalarOut, SpecialHermitePolynomialHOut)
        .number_first(SpecialHermitePolynomialHXScalar, SpecialHermitePolynomialH)
        .number_first(SpecialHermitePolynomialHXScalarOut, SpecialHermitePolynomialHOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operators =
            (SpecialHermitePolynomialH, SpecialHermitePolynomialHXScalar, SpecialHermitePolynomialHNScalar);
        special::samples::polynomial(samples, operators, special::samples::hermite_h);
    }
}
