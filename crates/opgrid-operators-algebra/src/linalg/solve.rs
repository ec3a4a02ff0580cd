//! `aten::_linalg_solve_ex`, `linalg_solve_ex`, `linalg_solve`: solutions of equations with square matrices.
//!
//! `A * X = B`, or `X * A = B` without `left`
//!
//! - Shapes: `A` of square matrices; `B` of matrices with as many rows (`left`) or columns, where batches broadcast, or of vectors: a `B` of
//!   one dimension, or one that has the sizes of `A` without the last.
//! - Dtypes: float32, float64, complex64, complex128, one for both; `pivots` and `info` are int32.
//! - Values: `_linalg_solve_ex` gives what `linalg_lu_factor_ex` gives of `A`, too. What a singular matrix gives is not defined.
//! - Strides: column-major where `left`, else row-major, as in torch; vectors of a batch as the rows of a column-major matrix.
//! - Dispatch: `linalg_solve_ex` and `linalg_solve` are composites of `_linalg_solve_ex`.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: other shapes or dtypes; with `check_errors`, and from `linalg_solve`, a singular matrix.
//! - Derivative: by `B` the solution with `Aᴴ`; by `A` minus that, times `Xᴴ`.
//! - Source: torch.linalg.solve, PyTorch 2.15.

use super::lu_solve::{expand_stack, solution_by_factors};
use crate::kinds::matrices::{Fault, Stack, adjoint, check, column_major, row_major};
use crate::prelude::*;
use opgrid_kernels::linalg::{Equation, lu, solve_factored};

use opgrid_tensor::layers::autograd::is_grad_enabled;
use opgrid_tensor::ops::LinalgLuSolve;

pub use opgrid_tensor::ops::linalg::solve::*;

/// The family of `aten::_linalg_solve_ex`: its kind, shape rule and `out` rule.
pub const LINALG_SOLVE_EX_WITH_FACTORS: Family<LinalgSolveExWithFactors> =
    Family::new(LinalgSolveExWithFactors, &kind::FACTORIZATION, |a, b, is_left, _| {
        let (spec, right) = (a.spec()?, b.spec()?);
        let stack = Stack::square("A", spec)?;
        let result = if is_vector(spec.sizes(), right.sizes()) {
            check_vector(("A", spec), ("B", right), is_left)?;
            // As in torch, where the last two sizes count as those of a matrix.
            match stack.batch {
                [outer @ .., last] => column_major(outer, [*last, stack.rows], right)?,
                [] => row_major(&[stack.rows], right.dtype(), right)?,
            }
        } else {
            solution_by_factors(("A", spec), ("B", right), is_left)?
        };
        Ok((
            result,
            column_major(stack.batch, [stack.rows, stack.rows], spec)?,
            row_major(&stack.with(&[stack.rows]), DType::I32, spec)?,
            row_major(stack.batch, DType::I32, spec)?,
        ))
    })
    .same_dtype_out();

/// Whether what stands on the right of matrices is a vector for each.
fn is_vector(matrices: &[i64], right: &[i64]) -> bool {
    right.len() == 1 || (right.len() + 1 == matrices.len() && right == &matrices[..matrices.len() - 1])
}

/// # Errors
///
/// A vector of another dtype or device, or on the wrong side.
fn check_vector(a: (&str, &TensorSpec), b: (&str, &TensorSpec), is_left: bool) -> Result<()> {
    if !is_left {
        let message = format!(
            "argument `{}` is a vector for each matrix, expected matrices where `left` is False",
            b.0
        );
        return Err(argument(message));
    }
    let n = *a.1.sizes().last().unwrap_or(&0);
    if b.1.sizes().last() != Some(&n) {
        let message =
            format!("argument `{}` has shape {:?}, expected vectors of {n} elements", b.0, b.1.sizes());
        return Err(argument(message));
    }
    crate::kinds::matrices::common_batch(a, b).map(drop)
}

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_SOLVE_EX_WITH_FACTORS)
        .cpu(|a, b, is_left, check_errors, out, factors, pivots, info| {
            lu(factors.array()?, pivots.array()?, info.array()?, a.array()?)?;
            let is_vector = is_vector(a.sizes(), b.sizes());
            let [out, b] = [out.array()?, b.array()?];
            let matrices = |array: &opgrid_tensor::tensor::Array| {
                if is_vector { array.view(array.geometry().unsqueeze(-1)?) } else { Ok(array.clone()) }
            };
            let (out, b) = (matrices(out)?, matrices(b)?);
            let [factors, pivots] =
                [expand_stack(factors.array()?, &out, 2)?, expand_stack(pivots.array()?, &out, 1)?];
            let right = expand_stack(&b, &out, 2)?;
            solve_factored(&out, [&factors, &pivots], &right, Equation { is_left, is_adjoint: false })?;
            if check_errors { check(info, "linalg.solve", Fault::Singular) } else { Ok(()) }
        })
        .derivative(|d, (a, b, is_left, _)| {
            d.differentiable(1);
            let is_vector = is_vector(a.sizes(), b.sizes());
            let keep = [Some(a), Some(d.result(0)), Some(d.result(1)), Some(d.result(2))];
            d.together([Some(a), Some(b)], keep, move |grads, kept, needs| {
                let (Some(grad), [Some(a), Some(x), Some(factors), Some(pivots)]) =
                    (grads.for_result(0), kept)
                else {
                    return Ok([None, None]);
                };
                let column = |x: &Tensor| if is_vector { x.unsqueeze(-1) } else { Ok(x.clone()) };
                let (grad, x) = (column(grad)?, adjoint(&column(x)?)?);
                let by_b = solve_adjoint(a, [factors, pivots], &grad, is_left)?;
                let by_a = if !needs[0] {
                    None
                } else if is_left {
                    Some(by_b.matmul(&x)?.neg()?)
                } else {
                    Some(x.matmul(&by_b)?.neg()?)
                };
                Ok([by_a, Some(if is_vector { by_b.squeeze(-1)? } else { by_b })])
            })
        });
    library.define_with_forms(LinalgSolveEx, &kind::FACTORIZATION).implicit(|a, b, is_left, check_errors| {
        let (x, _, _, info) = LinalgSolveExWithFactors.call(a, b, is_left, check_errors)?;
        Ok((x, info))
    });
    library.implement(LinalgSolveExOut).implicit(|a, b, is_left, check_errors, x, info| {
        let made = LinalgSolveExWithFactors.call(a, b, is_left, check_errors)?;
        result::all_copied(&[(x, &made.0), (info, &made.3)])
    });
    library
        .define_with_forms(LinalgSolve, &kind::FACTORIZATION)
        .implicit(|a, b, is_left| Ok(LinalgSolveExWithFactors.call(a, b, is_left, true)?.0));
    library.implement(LinalgSolveOut).implicit(|a, b, is_left, out| {
        result::copied(out, &LinalgSolveExWithFactors.call(a, b, is_left, true)?.0)
    });
}

