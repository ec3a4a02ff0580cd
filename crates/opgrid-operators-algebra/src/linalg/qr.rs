//! `aten::linalg_qr`: matrices as products of orthonormal columns and a triangle.
//!
//! `A = Q * R`, where `Qᴴ * Q = 1` and `R` is an upper triangle with real numbers on its diagonal
//!
//! - Shapes: of `[.., m, n]` with `k = min(m, n)`: `Q` `[.., m, k]` and `R` `[.., k, n]` in mode `reduced`, `[.., m, m]` and `[.., m, n]` in
//!   mode `complete`, no `Q` and `R` `[.., k, n]` in mode `r`.
//! - Dtypes: float32, float64, complex64, complex128.
//! - Values: signs are those of LAPACK: numbers on the diagonal of `R` are negative where the element that was reflected was not.
//! - Strides: column-major, as in torch.
//! - Aliasing: `linalg_qr.out` writes `Q` and `R`.
//! - Errors: other shapes, dtypes or modes.
//! - Derivative: for matrices with independent columns, and where there are more columns than rows, independent ones in front (Walter and
//!   Lehmann 2018); none in mode `r`, nor in mode `complete` if there are more rows than columns.
//! - Source: torch.linalg.qr, PyTorch 2.15.

use opgrid_core::{Error, ErrorKind};

use crate::kinds::matrices::{Stack, Triangle, adjoint, column_major, row_major, solve_right};
use crate::prelude::*;
use opgrid_tensor::ops::{Cat, Narrow};

pub use opgrid_tensor::ops::linalg::qr::*;

/// The family of `aten::linalg_qr`: its kind, shape rule and `out` rule.
pub const LINALG_QR: Family<LinalgQr> = Family::new(LinalgQr, &kind::FACTORIZATION, |a, mode| {
    let spec = a.spec()?;
    let stack = Stack::new("A", spec)?;
    let (m, n, k) = (stack.rows, stack.columns, stack.least());
    let matrices = |rows, columns| column_major(stack.batch, [rows, columns], spec);
    Ok(match mode {
        "reduced" => (matrices(m, k)?, matrices(k, n)?),
        "complete" => (matrices(m, m)?, matrices(m, n)?),
        "r" => (row_major(&[0], spec.dtype(), spec)?, matrices(k, n)?),
        mode => {
            let message = format!("argument `mode` is `{mode}`, expected `reduced`, `complete` or `r`");
            return Err(argument(message));
        }
    })
})
.same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_QR)
        .cpu(|a, _, q, r| opgrid_kernels::linalg::qr(q.array()?, r.array()?, a.array()?))
        .derivative(|d, (a, mode)| {
            let [.., m, n] = *a.sizes() else { return Ok(()) };
            let refused = match mode {
                "r" => Some("argument `mode` is `r`, which computes no Q, and the derivative needs it; pass `reduced`"),
                "complete" if m > n => Some(
                    "argument `mode` is `complete`, which has no derivative where there are more rows than columns; pass `reduced`",
                ),
                _ => None,
            };
            d.by_all(a, [d.result(0), d.result(1)], move |grads, [q, r]| {
                if let Some(refused) = refused {
                    return Err(Error::new(
                        ErrorKind::NotImplemented,
                        refused,
                    ));
                }
                gradient(grads.for_result(0), grads.for_result(1), q, r)
            })
        });
}

fn gradient(
    grad_q: Option<&Tensor>,
    grad_r: Option<&Tensor>,
    q: &Tensor,
    r: &Tensor,
) -> Result<Option<Tensor>> {
    let (&[.., m, k], &[.., n]) = (q.sizes(), r.sizes()) else { return Ok(None) };
    if m >= n {
        return tall_gradient(grad_q, grad_r, q, r);
    }
    // What stands in front is a square matrix, and what follows is `Y = Q * V`.
    let part = |x: &Tensor, start: i64, length: i64| Narrow.call(x, -1, start, length);
    let (first, rest) = (part(r, 0, k)?, part(r, k, n - k)?);
    let (of_first, of_rest) = match grad_r {
        Some(grad) => (Some(part(grad, 0, k)?), Some(part(grad, k, n - k)?)),
        None => (None, None),
    };
    let by_rest = |grad: &Tensor| q.matmul(&rest)?.matmul(&adjoint(grad)?);
    let of_q = derivatives::sum(grad_q.cloned(), of_rest.as_ref().map(by_rest).transpose()?)?;
    let Some(front) = tall_gradient(of_q.as_ref(), of_first.as_ref(), q, &first)? else { return Ok(None) };
    let behind = match of_rest {
        Some(grad) => q.matmul(&grad)?,
        None => zeros(q, n - k)?,
    };
    Cat.call(&[front, behind], -1).map(Some)
}

