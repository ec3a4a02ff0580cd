//! `aten::_linalg_det`, `linalg_det`, `det`: determinants.
//!
//! `result = the product of the diagonal of U, negative where an odd number of rows was exchanged`
//!
//! - Shapes: square matrices, or batches of them, with a number for each.
//! - Dtypes: float32, float64, complex64, complex128.
//! - Values: `_linalg_det` gives what `linalg_lu_factor_ex` gives, too. The determinant of a matrix without elements is 1.
//! - Dispatch: `linalg_det` and `det` are composites of `_linalg_det`.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: other shapes or dtypes.
//! - Derivative: the conjugate of the determinant times that of the inverse, and of a singular matrix that of its cofactors, by its singular
//!   values. Where elements cannot be read, as in a batch, a singular matrix has none, and
//!   a complex one has no second derivative.
//! - Source: torch.linalg.det, PyTorch 2.15.

use super::solve::solve_adjoint;
use crate::kinds::matrices::{Stack, column_major, diagonal_matrix, row_major};
use crate::prelude::*;
use opgrid_kernels::linalg::{determinant, lu};
use opgrid_tensor::ops::{Diagonal, Expand, Eye, LinalgSvdWithOptions};
use opgrid_tensor::tensor::{Array, Bool, finfo};

pub use opgrid_tensor::ops::linalg::det::*;

/// The family of `aten::_linalg_det`: its kind, shape rule and `out` rule.
pub const LINALG_DET_WITH_FACTORS: Family<LinalgDetWithFactors> =
    Family::new(LinalgDetWithFactors, &kind::FACTORIZATION, |a| {
        let spec = a.spec()?;
        let stack = Stack::square("A", spec)?;
        Ok((
            row_major(stack.batch, spec.dtype(), spec)?,
            column_major(stack.batch, [stack.rows, stack.rows], spec)?,
            row_major(&stack.with(&[stack.rows]), DType::I32, spec)?,
        ))
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_DET_WITH_FACTORS)
        .cpu(|a, out, factors, pivots| {
            factor(a, factors, pivots)?;
            determinant(out.array()?, factors.array()?, pivots.array()?)
        })
        .derivative(|d, (a,)| {
            d.differentiable(1);
            d.by(a, [a, d.result(0), d.result(1), d.result(2)], |grad, [a, det, factors, pivots]| {
                gradient(grad, a, det, [factors, pivots])
            })
        });
    library
        .define_with_forms(LinalgDet, &kind::FACTORIZATION)
        .implicit(|a| Ok(LinalgDetWithFactors.call(a)?.0));
    library.implement(LinalgDetOut).implicit(|a, out| result::copied(out, &LinalgDetWithFactors.call(a)?.0));
    library.define(Det).kind(&kind::FACTORIZATION).implicit(|a| Ok(LinalgDetWithFactors.call(a)?.0));
}

/// The factors of matrices, whatever their pivots are.
pub(super) fn factor(a: &Tensor, factors: &Tensor, pivots: &Tensor) -> Result<()> {
    let infos = Array::empty(row_major(&a.sizes()[..a.dim() - 2], DType::I32, a.spec()?)?)?;
    lu(factors.array()?, pivots.array()?, &infos, a.array()?)
}

fn gradient(grad: &Tensor, a: &Tensor, det: &Tensor, [factors, pivots]: [&Tensor; 2]) -> Result<Tensor> {
    let by_inverse = |a: &Tensor| inverse_gradient(&grad.mul(&det.conj()?)?, a, factors, pivots);
    let is_singular = det.eq(0)?;
    let is_known = is_singular.device() == Device::CPU && is_singular.array().is_ok();
    if !is_known || is_singular.any()?.to_vec::<Bool>()? != [Bool::TRUE] {
        return by_inverse(a);
    }
    let is_singular = is_singular.unsqueeze(-1)?.unsqueeze(-1)?;
    // What is not chosen must be finite, or its own gradient is none.
    let unit = Eye.call(a.sizes()[a.dim() - 1], Some(a.dtype()), None, Some(a.device()), None)?;
    let regular = Tensor::where_(&is_singular, &unit, a)?;
    Tensor::where_(&is_singular, &by_cofactors(grad, a)?, &by_inverse(&regular)?)
}

/// The gradient by cofactors: with `A = U * diag(S) * Vᴴ`, their matrix is `U * diag(the products of all other S) * Vᴴ`, times the
/// conjugates of the determinants of `U` and `Vᴴ`.
fn by_cofactors(grad: &Tensor, a: &Tensor) -> Result<Tensor> {
    let (u, s, vh) = LinalgSvdWithOptions.call(a, true, true, None)?;
    let n = s.sizes()[s.dim() - 1];
    let own = Eye.call(n, Some(DType::Bool), None, Some(s.device()), None)?;
    let others = s.unsqueeze(-2)?.masked_fill(&own, 1)?.prod_dim(-1, false)?;
    let turn = LinalgDet.call(&u)?.mul(&LinalgDet.call(&vh)?)?.conj()?.mul(grad)?;
    u.mul(&others.mul(&turn.unsqueeze(-1)?)?.unsqueeze(-2)?)?.matmul(&vh)
}

/// A number for each matrix times the conjugate transpose of its inverse. Pivots that are zero count as small ones.
pub(super) fn inverse_gradient(
    numbers: &Tensor,
    a: &Tensor,
    factors: &Tensor,
    pivots: &Tensor,
) -> Result<Tensor> {
    let right = diagonal_matrix(&Expand.call(&numbers.unsqueeze(-1)?, pivots.sizes(), false)?)?;
    let is_zero = Diagonal.call(factors, 0, -2, -1)?.eq(0)?;
    let added = is_zero.to_dtype(factors.dtype())?.mul(finfo(factors.dtype())?.eps)?;
    let factors = factors.add(&diagonal_matrix(&added)?)?;
    solve_adjoint(a, [&factors, pivots], &right, true)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        STACKS, batch, matrices, number, refuse_others_than_square, well_conditioned,
    };
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let refused = |operator: &mut OperatorSamples| {
            refuse_others_than_square(operator).tolerance(512.0);
        };
        let with_factors = samples.operator(LinalgDetWithFactors, DTYPES, inputs, |it| {
            let x = it.tensor("A")?;
            let [factors, pivots, _] = super::super::lu::samples::lu_factors(x)?;
            Ok([expected(x), factors, pivots].into())
        });
        // As in torch, factors have no gradients.
        refused(with_factors.constant(&["LU"]));
        refused(samples.operator(LinalgDet, DTYPES, inputs, |it| Ok(expected(it.tensor("A")?).into())));
        refused(samples.operator(Det, DTYPES, inputs, |it| Ok(expected(it.tensor("self")?).into())));
        samples.rounds(LinalgDetWithFactors, Roundings::all(Rounding::Products(64)));
        samples.rounds(LinalgDet, Roundings::all(Rounding::Products(64)));
        samples.rounds(Det, Roundings::all(Rounding::Products(64)));
    }

    pub(crate) fn inputs(dtype: DType) -> Vec<Sample> {
        STACKS.iter().map(|sizes| given(well_conditioned(dtype, sizes, 1))).collect()
    }

    pub(crate) fn expected(x: &Plain) -> Plain {
        let all: Vec<Scalar> =
            matrices(x).iter().map(|matrix| number(x.dtype(), matrix.determinant())).collect();
        Plain::from_elements(x.dtype(), batch(x), &all)
    }
}
