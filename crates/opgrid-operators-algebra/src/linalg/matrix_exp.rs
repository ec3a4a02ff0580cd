//! `aten::linalg_matrix_exp`, `matrix_exp`, `matrix_exp_backward`: exponentials of matrices.
//!
//! `out = 1 + self + self² / 2 + self³ / 6 + …`
//!
//! - Shapes: square matrices, or batches of them.
//! - Dtypes: float32, float64, complex64, complex128.
//! - Values: NaN for a matrix with elements that are not finite, and where squares leave the range of the dtype.
//! - Dispatch: `matrix_exp` is a composite of `linalg_matrix_exp`.
//! - Aliasing: `linalg_matrix_exp.out` writes `out`.
//! - Errors: other shapes or dtypes.
//! - Derivative: what stands above the diagonal in the exponential of `[[selfᴴ, grad], [0, selfᴴ]]` (Mathias 1996, "A chain rule for matrix
//!   functions").
//! - Source: torch.linalg.matrix_exp, PyTorch 2.15.

use crate::kinds::matrices::{Stack, adjoint, row_major};
use crate::prelude::*;
use opgrid_kernels::linalg::exponential;
use opgrid_tensor::ops::{Cat, Narrow};

pub use opgrid_tensor::ops::linalg::matrix_exp::*;

/// The family of `aten::linalg_matrix_exp`: its kind, shape rule and `out` rule.
pub const LINALG_MATRIX_EXP: Family<LinalgMatrixExp> =
    Family::new(LinalgMatrixExp, &kind::FACTORIZATION, |input| {
        let spec = input.spec()?;
        let stack = Stack::square("self", spec)?;
        row_major(&stack.with(&[stack.rows, stack.rows]), spec.dtype(), spec)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_MATRIX_EXP)
        .cpu(|input, out| exponential(out.array()?, input.array()?))
        .derivative(|d, (input,)| d.by(input, [input], |grad, [input]| gradient(grad, input)));
    library.define_with_forms(MatrixExp, &kind::FACTORIZATION).implicit(|input| LinalgMatrixExp.call(input));
    library
        .define_with_forms(MatrixExpBackward, &kind::FACTORIZATION)
        .implicit(|input, grad| gradient(grad, input));
}

fn gradient(grad: &Tensor, input: &Tensor) -> Result<Tensor> {
    let turned = adjoint(input)?;
    let above = Cat.call(&[turned.clone(), grad.clone()], -1)?;
    let below = Cat.call(&[turned.mul(0)?, turned.clone()], -1)?;
    let n = *turned.sizes().last().unwrap_or(&0);
    let exponential = LinalgMatrixExp.call(&Cat.call(&[above, below], -2)?)?;
    Narrow.call(&Narrow.call(&exponential, -2, 0, n)?, -1, n, n)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{Matrix, STACKS, map_matrices, refuse_others_than_square};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let linalg =
            samples.operator(LinalgMatrixExp, DTYPES, inputs, |it| Ok(expected(it.tensor("self")?).into()));
        refuse_others_than_square(linalg.tolerance(256.0));
        let short = samples.operator(MatrixExp, DTYPES, inputs, |it| Ok(expected(it.tensor("self")?).into()));
        refuse_others_than_square(short.tolerance(256.0));
        samples
            .operator(
                MatrixExpBackward,
                DTYPES,
                |dtype| {
                    let pair = |sizes: &&[i64]| given(small(dtype, sizes, 1)).and(small(dtype, sizes, 2));
                    STACKS.iter().map(pair).collect()
                },
                |it| {
                    let (x, grad) = (it.tensor("self")?, it.tensor("grad")?);
                    super::super::lu_solve::samples::for_each_pair(
                        x,
                        grad,
                        crate::kinds::matrices::samples::matrix_sizes(x),
                        slope,
                    )
                    .map(Expected::from)
                },
            )
            .tolerance(512.0);
        samples.rounds(LinalgMatrixExp, Roundings::all(Rounding::Sum(256)));
        samples.rounds(MatrixExp, Roundings::all(Rounding::Sum(256)));
        samples.rounds(MatrixExpBackward, Roundings::all(Rounding::Sum(512)));
    }

    fn small(dtype: DType, sizes: &[i64], seed: i64) -> Plain {
        map_matrices(&generate::numbers(dtype, sizes, seed), |matrix| {
            Matrix::from_fn(matrix.rows, matrix.columns, |i, j| matrix.at(i, j) / 4.0)
        })
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        STACKS.iter().map(|sizes| given(small(dtype, sizes, 1))).collect()
    }

    fn expected(x: &Plain) -> Plain {
        map_matrices(x, exponential)
    }

    /// The sum of the series of a small part of a matrix, squared again.
    fn exponential(matrix: &Matrix) -> Matrix {
        let n = matrix.rows;
        let part = Matrix::from_fn(n, n, |i, j| matrix.at(i, j) / 16.0);
        let (mut sum, mut term) = (Matrix::identity(n), Matrix::identity(n));
        for k in 1..24 {
            term = term.times(&part);
            term = Matrix::from_fn(n, n, |i, j| term.at(i, j) / f64::from(k));
            sum = Matrix::from_fn(n, n, |i, j| sum.at(i, j) + term.at(i, j));
        }
        (0..4).fold(sum, |power, _| power.times(&power))
    }

    /// The derivative of the exponential of the conjugate transpose in a direction: an integral of products of exponentials, by the rule of
    /// Gauss with five points in each of eight parts.
    fn slope(matrix: &Matrix, direction: &Matrix) -> Matrix {
        let n = matrix.rows;
        let turned = matrix.adjoint();
        let times = |factor: f64| exponential(&Matrix::from_fn(n, n, |i, j| turned.at(i, j) * factor));
        let points = [
            (0.0, 0.568_888_888_888_888_9),
            (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
            (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
            (0.906_179_845_938_664, 0.236_926_885_056_189_08),
            (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
        ];
        let mut sum = Matrix::from_fn(n, n, |_, _| 0.0.into());
        for part in 0..8 {
            for (point, weight) in points {
                let at = (f64::from(part) + 0.5 + 0.5 * point) / 8.0;
                let value = times(at).times(direction).times(&times(1.0 - at));
                sum = Matrix::from_fn(n, n, |i, j| sum.at(i, j) + value.at(i, j) * (weight / 16.0));
            }
        }
        sum
    }
}