/// Solutions with `Aᴴ`, by the factors that are there. Where they are differentiated themselves, the matrix is factored once more, since
/// a gradient has to lead to it.
pub(super) fn solve_adjoint(
    a: &Tensor,
    [factors, pivots]: [&Tensor; 2],
    right: &Tensor,
    is_left: bool,
) -> Result<Tensor> {
    if is_grad_enabled() {
        Ok(LinalgSolveExWithFactors.call(&adjoint(a)?, right, is_left, false)?.0)
    } else {
        LinalgLuSolve.call(factors, pivots, right, is_left, true)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::super::lu_solve::samples::{EQUATIONS, solve_each};
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::well_conditioned;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, singular) = (
            || generate::numbers(DType::F32, &[2, 2], 0),
            || given(Plain::from_elements(DType::F32, &[2, 2], &[1.0, 2.0, 2.0, 4.0])),
        );
        let refused = |operator: &mut OperatorSamples| {
            operator
                .tolerance(256.0)
                // Matrices with repeated rows are singular.
                .needs_distinct()
                .refuses("square ones", given(generate::numbers(DType::F32, &[2, 3], 0)).and(x()))
                .refuses("expected 2 as those of", given(x()).and(generate::numbers(DType::F32, &[3, 2], 0)))
                .refuses("vectors of 2 elements", given(x()).and(generate::numbers(DType::F32, &[3], 0)))
                .refuses(
                    "where `left` is False",
                    given(x()).and(generate::numbers(DType::F32, &[2], 0)).named("left", false),
                )
                .refuses("convert one of them", given(x()).and(x().to(DType::F64)));
        };
        let with_factors = samples.operator(LinalgSolveExWithFactors, DTYPES, inputs, |it| {
            let [factors, pivots, info] = super::super::lu::samples::lu_factors(it.tensor("A")?)?;
            Ok([expected(it)?, factors, pivots, info].into())
        });
        // As in torch, factors have no gradients.
        refused(with_factors.constant(&["LU"]));
        refused(samples.operator(LinalgSolveEx, DTYPES, inputs, |it| {
            let [.., info] = super::super::lu::samples::lu_factors(it.tensor("A")?)?;
            Ok([expected(it)?, info].into())
        }));
        refused(
            samples
                .operator(LinalgSolve, DTYPES, inputs, |it| Ok(expected(it)?.into()))
                .refuses_data("input matrix is singular", singular().and(x())),
        );
        samples.rounds(LinalgSolveExWithFactors, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LinalgSolveEx, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LinalgSolve, Roundings::all(Rounding::Sum(256)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |(a, b): &(&[i64], &[i64])| {
            let mut from_right = b.to_vec();
            from_right.swap(b.len() - 2, b.len() - 1);
            let equation =
                |b: &[i64]| given(well_conditioned(dtype, a, 1)).and(generate::numbers(dtype, b, 3));
            [equation(b), equation(&from_right).named("left", false)]
        };
        let vectors: [(&[i64], &[i64]); 3] = [(&[3, 3], &[3]), (&[2, 3, 3], &[2, 3]), (&[2, 2, 2], &[2])];
        let of_vectors = vectors
            .iter()
            .map(|(a, b)| given(well_conditioned(dtype, a, 1)).and(generate::numbers(dtype, b, 3)));
        EQUATIONS.iter().flat_map(one).chain(of_vectors).collect()
    }

    fn expected(it: &Inputs) -> Result<Plain> {
        let (a, b) = (it.tensor("A")?, it.tensor("B")?);
        if !is_vector(a.sizes(), b.sizes()) {
            return solve_each(a, b, it.value("left")?, |a, b| a.solve(b));
        }
        let columns = [b.sizes(), &[1]].concat();
        let x = solve_each(a, &b.with_sizes(&columns), true, |a, b| a.solve(b))?;
        let sizes = x.sizes()[..x.sizes().len() - 1].to_vec();
        Ok(x.with_sizes(&sizes))
    }
}
