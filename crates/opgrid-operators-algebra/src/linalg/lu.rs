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
    Fault, Stack, adjoint, check, column_major, identity, lower, of_dtype, product, solve_triangle, upper,
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
            of_dtype(&stack.with(&[stack.least()]), DType::I32, spec)?,
            of_dtype(stack.batch, DType::I32, spec)?,
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
    let l = lower(&first, -1)?.add(&identity(&first, least)?)?;
    let (lh, uh) = (adjoint(&l)?, adjoint(&upper(&first, 0)?)?);
    let (grad_l, grad_u) = (lower(&first_grad, -1)?, upper(&first_grad, 0)?);
    let mut by_l = product(&lh, &grad_l)?;
    let mut by_u = product(&grad_u, &uh)?;
    // What stands below or beside the square is a product with one triangle, so that the other has part in its gradient.
    let beside = if columns > least {
        let (u2, grad_u2) = (
            part(&part(factors, -2, 0, least)?, -1, least, columns - least)?,
            part(grad, -1, least, columns - least)?,
        );
        by_l = by_l.sub(&product(&grad_u2, &adjoint(&u2)?)?)?;
        Some(solve_triangle(&lh, &grad_u2, true, true, true)?)
    } else {
        None
    };
    let below = if rows > least {
        let (l2, grad_l2) = (part(factors, -2, least, rows - least)?, part(grad, -2, least, rows - least)?);
        by_u = by_u.sub(&product(&adjoint(&l2)?, &grad_l2)?)?;
        Some(solve_triangle(&uh, &grad_l2, false, false, false)?)
    } else {
        None
    };
    let inner = lower(&by_l, -1)?.add(&upper(&by_u, 0)?)?;
    let mut exchanged =
        solve_triangle(&lh, &solve_triangle(&uh, &inner, false, false, false)?, true, true, true)?;
    if let Some(beside) = beside {
        exchanged = Cat.call(&[exchanged, beside], -1)?;
    }
    if let Some(below) = below {
        exchanged = Cat.call(&[exchanged, below], -2)?;
    }
    let (p, ..) = LuUnpack.call(factors, pivots, false, true)?;
    product(&p, &exchanged)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        SHAPES, batch, matrices, of_matrices, positional, regular, stacked,
    };
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let refused = |operator: &mut OperatorSamples| {
            operator
                .tolerance(64.0)
                // Matrices with repeated rows are singular.
                .needs_distinct()
                .refuses("2 dimensions or more", given(generate::numbers(DType::F32, &[3], 0)))
                .refuses("convert it", given(generate::numbers(DType::I64, &[2, 2], 0)));
        };
        let zero = Plain::from_elements(DType::F32, &[2, 2], &[1.0, 2.0, 2.0, 4.0]);
        let x = || given(generate::numbers(DType::F32, &[2, 2], 0));
        let ex =
            samples.operator(LinalgLuFactorEx, DTYPES, inputs, |it| Ok(factored(it.tensor("A")?)?.into()));
        refused(ex.refuses("is not implemented", x().named("pivot", false)));
        let linalg = samples.operator(LinalgLuFactor, DTYPES, inputs, |it| {
            let [factors, pivots, _] = factored(it.tensor("A")?)?;
            Ok([factors, pivots].into())
        });
        refused(linalg.refuses_data("U[2,2] is zero", given(zero)));
        let old = samples.operator(
            LuWithInfo,
            DTYPES,
            |dtype| positional(inputs(dtype)),
            |it| Ok(factored(it.tensor("self")?)?.into()),
        );
        refused(old);
        let whole = samples.operator(LinalgLu, DTYPES, inputs, |it| {
            let x = it.tensor("A")?;
            let [factors, pivots, _] = factored(x)?;
            Ok(super::super::lu_unpack::samples::unpacked(&factors, &pivots, true, true).into())
        });
        refused(whole);
        let roundings = Roundings::all(Rounding::Sum(64));
        samples.rounds(LinalgLuFactorEx, roundings);
        samples.rounds(LinalgLuFactor, roundings);
        samples.rounds(LuWithInfo, roundings);
        samples.rounds(LinalgLu, roundings);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        SHAPES.iter().map(|sizes| given(regular(dtype, sizes, 1))).collect()
    }

    /// Factors, pivots and numbers of what failed, for regular matrices.
    pub(crate) fn factored(x: &Plain) -> Result<[Plain; 3]> {
        let (sizes, stack) = (of_matrices(x), batch(x));
        let all: Vec<_> = matrices(x).iter().map(|matrix| matrix.lu()).collect();
        let pivots: Vec<i64> = all.iter().flat_map(|(_, pivots)| pivots.clone()).collect();
        let factors: Vec<_> = all.into_iter().map(|(factors, _)| factors).collect();
        let places = [stack, &[sizes[0].min(sizes[1])]].concat();
        Ok([
            stacked(x.dtype(), stack, sizes, &factors),
            Plain::from_elements(DType::I32, &places, &pivots),
            Plain::from_fn(DType::I32, stack, |_| Scalar::Int(0)),
        ])
    }
}
