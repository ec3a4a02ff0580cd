//! `aten::linalg_lu_solve`, `lu_solve`: solutions of equations by what `linalg_lu_factor` made of a matrix.
//!
//! `A * X = B`, with `Aᴴ` for `adjoint`, or `X * A = B` without `left`
//!
//! - Shapes: `LU` of square matrices, `B` of matrices with as many rows (`left`) or columns; batches broadcast.
//! - Dtypes: float32, float64, complex64, complex128, one for both; `pivots` is int32.
//! - Values: a zero pivot gives infinities or NaN.
//! - Strides: column-major where `left`, else row-major, as in torch.
//! - Dispatch: `lu_solve` is a composite of `linalg_lu_solve`.
//! - Aliasing: the `out` forms write `out`.
//! - Errors: other shapes or dtypes; pivots that are no rows.
//! - Derivative: that of the solution by `B` solves with the adjoint; that by `LU` is of its two triangles.
//! - Source: torch.linalg.lu_solve, PyTorch 2.15.

use super::lu_unpack::check_pivots;
use crate::kinds::matrices::{Stack, adjoint, column_major, common_batch, identity, row_major};
use crate::prelude::*;
use opgrid_kernels::linalg::{Equation, solve_factored};
use opgrid_tensor::ops::LuUnpack;
use opgrid_tensor::tensor::Array;

pub use opgrid_tensor::ops::linalg::lu_solve::*;

/// The family of `aten::linalg_lu_solve`: its kind, shape rule and `out` rule.
pub const LINALG_LU_SOLVE: Family<LinalgLuSolve> =
    Family::new(LinalgLuSolve, &kind::FACTORIZATION, |factors, pivots, right, is_left, _| {
        let (a, b) = (factors.spec()?, right.spec()?);
        let stack = Stack::square("LU", a)?;
        check_pivots("pivots", pivots.spec()?, &stack.with(&[stack.rows]))?;
        solution_by_factors(("LU", a), ("B", b), is_left)
    })
    .same_dtype_out();

/// What solutions are like.
///
/// # Errors
///
/// Matrices that do not fit.
pub(super) fn solution(a: (&str, &TensorSpec), b: (&str, &TensorSpec), is_left: bool) -> Result<TensorSpec> {
    let (matrix, right) = (Stack::square(a.0, a.1)?, Stack::new(b.0, b.1)?);
    let (found, what) = if is_left { (right.rows, "rows") } else { (right.columns, "columns") };
    if found != matrix.rows {
        let message = format!(
            "argument `{}` has matrices of {found} {what}, expected {} as those of `{}`",
            b.0, matrix.rows, a.0
        );
        return Err(argument(message));
    }
    column_major(&common_batch(a, b)?, [right.rows, right.columns], b.1)
}

/// As [`solution`], in the order of equations that factors solve: row-major where the unknown stands on the left of the matrix.
///
/// # Errors
///
/// As [`solution`].
pub(super) fn solution_by_factors(
    a: (&str, &TensorSpec),
    b: (&str, &TensorSpec),
    is_left: bool,
) -> Result<TensorSpec> {
    let spec = solution(a, b, is_left)?;
    if is_left { Ok(spec) } else { row_major(spec.sizes(), spec.dtype(), &spec) }
}