/// The gradient of a matrix with at least as many rows as columns.
fn tall_gradient(
    grad_q: Option<&Tensor>,
    grad_r: Option<&Tensor>,
    q: &Tensor,
    r: &Tensor,
) -> Result<Option<Tensor>> {
    let of_r = grad_r.map(|grad| grad.matmul(&adjoint(r)?)).transpose()?;
    let of_q = grad_q.map(|grad| adjoint(q)?.matmul(grad)?.neg()).transpose()?;
    let Some(inner) = derivatives::sum(of_r, of_q)? else { return Ok(None) };
    // The upper triangle and its conjugate: its diagonal counts once, and only as a real number.
    let symmetric = inner.triu(0)?.add(&adjoint(&inner.triu(1)?)?)?;
    let turned = q.matmul(&real_diagonal(&symmetric)?)?;
    let all = match grad_q {
        Some(grad) => turned.add(grad)?,
        None => turned,
    };
    // X * Rᴴ = all
    solve_right(&adjoint(r)?, Triangle::LOWER, &all).map(Some)
}

/// Columns of zeros beside those of a matrix.
fn zeros(like: &Tensor, count: i64) -> Result<Tensor> {
    let dims = like.sizes().len();
    derivatives::zeros_of(&[&like.sizes()[..dims - 1], &[count]].concat(), like)
}

/// A matrix whose diagonal has lost its imaginary parts.
fn real_diagonal(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return Ok(x.clone());
    }
    let diagonal = x.tril(0)?.triu(0)?;
    let turned = diagonal.sub(&adjoint(&diagonal)?)?.mul(0.5)?;
    x.sub(&turned)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        Matrix, SHAPES, batch, matrices, matrix_sizes, refuse_others, stack_matrices, well_conditioned,
    };
    use num_complex::Complex64;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let refused = |operator: &mut OperatorSamples| {
            refuse_others(operator)
                .tolerance(256.0)
                // Matrices with repeated rows are singular.
                .needs_distinct();
        };
        let x = || given(generate::numbers(DType::F32, &[2, 2], 0));
        let modes = |dtype| {
            let mode = ["reduced", "complete", "r"].into_iter();
            let all = SHAPES.iter().flat_map(|sizes| mode.clone().map(move |mode| (*sizes, mode)));
            all.map(|(sizes, mode)| given(well_conditioned(dtype, sizes, 1)).and(mode)).collect()
        };
        refused(
            samples
                .operator(LinalgQr, DTYPES, modes, |it| {
                    let mode: String = it.value("mode")?;
                    Ok(expected(it.tensor("A")?, &mode).into())
                })
                .refuses("expected `reduced`, `complete` or `r`", x().and("all")),
        );
        samples.rounds(LinalgQr, Roundings::all(Rounding::Sum(256)));
    }

    fn expected(x: &Plain, mode: &str) -> [Plain; 2] {
        let ([m, n], stack, dtype) = (matrix_sizes(x), batch(x), x.dtype());
        let k = if mode == "complete" { m } else { m.min(n) };
        let all: Vec<(Matrix, Vec<Complex64>)> = matrices(x).iter().map(Matrix::reflections).collect();
        let q =
            |(x, tau): &(Matrix, Vec<Complex64>)| x.product_of_reflections(tau).first(m as usize, k as usize);
        let qs: Vec<Matrix> = all.iter().map(q).collect();
        let r = |(x, _): &(Matrix, Vec<Complex64>)| x.triangle(true, false).first(k as usize, n as usize);
        let rs: Vec<Matrix> = all.iter().map(r).collect();
        let q = if mode == "r" {
            Plain::from_fn(dtype, &[0], |_| Scalar::Int(0))
        } else {
            stack_matrices(dtype, stack, [m, k], &qs)
        };
        [q, stack_matrices(dtype, stack, [k, n], &rs)]
    }
}
