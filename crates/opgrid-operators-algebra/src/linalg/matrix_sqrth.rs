//! `aten::linalg_matrix_sqrth`: Hermitian roots of Hermitian matrices.
//!
//! `out * out = self`, where no eigenvalue of `out` is negative
//!
//! - Shapes: square matrices, or batches of them.
//! - Dtypes: float32, float64, complex64, complex128.
//! - Values: of `self` the lower triangle is read. Eigenvalues below zero count as zero.
//! - Dispatch: made of `linalg_eigh` and `matmul`.
//! - Aliasing: `linalg_matrix_sqrth.out` writes `out`.
//! - Errors: other shapes or dtypes; elements that are not finite.
//! - Derivative: for matrices that are positive definite: `X` of `X * out + out * X = grad`, for both triangles of `self`.
//! - Source: torch.linalg.matrix_sqrth, PyTorch 2.15.

use crate::kinds::matrices::{Stack, adjoint};
use crate::prelude::*;
use opgrid_tensor::ops::{ClampMin, LinalgEigh};

pub use opgrid_tensor::ops::linalg::matrix_sqrth::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgMatrixSqrth, &kind::FACTORIZATION).composite(root).derivative(
        |d, (a,)| {
            d.by(a, [d.result(0)], |grad, [root]| {
                let (values, vectors) = LinalgEigh.call(root, "L")?;
                let symmetric = grad.add(&adjoint(grad)?)?.mul(0.5)?;
                solve_on_both_sides(&symmetric, &values, &vectors)
            })
        },
    );
    library.implement(LinalgMatrixSqrthOut).composite(|a, out| result::copied(out, &root(a)?));
}

fn root(a: &Tensor) -> Result<Tensor> {
    Stack::square("self", a.spec()?)?;
    let (values, vectors) = LinalgEigh.call(a, "L")?;
    let roots = ClampMin.call(&values, Scalar::Int(0))?.sqrt()?;
    vectors.mul(&roots.to_dtype(a.dtype())?.unsqueeze(-2)?)?.matmul(&adjoint(&vectors)?)
}

/// The matrices `X` with `X * H + H * X = right`, by the eigenvalues and eigenvectors of `H`.
///
/// # Errors
///
/// Those of the operators that it calls.
pub(super) fn solve_on_both_sides(right: &Tensor, values: &Tensor, vectors: &Tensor) -> Result<Tensor> {
    let turned = adjoint(vectors)?;
    let inner = turned.matmul(right)?.matmul(vectors)?;
    let sums = values.unsqueeze(-1)?.add(&values.unsqueeze(-2)?)?;
    vectors.matmul(&inner.div(&sums)?)?.matmul(&turned)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        Matrix, STACKS, map_matrices, positive_definite, refuse_others_than_square,
    };
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operator = samples.operator(LinalgMatrixSqrth, DTYPES, inputs, |it| {
            Ok(map_matrices(it.tensor("self")?, |matrix| root(&matrix.hermitian(false))).into())
        });
        // Gradients go to both triangles, of which one is read: functions of Hermitian matrices are compared elsewhere.
        refuse_others_than_square(operator).tolerance(512.0).constant(&["self"]).needs_distinct();
        samples.rounds(LinalgMatrixSqrth, Roundings::all(Rounding::Sum(512)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        STACKS.iter().map(|sizes| given(positive_definite(dtype, sizes))).collect()
    }

    /// The root, by the iteration of Denman and Beavers (1976).
    fn root(matrix: &Matrix) -> Matrix {
        let n = matrix.rows;
        let mean = |x: &Matrix, y: &Matrix| {
            let inverse = y.solve(&Matrix::identity(n));
            Matrix::from_fn(n, n, |i, j| (x.at(i, j) + inverse.at(i, j)) / 2.0)
        };
        let (mut x, mut y) = (matrix.clone(), Matrix::identity(n));
        for _ in 0..40 {
            (x, y) = (mean(&x, &y), mean(&y, &x));
        }
        x
    }
}