/// An array with as many matrices as an output has.
pub(super) fn expand_stack(array: &Array, out: &Array, own: usize) -> Result<Array> {
    let batch = &out.sizes()[..out.sizes().len() - 2];
    let own = &array.sizes()[array.sizes().len() - own..];
    array.view(array.geometry().expand(&[batch, own].concat())?)
}

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_LU_SOLVE)
        .cpu(|factors, pivots, right, is_left, is_adjoint, out| {
            let out = out.array()?;
            let factors = expand_stack(factors.array()?, out, 2)?;
            let pivots = expand_stack(pivots.array()?, out, 1)?;
            let right = expand_stack(right.array()?, out, 2)?;
            solve_factored(out, [&factors, &pivots], &right, Equation { is_left, is_adjoint })
        })
        .derivative(|d, (factors, pivots, right, is_left, is_adjoint)| {
            d.by(right, [factors, pivots], move |grad, [factors, pivots]| {
                LinalgLuSolve.call(factors, pivots, grad, is_left, !is_adjoint)
            })?;
            d.by(factors, [factors, pivots, d.result(0)], move |grad, [factors, pivots, x]| {
                factor_gradient(grad, factors, pivots, x, is_left, is_adjoint)
            })
        });
    library
        .define_with_forms(LuSolve, &kind::FACTORIZATION)
        .implicit(|right, factors, pivots| LinalgLuSolve.call(factors, pivots, right, true, false));
    library.implement(LuSolveOut).implicit(|right, factors, pivots, out| {
        LinalgLuSolveOut.call(factors, pivots, right, true, false, out)
    });
}

