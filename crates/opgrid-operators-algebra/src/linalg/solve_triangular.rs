//! `aten::linalg_solve_triangular`, `triangular_solve`: solutions of equations with a triangle.
//!
//! `A * X = B`, or `X * A = B` without `left`, where `A` is the upper or lower triangle of its argument
//!
//! - Shapes: `A` of square matrices, `B` of matrices with as many rows (`left`) or columns; batches broadcast.
//! - Dtypes: float32, float64, complex64, complex128, one for both.
//! - Values: with `unitriangular` the diagonal counts as ones. A zero on the diagonal gives infinities or NaN.
//! - Strides: column-major, as in torch.
//! - Dispatch: `triangular_solve` is a composite of `linalg_solve_triangular`, and returns a copy of its matrices, too.
//! - Aliasing: the `out` forms write `out`, or `X` and `M`.
//! - Errors: other shapes or dtypes.
//! - Derivative: by `B` the solution with `Aᴴ`; by `A` the triangle of minus that, times `Xᴴ`.
//! - Source: torch.linalg.solve_triangular, PyTorch 2.15.

use super::lu_solve::{expand_stack, solution};
use crate::kinds::matrices::adjoint;
use crate::prelude::*;
use opgrid_kernels::linalg::{Triangle, solve_triangular};
use opgrid_tensor::ops::{CloneTensor, Expand, TransposeInt};

pub use opgrid_tensor::ops::linalg::solve_triangular::*;

/// The family of `aten::linalg_solve_triangular`: its kind, shape rule and `out` rule.
pub const LINALG_SOLVE_TRIANGULAR: Family<LinalgSolveTriangular> =
    Family::new(LinalgSolveTriangular, &kind::FACTORIZATION, |a, b, _, is_left, _| {
        solution(("self", a.spec()?), ("B", b.spec()?), is_left)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_SOLVE_TRIANGULAR)
        .cpu(|a, b, is_upper, is_left, is_unit, out| {
            let out = out.array()?;
            let (a, b) = (expand_stack(a.array()?, out, 2)?, expand_stack(b.array()?, out, 2)?);
            solve_triangular(out, &a, &b, Triangle { is_upper, is_unit, ..Triangle::LOWER }, is_left)
        })
        .derivative(|d, (a, b, is_upper, is_left, is_unit)| {
            let with_adjoint = move |a: &Tensor, grad: &Tensor| {
                LinalgSolveTriangular.call(&adjoint(a)?, grad, !is_upper, is_left, is_unit)
            };
            d.by(b, [a], move |grad, [a]| with_adjoint(a, grad))?;
            d.by(a, [a, d.result(0)], move |grad, [a, x]| {
                let (solved, x) = (with_adjoint(a, grad)?, adjoint(x)?);
                let both = if is_left { solved.matmul(&x)? } else { x.matmul(&solved)? };
                let both = both.neg()?;
                let skipped = i64::from(is_unit);
                if is_upper { both.triu(skipped) } else { both.tril(-skipped) }
            })
        });
    library.define_with_forms(TriangularSolve, &kind::FACTORIZATION).implicit(solve_and_copy);
    library.implement(TriangularSolveX).implicit(|b, a, is_upper, is_transposed, is_unit, x, m| {
        let made = solve_and_copy(b, a, is_upper, is_transposed, is_unit)?;
        result::all_copied(&[(x, &made.0), (m, &made.1)])
    });
}

