//! `aten::_linalg_slogdet`, `linalg_slogdet`, `slogdet`, `logdet`: signs and logarithms of determinants.
//!
//! `det(A) = sign * exp(logabsdet)`
//!
//! - Shapes: square matrices, or batches of them, with a number for each.
//! - Dtypes: float32, float64, complex64, complex128; `logabsdet` is real.
//! - Values: `_linalg_slogdet` gives what `linalg_lu_factor_ex` gives, too. A singular matrix has the sign 0 and the logarithm -inf. `logdet`
//!   is NaN where the determinant is negative.
//! - Dispatch: `linalg_slogdet`, `slogdet` and `logdet` are composites of `_linalg_slogdet`.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: other shapes or dtypes.
//! - Derivative: of the logarithm the conjugate transpose of the inverse; the sign of real numbers has none, that of complex ones turns.
//! - Source: torch.linalg.slogdet, PyTorch 2.15.

use super::det::{factor, inverse_gradient};
use crate::kinds::matrices::{Stack, column_major, real, row_major};
use crate::prelude::*;
use opgrid_kernels::linalg::sign_and_logarithm;
use opgrid_tensor::ops::{ComplexParts, Imag};

pub use opgrid_tensor::ops::linalg::slogdet::*;

/// The family of `aten::_linalg_slogdet`: its kind, shape rule and `out` rule.
pub const LINALG_SLOGDET_WITH_FACTORS: Family<LinalgSlogdetWithFactors> =
    Family::new(LinalgSlogdetWithFactors, &kind::FACTORIZATION, |a| {
        let spec = a.spec()?;
        let stack = Stack::square("A", spec)?;
        Ok((
            row_major(stack.batch, spec.dtype(), spec)?,
            row_major(stack.batch, real(spec.dtype()), spec)?,
            column_major(stack.batch, [stack.rows, stack.rows], spec)?,
            row_major(&stack.with(&[stack.rows]), DType::I32, spec)?,
        ))
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_SLOGDET_WITH_FACTORS)
        .cpu(|a, sign, logarithm, factors, pivots| {
            factor(a, factors, pivots)?;
            sign_and_logarithm(sign.array()?, logarithm.array()?, factors.array()?, pivots.array()?)
        })
        .derivative(|d, (a,)| {
            d.differentiable(2);
            let keep = [a, d.result(0), d.result(2), d.result(3)];
            d.by_all(a, keep, |grads, [a, sign, factors, pivots]| {
                let is_complex = sign.dtype().is_complex();
                let of_sign = grads.for_result(0).filter(|_| is_complex);
                let turned = |grad: &Tensor| -> Result<Tensor> {
                    // What moves the sign along the unit circle.
                    let turn = Imag.call(&grad.conj()?.mul(sign)?)?;
                    ComplexParts.call(&turn.mul(0)?, &turn.neg()?)
                };
                let numbers = match (of_sign.map(turned).transpose()?, grads.for_result(1)) {
                    (None, None) => return Ok(None),
                    (None, Some(grad)) => grad.to_dtype(a.dtype())?,
                    (Some(turn), None) => turn,
                    (Some(turn), Some(grad)) => turn.add(&grad.to_dtype(a.dtype())?)?,
                };
                inverse_gradient(&numbers, a, factors, pivots).map(Some)
            })
        });
    let both = |a: &Tensor| {
        let (sign, logarithm, ..) = LinalgSlogdetWithFactors.call(a)?;
        Ok((sign, logarithm))
    };
    library.define_with_forms(LinalgSlogdet, &kind::FACTORIZATION).implicit(both);
    let written = |a: &Tensor, sign: &Tensor, logarithm: &Tensor| {
        let made = LinalgSlogdetWithFactors.call(a)?;
        result::all_copied(&[(sign, &made.0), (logarithm, &made.1)])
    };
    library.implement(LinalgSlogdetOut).implicit(written);
    library.define_with_forms(Slogdet, &kind::FACTORIZATION).implicit(both);
    library.implement(SlogdetOut).implicit(written);
    library.define(Logdet).kind(&kind::FACTORIZATION).implicit(|a| {
        let (sign, logarithm, ..) = LinalgSlogdetWithFactors.call(a)?;
        if sign.dtype().is_complex() {
            return logarithm.add(&sign.log()?);
        }
        let is_negative = sign.eq(-1)?;
        logarithm.masked_fill(&is_negative, f64::NAN)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{batch, matrices, number, refuse_others_than_square};
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = super::super::det::samples::inputs;
        let refused = |operator: &mut OperatorSamples| {
            refuse_others_than_square(operator)
                .tolerance(512.0)
                // Matrices with repeated rows are singular.
                .needs_distinct();
        };
        let with_factors = samples.operator(LinalgSlogdetWithFactors, DTYPES, inputs, |it| {
            let x = it.tensor("A")?;
            let [factors, pivots, _] = super::super::lu::samples::lu_factors(x)?;
            let [sign, logarithm] = expected(x);
            Ok([sign, logarithm, factors, pivots].into())
        });
        // As in torch, factors have no gradients.
        refused(with_factors.constant(&["LU"]));
        refused(samples.operator(LinalgSlogdet, DTYPES, inputs, |it| Ok(expected(it.tensor("A")?).into())));
        refused(samples.operator(Slogdet, DTYPES, inputs, |it| Ok(expected(it.tensor("self")?).into())));
        refused(samples.operator(Logdet, DTYPES, inputs, |it| {
            let x = it.tensor("self")?;
            let logarithm = |matrix: &crate::kinds::matrices::samples::Matrix| {
                let determinant = matrix.determinant();
                if x.dtype().is_complex() {
                    number(x.dtype(), determinant.ln())
                } else {
                    Scalar::Float(determinant.re.ln())
                }
            };
            let all: Vec<Scalar> = matrices(x).iter().map(logarithm).collect();
            Ok(Plain::from_elements(x.dtype(), batch(x), &all).into())
        }));
        samples.rounds(LinalgSlogdetWithFactors, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LinalgSlogdet, Roundings::all(Rounding::Sum(256)));
        samples.rounds(Slogdet, Roundings::all(Rounding::Sum(256)));
        samples.rounds(Logdet, Roundings::all(Rounding::Sum(256)));
    }

    fn expected(x: &Plain) -> [Plain; 2] {
        let determinants: Vec<_> = matrices(x).iter().map(|matrix| matrix.determinant()).collect();
        let sign = |z: &num_complex::Complex64| if z.norm() == 0.0 { *z } else { z / z.norm() };
        let signs: Vec<Scalar> = determinants.iter().map(|z| number(x.dtype(), sign(z))).collect();
        let logarithms: Vec<Scalar> = determinants.iter().map(|z| Scalar::Float(z.norm().ln())).collect();
        [
            Plain::from_elements(x.dtype(), batch(x), &signs),
            Plain::from_elements(real(x.dtype()), batch(x), &logarithms),
        ]
    }
}