/// The gradient of both triangles. Where the unknown stands on the right or the adjoint is meant, the equation is turned into one of the
/// other form: `X * A = B` into `Aᴴ * Xᴴ = Bᴴ`.
fn factor_gradient(
    grad: &Tensor,
    factors: &Tensor,
    pivots: &Tensor,
    x: &Tensor,
    is_left: bool,
    is_adjoint: bool,
) -> Result<Tensor> {
    let (grad, x) = if is_left { (grad.clone(), x.clone()) } else { (adjoint(grad)?, adjoint(x)?) };
    let n = *factors.sizes().last().unwrap_or(&0);
    let (p, ..) = LuUnpack.call(factors, pivots, false, true)?;
    let l = factors.tril(-1)?.add(&identity(factors, n)?)?;
    let u = factors.triu(0)?;
    // Of the matrix, by `A * X = B`: minus what solves with the adjoint, times the solution.
    let by_matrix = if is_left != is_adjoint {
        let solved = LinalgLuSolve.call(factors, pivots, &grad, true, true)?;
        solved.matmul(&adjoint(&x)?)?.neg()?
    } else {
        let solved = LinalgLuSolve.call(factors, pivots, &grad, true, false)?;
        x.matmul(&adjoint(&solved)?)?.neg()?
    };
    let inner = adjoint(&p)?.matmul(&by_matrix)?;
    let by_l = inner.matmul(&adjoint(&u)?)?;
    let by_u = adjoint(&l)?.matmul(&inner)?;
    by_l.tril(-1)?.add(&by_u.triu(0)?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        Matrix, batch, matrices, matrix_sizes, stack_matrices, well_conditioned,
    };
    use opgrid_samples::prelude::*;

    /// Matrices, and what stands on the right of them.
    pub(crate) const EQUATIONS: [(&[i64], &[i64]); 7] = [
        (&[3, 3], &[3, 2]),
        (&[2, 2, 2], &[2, 2, 3]),
        (&[0, 0], &[0, 2]),
        (&[2, 2], &[2, 0]),
        (&[2, 2], &[3, 2, 2]),
        (&[2, 1, 2, 2], &[3, 2, 1]),
        (&[0, 2, 2], &[0, 2, 2]),
    ];

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[2, 2], 0);
        let pivots = || Plain::from_elements(DType::I32, &[2], &[1, 2]);
        samples
            .operator(LinalgLuSolve, DTYPES, inputs, |it| {
                let of = |name| it.tensor(name).cloned();
                expected(&of("LU")?, &of("pivots")?, &of("B")?, it.value("left")?, it.value("adjoint")?)
            })
            .tolerance(256.0)
            .refuses("expected int32", given(x()).and(pivots().to(DType::I64)).and(x()))
            .refuses(
                "expected 2 as those of",
                given(x()).and(pivots()).and(generate::numbers(DType::F32, &[3, 1], 0)),
            )
            .refuses("convert one of them", given(x()).and(pivots()).and(x().to(DType::F64)))
            .refuses_data(
                "numbers of rows from 1 to 2",
                given(x()).and(Plain::from_elements(DType::I32, &[2], &[0, 2])).and(x()),
            );
        samples
            .operator(
                LuSolve,
                DTYPES,
                |dtype| {
                    let first = inputs(dtype).into_iter().filter(|sample| sample.keyword.is_empty());
                    let turned = |sample: Sample| match sample.positional.as_slice() {
                        [a, p, b] => given(b.clone()).and(a.clone()).and(p.clone()),
                        _ => sample,
                    };
                    first.map(turned).collect()
                },
                |it| {
                    let of = |name| it.tensor(name).cloned();
                    expected(&of("LU_data")?, &of("LU_pivots")?, &of("self")?, true, false)
                },
            )
            .tolerance(256.0);
        samples.rounds(LinalgLuSolve, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LuSolve, Roundings::all(Rounding::Sum(256)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |(a, b): &(&[i64], &[i64])| {
            let [factors, pivots, _] =
                super::super::lu::samples::lu_factors(&well_conditioned(dtype, a, 1)).ok()?;
            let mut from_right = b.to_vec();
            from_right.swap(b.len() - 2, b.len() - 1);
            let equation =
                |b: &[i64]| given(factors.clone()).and(pivots.clone()).and(generate::numbers(dtype, b, 3));
            Some([
                equation(b),
                equation(b).named("adjoint", true),
                equation(&from_right).named("left", false),
                equation(&from_right).named("left", false).named("adjoint", true),
            ])
        };
        EQUATIONS.iter().filter_map(one).flatten().collect()
    }

    /// Solutions of equations, of as many matrices as both broadcast to.
    pub(crate) fn solve_each(
        a: &Plain,
        b: &Plain,
        is_left: bool,
        function: impl Fn(&Matrix, &Matrix) -> Matrix,
    ) -> Result<Plain> {
        for_each_pair(a, b, matrix_sizes(b), |a, b| {
            if is_left { function(a, b) } else { function(&a.adjoint(), &b.adjoint()).adjoint() }
        })
    }

    /// What becomes of pairs of matrices, of as many as both broadcast to.
    pub(crate) fn for_each_pair(
        a: &Plain,
        b: &Plain,
        sizes: [i64; 2],
        function: impl Fn(&Matrix, &Matrix) -> Matrix,
    ) -> Result<Plain> {
        let stack = naive::broadcast([batch(a), batch(b)].into_iter())?;
        let expanded = |x: &Plain| {
            let dims = x.sizes().len() - 2;
            Plain::from_fn(x.dtype(), &[&stack[..], &matrix_sizes(x)].concat(), |at| {
                let (outer, cell) = at.split_at(stack.len());
                let own = &outer[stack.len() - dims..];
                let own = own.iter().zip(x.sizes()).map(|(at, size)| if *size == 1 { 0 } else { *at });
                x.at(&own.chain(cell.iter().copied()).collect::<Vec<_>>())
            })
        };
        let pairs = matrices(&expanded(a)).into_iter().zip(matrices(&expanded(b)));
        let all: Vec<Matrix> = pairs.map(|(a, b)| function(&a, &b)).collect();
        Ok(stack_matrices(b.dtype(), &stack, sizes, &all))
    }

    fn expected(
        factors: &Plain,
        pivots: &Plain,
        b: &Plain,
        is_left: bool,
        is_adjoint: bool,
    ) -> Result<Expected> {
        let [p, l, u] = super::super::lu_unpack::samples::unpack(factors, pivots, true, true);
        let all = matrices(&p).into_iter().zip(matrices(&l)).zip(matrices(&u));
        let products: Vec<Matrix> = all.map(|((p, l), u)| p.times(&l).times(&u)).collect();
        let a = stack_matrices(factors.dtype(), batch(factors), matrix_sizes(factors), &products);
        Ok(solve_each(&a, b, is_left, |a, b| if is_adjoint { a.adjoint().solve(b) } else { a.solve(b) })?
            .into())
    }
}