fn solve_and_copy(
    b: &Tensor,
    a: &Tensor,
    is_upper: bool,
    is_transposed: bool,
    is_unit: bool,
) -> Result<(Tensor, Tensor)> {
    let meant = if is_transposed { TransposeInt.call(a, -2, -1)? } else { a.clone() };
    let x = LinalgSolveTriangular.call(&meant, b, is_upper != is_transposed, true, is_unit)?;
    let (batch, own) = (&x.sizes()[..x.dim() - 2], &a.sizes()[a.dim() - 2..]);
    let expanded = Expand.call(a, &[batch, own].concat(), false)?;
    let columns = CloneTensor.call(&TransposeInt.call(&expanded, -2, -1)?, Some(MemoryFormat::Contiguous))?;
    Ok((x, TransposeInt.call(&columns, -2, -1)?))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::super::lu_solve::samples::{EQUATIONS, solve_each};
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{Matrix, batch, matrices, matrix_sizes, stack_matrices};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[2, 2], 0);
        samples
            .operator(LinalgSolveTriangular, DTYPES, inputs, |it| {
                let (a, b) = (it.tensor("self")?, it.tensor("B")?);
                let (is_upper, is_unit): (bool, bool) = (it.value("upper")?, it.value("unitriangular")?);
                let a = triangle(a, is_upper, is_unit);
                Ok(solve_each(&a, b, it.value("left")?, |a, b| a.solve(b))?.into())
            })
            .tolerance(256.0)
            .refuses(
                "square ones",
                given(generate::numbers(DType::F32, &[2, 3], 0)).and(x()).named("upper", true),
            )
            .refuses("convert one of them", given(x()).and(x().to(DType::F64)).named("upper", true))
            .refuses(
                "2 dimensions or more",
                given(x()).and(generate::numbers(DType::F32, &[2], 0)).named("upper", true),
            );
        samples
            .operator(TriangularSolve, DTYPES, old_inputs, |it| {
                let (b, a) = (it.tensor("self")?, it.tensor("A")?);
                let (is_upper, is_unit): (bool, bool) = (it.value("upper")?, it.value("unitriangular")?);
                let is_transposed = it.value("transpose")?;
                let meant = triangle(a, is_upper, is_unit);
                let x = solve_each(&meant, b, true, |a, b| {
                    if is_transposed {
                        Matrix::from_fn(a.columns, a.rows, |i, j| a.at(j, i)).solve(b)
                    } else {
                        a.solve(b)
                    }
                })?;
                // The matrices as often as there are solutions.
                let sizes = [batch(&x), &matrix_sizes(a)].concat();
                let copied = Plain::from_fn(a.dtype(), &sizes, |at| {
                    let own = at[at.len() - a.sizes().len()..].iter().zip(a.sizes());
                    a.at(&own.map(|(at, size)| if *size == 1 { 0 } else { *at }).collect::<Vec<_>>())
                });
                Ok([x, copied].into())
            })
            .tolerance(256.0);
        samples.rounds(LinalgSolveTriangular, Roundings::all(Rounding::Sum(256)));
        samples.rounds(TriangularSolve, Roundings::all(Rounding::Sum(256)));
    }

    fn triangle(a: &Plain, is_upper: bool, is_unit: bool) -> Plain {
        let all: Vec<_> = matrices(a).iter().map(|matrix| matrix.triangle(is_upper, is_unit)).collect();
        stack_matrices(a.dtype(), batch(a), matrix_sizes(a), &all)
    }

    /// Small numbers, and large ones on the diagonal.
    fn stable_triangles(dtype: DType, sizes: &[i64]) -> Plain {
        let (x, dims) = (generate::numbers(dtype, sizes, 1), sizes.len());
        Plain::from_fn(dtype, sizes, |at| {
            let element = x.at(at).to_complex() / 4.0;
            let is_diagonal = at[dims - 1] == at[dims - 2];
            crate::kinds::matrices::samples::number(dtype, if is_diagonal { element + 3.0 } else { element })
        })
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |(a, b): &(&[i64], &[i64])| {
            let mut from_right = b.to_vec();
            from_right.swap(b.len() - 2, b.len() - 1);
            let equation = |b: &[i64], is_upper: bool| {
                given(stable_triangles(dtype, a)).and(generate::numbers(dtype, b, 3)).named("upper", is_upper)
            };
            [
                equation(b, true),
                equation(b, false).named("unitriangular", true),
                equation(&from_right, false).named("left", false),
                equation(&from_right, true).named("left", false).named("unitriangular", true),
            ]
        };
        EQUATIONS.iter().flat_map(one).collect()
    }

    fn old_inputs(dtype: DType) -> Vec<Sample> {
        let flags = [[true, false, false], [false, true, false], [true, true, true]].into_iter().cycle();
        let mut samples = Vec::new();
        for ((a, b), [is_upper, is_transposed, is_unit]) in EQUATIONS.iter().zip(flags) {
            let equation = given(generate::numbers(dtype, b, 3)).and(stable_triangles(dtype, a));
            samples.push(equation.and(is_upper).and(is_transposed).and(is_unit));
        }
        samples
    }
}
