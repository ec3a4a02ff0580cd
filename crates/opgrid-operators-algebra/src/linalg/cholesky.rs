//! `aten::linalg_cholesky_ex`, `linalg_cholesky`: Hermitian matrices that are positive definite as products of triangles.
//!
//! `A = L * Lᴴ`, or `Uᴴ * U` with `upper`
//!
//! - Shapes: square matrices, or batches of them; `info` has a number for each.
//! - Dtypes: float32, float64, complex64, complex128; `info` is int32.
//! - Values: the triangle of `self` that is asked for is read; the other one counts as its conjugate. `info` is 0, or the order of the
//!   first leading minor that is not positive definite, and what the factorization of such a matrix gives is not defined.
//! - Strides: column-major, as in torch.
//! - Dispatch: `linalg_cholesky` is a composite of `linalg_cholesky_ex`.
//! - Aliasing: the `out` forms write `L` and `info`, or `out`.
//! - Errors: other shapes or dtypes; with `check_errors`, and from `linalg_cholesky`, a matrix that is not positive definite.
//! - Derivative: `L⁻ᴴ * Φ(Lᴴ * grad) * L⁻¹` with the diagonal halved and symmetrised, for both triangles of `self` (Murray 2016,
//!   "Differentiation of the Cholesky decomposition").
//! - Source: torch.linalg.cholesky, PyTorch 2.15.

use crate::kinds::matrices::{
    Fault, Stack, Triangle, adjoint, check, column_major, row_major, solve_left, solve_right,
};
use crate::prelude::*;

pub use opgrid_tensor::ops::linalg::cholesky::*;

/// The family of `aten::linalg_cholesky_ex`: its kind, shape rule and `out` rule.
pub const LINALG_CHOLESKY_EX: Family<LinalgCholeskyEx> =
    Family::new(LinalgCholeskyEx, &kind::FACTORIZATION, |input, _, _| {
        let spec = input.spec()?;
        let stack = Stack::square("self", spec)?;
        Ok((
            column_major(stack.batch, [stack.rows, stack.columns], spec)?,
            row_major(stack.batch, DType::I32, spec)?,
        ))
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_CHOLESKY_EX)
        .cpu(|input, upper, check_errors, factor, info| {
            opgrid_kernels::linalg::cholesky(factor.array()?, info.array()?, input.array()?, upper)?;
            if check_errors { check(info, "linalg.cholesky", Fault::NotPositiveDefinite) } else { Ok(()) }
        })
        .derivative(|d, (input, upper, _)| {
            d.differentiable(1);
            d.by(input, [d.result(0)], move |grad, [factor]| gradient(grad, factor, upper))
        });
    library
        .define_with_forms(LinalgCholesky, &kind::FACTORIZATION)
        .implicit(|input, upper| Ok(LinalgCholeskyEx.call(input, upper, true)?.0));
    library
        .implement(LinalgCholeskyOut)
        .implicit(|input, upper, out| result::copied(out, &LinalgCholeskyEx.call(input, upper, true)?.0));
}

fn gradient(grad: &Tensor, factor: &Tensor, is_upper: bool) -> Result<Tensor> {
    let (grad, factor) =
        if is_upper { (adjoint(grad)?, adjoint(factor)?) } else { (grad.clone(), factor.clone()) };
    let inner = adjoint(&factor)?.matmul(&grad)?;
    let below = inner.tril(-1)?;
    // Half of what is symmetrised, which is the whole of the real diagonal.
    let diagonal = inner.tril(0)?.sub(&below)?;
    let diagonal = diagonal.add(&adjoint(&diagonal)?)?.mul(0.5)?;
    let symmetric = below.add(&adjoint(&below)?)?.add(&diagonal)?.mul(0.5)?;
    let left = solve_left(&adjoint(&factor)?, Triangle::UPPER, &symmetric)?;
    solve_right(&factor, Triangle::LOWER, &left)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::samples::refuse_others_than_square;
    use crate::kinds::matrices::{DTYPES, samples};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let ex = samples.operator(LinalgCholeskyEx, DTYPES, inputs, |it| {
            let factor = expected(it)?;
            let infos =
                Plain::from_fn(DType::I32, &factor.sizes()[..factor.sizes().len() - 2], |_| Scalar::Int(0));
            Ok([factor, infos].into())
        });
        // Gradients go to both triangles, of which one is read: functions of Hermitian matrices are compared elsewhere. Matrices with
        // repeated rows are not positive definite.
        refuse_others_than_square(ex.tolerance(64.0).constant(&["self"]).needs_distinct());
        let indefinite = Plain::from_elements(DType::F32, &[2, 2], &[1.0, 2.0, 2.0, 1.0]);
        let linalg = samples.operator(LinalgCholesky, DTYPES, inputs, |it| Ok(expected(it)?.into()));
        refuse_others_than_square(
            linalg
                .tolerance(64.0)
                .constant(&["self"])
                .needs_distinct()
                .refuses_data("order 2", given(indefinite)),
        );
        let roundings = Roundings::all(Rounding::Sum(64));
        samples.rounds(LinalgCholeskyEx, roundings);
        samples.rounds(LinalgCholesky, roundings);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let matrices = samples::STACKS.iter().map(|sizes| samples::positive_definite(dtype, sizes));
        let one = |x: Plain| [given(x.clone()).named("upper", false), given(x).named("upper", true)];
        matrices.flat_map(one).collect()
    }

    fn expected(it: &Inputs) -> Result<Plain> {
        let (x, is_upper): (_, bool) = (it.tensor("self")?, it.value("upper")?);
        Ok(samples::map_matrices(x, |matrix| {
            let factor = matrix.hermitian(is_upper).cholesky();
            if is_upper { factor.adjoint() } else { factor }
        }))
    }
}
