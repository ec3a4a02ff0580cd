//! `aten::linalg_polar`: matrices as products of orthonormal columns and a Hermitian matrix.
//!
//! `A = U * H`, where `Uᴴ * U = 1` and no eigenvalue of `H` is negative
//!
//! - Shapes: matrices with at least as many rows as columns, or batches of them: `U` `[.., m, n]` and `H` `[.., n, n]`.
//! - Dtypes: float32, float64, complex64, complex128.
//! - Values: by singular vectors `A = W * S * Vᴴ`: `U = W * Vᴴ` and `H = V * S * Vᴴ`. `U` is not defined where `A` has a lower rank.
//! - Dispatch: made of `linalg_svd` and `matmul`.
//! - Aliasing: `linalg_polar.out` writes `U` and `H`.
//! - Errors: other shapes or dtypes; elements that are not finite.
//! - Derivative: for matrices whose rank is the number of columns: the part of `U` that turns its columns solves an equation with `H` on
//!   both sides.
//! - Source: torch.linalg.polar, PyTorch 2.15.

use super::matrix_sqrth::solve_on_both_sides;
use crate::kinds::matrices::{Stack, adjoint};
use crate::prelude::*;
use opgrid_tensor::ops::{LinalgEigh, LinalgSvd};

pub use opgrid_tensor::ops::linalg::polar::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(LinalgPolar, &kind::FACTORIZATION).composite(decompose).derivative(
        |d, (a,)| {
            d.by_all(a, [d.result(0), d.result(1)], |grads, [u, h]| {
                gradient(grads.for_result(0), grads.for_result(1), u, h)
            })
        },
    );
    library.implement(LinalgPolarOut).composite(|a, u, h| {
        let made = decompose(a)?;
        result::all_copied(&[(u, &made.0), (h, &made.1)])
    });
}

fn decompose(a: &Tensor) -> Result<(Tensor, Tensor)> {
    let stack = Stack::new("A", a.spec()?)?;
    if stack.rows < stack.columns {
        let message = format!(
            "argument `A` has matrices of {} rows and {} columns, expected at least as many rows; pass the transposed ones",
            stack.rows, stack.columns
        );
        return Err(argument(message));
    }
    let (w, s, vh) = LinalgSvd.call(a, false, None)?;
    let h = adjoint(&vh)?.mul(&s.to_dtype(a.dtype())?.unsqueeze(-2)?)?.matmul(&vh)?;
    Ok((w.matmul(&vh)?, h))
}

fn gradient(of_u: Option<&Tensor>, of_h: Option<&Tensor>, u: &Tensor, h: &Tensor) -> Result<Option<Tensor>> {
    let turned = adjoint(u)?;
    let inner = of_u.map(|grad| turned.matmul(grad)).transpose()?;
    let by_h = of_h.map(|grad| grad.matmul(h)?.neg()).transpose()?;
    let Some(turning) = derivatives::sum(inner.clone(), by_h)? else { return Ok(None) };
    let (values, vectors) = LinalgEigh.call(h, "L")?;
    let solved = solve_on_both_sides(&turning, &values, &vectors)?;
    let mut within = solved.sub(&adjoint(&solved)?)?;
    if let Some(grad) = of_h {
        within = within.add(grad)?;
    }
    let mut all = u.matmul(&within)?;
    if let (Some(grad), Some(inner)) = (of_u, inner)
        && u.sizes()[u.dim() - 2] > h.sizes()[h.dim() - 1]
    {
        let outside = grad.sub(&u.matmul(&inner)?)?;
        // Divided by `H`, which is infinite where the rank is lower.
        let divided = outside.matmul(&vectors)?.div(&values.unsqueeze(-2)?)?;
        all = all.add(&divided.matmul(&adjoint(&vectors)?)?)?;
    }
    Ok(Some(all))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        Matrix, batch, map_matrices, matrices, matrix_sizes, refuse_others, stack_matrices, well_conditioned,
    };
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let operator = samples.operator(LinalgPolar, DTYPES, inputs, |it| {
            let x = it.tensor("A")?;
            let n = matrix_sizes(x)[1];
            let u = map_matrices(x, orthonormal);
            let h: Vec<Matrix> =
                matrices(x).iter().map(|matrix| orthonormal(matrix).adjoint().times(matrix)).collect();
            Ok([u, stack_matrices(x.dtype(), batch(x), [n, n], &h)].into())
        });
        refuse_others(operator)
            .tolerance(512.0)
            // Matrices with repeated rows have a lower rank.
            .needs_distinct()
            .refuses("at least as many rows", given(generate::numbers(DType::F32, &[2, 3], 0)));
        samples.rounds(LinalgPolar, Roundings::all(Rounding::Sum(512)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let shapes: [&[i64]; 6] = [&[3, 3], &[2, 4, 2], &[0, 0], &[3, 0], &[0, 2, 2], &[1, 5, 3]];
        shapes.iter().map(|sizes| given(well_conditioned(dtype, sizes, 1))).collect()
    }

    /// The nearest matrix with orthonormal columns, by an iteration without inverses (Björck and Bowie 1971).
    fn orthonormal(matrix: &Matrix) -> Matrix {
        let n = matrix.columns;
        // `X (3 - Xᴴ X) / 2` of a matrix whose singular values are below the root of 3.
        let largest = matrix.singular_values().into_iter().fold(1e-300, f64::max);
        let start = Matrix::from_fn(matrix.rows, n, |i, j| matrix.at(i, j) / largest);
        (0..60).fold(start, |x, _| {
            let product = x.adjoint().times(&x);
            let inner =
                Matrix::from_fn(n, n, |i, j| (if i == j { 3.0 } else { 0.0 } - product.at(i, j)) / 2.0);
            x.times(&inner)
        })
    }
}
