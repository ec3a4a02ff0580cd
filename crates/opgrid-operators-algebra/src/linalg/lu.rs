//! `aten::linalg_lu_factor_ex`, `linalg_lu_factor`, `_lu_with_info`, `linalg_lu`: matrices as products of triangles, with rows exchanged.
//!
//! `A = P * L * U`
//!
//! - Shapes: matrices, or batches of them; `pivots` has a number for each pivot, `info` one for each matrix.
//! - Dtypes: float32, float64, complex64, complex128; `pivots` and `info` are int32.
//! - Values: `LU` holds `U` and, below its diagonal, `L` without its ones. Row `i` was exchanged with row `pivots[i]`, counted from 1, one
//!   after the other. `info` is 0, or the first pivot that is zero.
//! - Order: of the elements that may become a pivot the one with the largest sum of the absolute values of its parts, and of equal ones
//!   the first, as LAPACK does.
//! - Strides: column-major, as in torch.
//! - Dispatch: all others are composites of `linalg_lu_factor_ex`; `linalg_lu` unpacks with `lu_unpack`.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: other shapes or dtypes; `pivot=False`, which torch has on CUDA only; with `check_errors`, and from `linalg_lu_factor`, a zero
//!   pivot.
//! - Derivative: of the leading square matrix by both triangles, of the rest by what the triangles make of it.
//! - Source: torch.linalg.lu_factor_ex, PyTorch 2.15.

use opgrid_core::{Error, ErrorKind};

use crate::kinds::matrices::{
    Fault, Stack, Triangle, adjoint, check, column_major, identity, row_major, solve_left, solve_right,
};
use crate::prelude::*;
use opgrid_tensor::ops::{Cat, LuUnpack, Narrow};

pub use opgrid_tensor::ops::linalg::lu::*;

/// The family of `aten::linalg_lu_factor_ex`: its kind, shape rule and `out` rule.
pub const LINALG_LU_FACTOR_EX: Family<LinalgLuFactorEx> =
    Family::new(LinalgLuFactorEx, &kind::FACTORIZATION, |a, pivot, _| {
        let spec = a.spec()?;
        let stack = Stack::new("A", spec)?;
        if !pivot {
            let message = "argument `pivot` is False, expected True: a factorization without exchanged rows is not \
                           implemented for the CPU";
            return Err(Error::new(ErrorKind::NotImplemented, message));
        }
        Ok((
            column_major(stack.batch, [stack.rows, stack.columns], spec)?,
            row_major(&stack.with(&[stack.least()]), DType::I32, spec)?,
            row_major(stack.batch, DType::I32, spec)?,
        ))
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_LU_FACTOR_EX)
        .cpu(|a, _, check_errors, factors, pivots, info| {
            opgrid_kernels::linalg::lu(factors.array()?, pivots.array()?, info.array()?, a.array()?)?;
            if check_errors { check(info, "linalg.lu_factor", Fault::ZeroPivot) } else { Ok(()) }
        })
        .derivative(|d, (a, ..)| {
            d.differentiable(1);
            d.by(a, [d.result(0), d.result(1)], |grad, [factors, pivots]| gradient(grad, factors, pivots))
        });
    library.define_with_forms(LinalgLuFactor, &kind::FACTORIZATION).implicit(|a, pivot| {
        let (factors, pivots, _) = LinalgLuFactorEx.call(a, pivot, true)?;
        Ok((factors, pivots))
    });
    library.implement(LinalgLuFactorOut).implicit(|a, pivot, factors, pivots| {
        let made = LinalgLuFactorEx.call(a, pivot, true)?;
        result::all_copied(&[(factors, &made.0), (pivots, &made.1)])
    });
    library
        .define(LuWithInfo)
        .kind(&kind::FACTORIZATION)
        .implicit(|a, pivot, check_errors| LinalgLuFactorEx.call(a, pivot, check_errors));
    library.define_with_forms(LinalgLu, &kind::FACTORIZATION).implicit(|a, pivot| {
        let (factors, pivots, _) = LinalgLuFactorEx.call(a, pivot, false)?;
        LuUnpack.call(&factors, &pivots, true, true)
    });
    library.implement(LinalgLuOut).implicit(|a, pivot, p, l, u| {
        let (factors, pivots, _) = LinalgLuFactorEx.call(a, pivot, false)?;
        let made = LuUnpack.call(&factors, &pivots, true, true)?;
        result::all_copied(&[(p, &made.0), (l, &made.1), (u, &made.2)])
    });
}

/// The gradient of a matrix by that of its factors, `L` and `U` in one matrix.
fn gradient(grad: &Tensor, factors: &Tensor, pivots: &Tensor) -> Result<Tensor> {
    let [.., rows, columns] = *factors.sizes() else { return Ok(grad.clone()) };
    let least = rows.min(columns);
    let part = |x: &Tensor, dim: i64, start: i64, length: i64| Narrow.call(x, dim, start, length);
    let square = |x: &Tensor| part(&part(x, -2, 0, least)?, -1, 0, least);
    let (first, first_grad) = (square(factors)?, square(grad)?);
    let l = first.tril(-1)?.add(&identity(&first, least)?)?;
    let (lh, uh) = (adjoint(&l)?, adjoint(&first.triu(0)?)?);
    let (grad_l, grad_u) = (first_grad.tril(-1)?, first_grad.triu(0)?);
    let mut by_l = lh.matmul(&grad_l)?;
    let mut by_u = grad_u.matmul(&uh)?;
    // What stands below or beside the square is a product with one triangle, so that the other has part in its gradient.
    let beside = if columns > least {
        let (u2, grad_u2) = (
            part(&part(factors, -2, 0, least)?, -1, least, columns - least)?,
            part(grad, -1, least, columns - least)?,
        );
        by_l = by_l.sub(&grad_u2.matmul(&adjoint(&u2)?)?)?;
        Some(solve_left(&lh, Triangle::UPPER.unit(), &grad_u2)?)
    } else {
        None
    };
    let below = if rows > least {
        let (l2, grad_l2) = (part(factors, -2, least, rows - least)?, part(grad, -2, least, rows - least)?);
        by_u = by_u.sub(&adjoint(&l2)?.matmul(&grad_l2)?)?;
        Some(solve_right(&uh, Triangle::LOWER, &grad_l2)?)
    } else {
        None
    };
    let inner = by_l.tril(-1)?.add(&by_u.triu(0)?)?;
    let mut exchanged = solve_left(&lh, Triangle::UPPER.unit(), &solve_right(&uh, Triangle::LOWER, &inner)?)?;
    if let Some(beside) = beside {
        exchanged = Cat.call(&[exchanged, beside], -1)?;
    }
    if let Some(below) = below {
        exchanged = Cat.call(&[exchanged, below], -2)?;
    }
    let (p, ..) = LuUnpack.call(factors, pivots, false, true)?;
    p.matmul(&exchanged)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        SHAPES, batch, matrices, matrix_sizes, positional, refuse_others, stack_matrices, well_conditioned,
    };
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let refused = |operator: &mut OperatorSamples| {
            refuse_others(operator)
                .tolerance(64.0)
                // Matrices with repeated rows are singular.
                .needs_distinct();
        };
        let zero = Plain::from_elements(DType::F32, &[2, 2], &[1.0, 2.0, 2.0, 4.0]);
        let x = || given(generate::numbers(DType::F32, &[2, 2], 0));
        let ex =
            samples.operator(LinalgLuFactorEx, DTYPES, inputs, |it| Ok(lu_factors(it.tensor("A")?)?.into()));
        refused(ex.refuses("is not implemented", x().named("pivot", false)));
        let linalg = samples.operator(LinalgLuFactor, DTYPES, inputs, |it| {
            let [factors, pivots, _] = lu_factors(it.tensor("A")?)?;
            Ok([factors, pivots].into())
        });
        refused(linalg.refuses_data("U[2,2] is zero", given(zero)));
        let old = samples.operator(
            LuWithInfo,
            DTYPES,
            |dtype| positional(inputs(dtype)),
            |it| Ok(lu_factors(it.tensor("self")?)?.into()),
        );
        refused(old);
        let whole = samples.operator(LinalgLu, DTYPES, inputs, |it| {
            let x = it.tensor("A")?;
            let [factors, pivots, _] = lu_factors(x)?;
            Ok(super::super::lu_unpack::samples::unpack(&factors, &pivots, true, true).into())
        });
        refused(whole);
        let roundings = Roundings::all(Rounding::Sum(64));
        samples.rounds(LinalgLuFactorEx, roundings);
        samples.rounds(LinalgLuFactor, roundings);
        samples.rounds(LuWithInfo, roundings);
        samples.rounds(LinalgLu, roundings);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        SHAPES.iter().map(|sizes| given(well_conditioned(dtype, sizes, 1))).collect()
    }

    /// Factors, pivots and numbers of what failed, for regular matrices.
    pub(crate) fn lu_factors(x: &Plain) -> Result<[Plain; 3]> {
        let (sizes, stack) = (matrix_sizes(x), batch(x));
        let all: Vec<_> = matrices(x).iter().map(|matrix| matrix.lu()).collect();
        let pivots: Vec<i64> = all.iter().flat_map(|(_, pivots)| pivots.clone()).collect();
        let factors: Vec<_> = all.into_iter().map(|(factors, _)| factors).collect();
        let places = [stack, &[sizes[0].min(sizes[1])]].concat();
        Ok([
            stack_matrices(x.dtype(), stack, sizes, &factors),
            Plain::from_elements(DType::I32, &places, &pivots),
            Plain::from_fn(DType::I32, stack, |_| Scalar::Int(0)),
        ])
    }
}
