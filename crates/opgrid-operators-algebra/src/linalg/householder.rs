//! `aten::geqrf`, `linalg_householder_product`, `orgqr`, `ormqr`: orthonormal columns as products of reflections.
//!
//! `Q = H₁ * H₂ * …`, where `Hᵢ = 1 - tau[i] * vᵢ * vᵢᴴ`, and `vᵢ` is zero above the diagonal, one at it, and stored below it
//!
//! - Shapes: matrices `[.., m, n]`, or batches of them; `geqrf` gives `tau` `[.., min(m, n)]`. `linalg_householder_product` takes
//!   `[.., m, n]` with `m >= n` and up to `n` factors, and gives the first `n` columns of `Q`. `ormqr` multiplies another matrix by the
//!   whole of `Q`, from the left or the right.
//! - Dtypes: float32, float64, complex64, complex128, one for all.
//! - Values: those of LAPACK, so that what other libraries have factored is taken.
//! - Strides: column-major, as in torch.
//! - Dispatch: `orgqr` is a composite of `linalg_householder_product`.
//! - Aliasing: the `out` forms write their outputs; those of `ormqr` have the dtype of `self`, others are converted.
//! - Errors: other shapes or dtypes.
//! - Derivative: of `linalg_householder_product` and `ormqr`, by `Q = 1 - V * T * Vᴴ`, where `V` has the columns `vᵢ` and
//!   `T = (1 + D * S)⁻¹ * D` with `D = diag(tau)` and what stands above the diagonal of `Vᴴ * V` as `S` (Schreiber and Van Loan 1989).
//! - Source: torch.geqrf, torch.linalg.householder_product, torch.ormqr, PyTorch 2.15.

use crate::kinds::matrices::{
    Stack, Triangle, adjoint, column_major, diagonal_matrix, identity, row_major, solve_left,
};
use crate::prelude::*;
use opgrid_kernels::linalg::{Equation, multiply_by_reflections, product_of_reflections, reflections};
use opgrid_tensor::ops::{ConstantPadNd, Diagonal, Narrow};

pub use opgrid_tensor::ops::linalg::householder::*;

/// The family of `aten::geqrf`: its kind, shape rule and `out` rule.
pub const GEQRF: Family<Geqrf> = Family::new(Geqrf, &kind::FACTORIZATION, |input| {
    let spec = input.spec()?;
    let stack = Stack::new("self", spec)?;
    let (m, n) = (stack.rows, stack.columns);
    Ok((
        column_major(stack.batch, [m, n], spec)?,
        row_major(&stack.with(&[stack.least()]), spec.dtype(), spec)?,
    ))
});

/// The family of `aten::linalg_householder_product`: its kind, shape rule and `out` rule.
pub const LINALG_HOUSEHOLDER_PRODUCT: Family<LinalgHouseholderProduct> =
    Family::new(LinalgHouseholderProduct, &kind::FACTORIZATION, |input, tau| {
        let spec = input.spec()?;
        let stack = Stack::new("input", spec)?;
        let (m, n) = (stack.rows, stack.columns);
        if m < n {
            let message = format!(
                "argument `input` has matrices of {m} rows and {n} columns, expected at least as many rows"
            );
            return Err(argument(message));
        }
        check_factors(("tau", tau.spec()?), ("input", spec), n)?;
        column_major(stack.batch, [m, n], spec)
    });

/// The family of `aten::ormqr`: its kind, shape rule and `out` rule.
pub const ORMQR: Family<Ormqr> =
    Family::new(Ormqr, &kind::FACTORIZATION, |input, tau, other, is_left, _| {
        let (spec, right) = (input.spec()?, other.spec()?);
        let (stack, matrices) = (Stack::new("self", spec)?, Stack::new("input3", right)?);
        check_factors(("input2", tau.spec()?), ("self", spec), stack.least())?;
        check_factors(("input3", right), ("self", spec), i64::MAX)?;
        let (found, what) = if is_left { (matrices.rows, "rows") } else { (matrices.columns, "columns") };
        if matrices.batch != stack.batch || found != stack.rows {
            let message = format!(
                "argument `input3` has shape {:?}, expected as many matrices as `self` of shape {:?}, of {} {what}",
                right.sizes(),
                spec.sizes(),
                stack.rows
            );
            return Err(argument(message));
        }
        column_major(stack.batch, [matrices.rows, matrices.columns], right)
    })
    .same_dtype_out();

/// # Errors
///
/// Factors of another dtype, or more than there are columns for, or for other matrices.
fn check_factors(tau: (&str, &TensorSpec), input: (&str, &TensorSpec), most: i64) -> Result<()> {
    let (found, expected) = (tau.1, input.1);
    if (found.dtype(), found.device().real()) != (expected.dtype(), expected.device().real()) {
        let message = format!(
            "argument `{}` is {} on {}, expected {} on {} as `{}`; convert one of them",
            tau.0,
            found.dtype(),
            found.device(),
            expected.dtype(),
            expected.device(),
            input.0
        );
        return Err(argument(message));
    }
    let batch = &expected.sizes()[..expected.sizes().len() - 2];
    let fits = match found.sizes() {
        _ if most == i64::MAX => true,
        [own @ .., count] => own == batch && *count <= most,
        [] => false,
    };
    if !fits {
        let message = format!(
            "argument `{}` has shape {:?}, expected {batch:?} and up to {most} factors for each matrix of `{}`",
            tau.0,
            found.sizes(),
            input.0
        );
        return Err(argument(message));
    }
    Ok(())
}

pub(super) fn register(library: &mut Library) {
    library.family(&GEQRF).cpu(|input, a, tau| reflections(a.array()?, tau.array()?, input.array()?));
    library
        .family(&LINALG_HOUSEHOLDER_PRODUCT)
        .cpu(|input, tau, out| product_of_reflections(out.array()?, input.array()?, tau.array()?))
        .derivative(|d, (input, tau)| {
            d.together([Some(input), Some(tau)], [Some(input), Some(tau)], |grads, kept, _| {
                let (Some(grad), [Some(input), Some(tau)]) = (grads.for_result(0), kept) else {
                    return Ok([None, None]);
                };
                gradient(grad, input, tau).map(|parts| parts.map(Some))
            })
        });
    library
        .family(&ORMQR)
        .cpu(|input, tau, other, is_left, is_adjoint, out| {
            let equation = Equation { is_left, is_adjoint };
            multiply_by_reflections(out.array()?, [input.array()?, tau.array()?], other.array()?, equation)
        })
        .derivative(|d, (input, tau, other, is_left, is_adjoint)| {
            d.by(other, [input, tau], move |grad, [input, tau]| {
                Ormqr.call(input, tau, grad, is_left, !is_adjoint)
            })?;
            let keep = [Some(input), Some(tau), Some(other)];
            d.together([Some(input), Some(tau)], keep, move |grads, kept, _| {
                let (Some(grad), [Some(input), Some(tau), Some(other)]) = (grads.for_result(0), kept) else {
                    return Ok([None, None]);
                };
                // By the whole of `Q`, or of its adjoint.
                let by_product =
                    if is_left { grad.matmul(&adjoint(other)?)? } else { adjoint(other)?.matmul(grad)? };
                let by_product = if is_adjoint { adjoint(&by_product)? } else { by_product };
                gradient(&by_product, input, tau).map(|parts| parts.map(Some))
            })
        });
    library
        .define_with_forms(Orgqr, &kind::FACTORIZATION)
        .implicit(|input, tau| LinalgHouseholderProduct.call(input, tau));
    library.implement(OrgqrOut).implicit(|input, tau, out| LinalgHouseholderProductOut.call(input, tau, out));
}

/// The gradients of reflections and their factors, by that of the first columns of their product.
fn gradient(grad: &Tensor, input: &Tensor, tau: &Tensor) -> Result<[Tensor; 2]> {
    let count = *tau.sizes().last().unwrap_or(&0);
    let &[.., rows, columns] = input.sizes() else { return Ok([input.mul(0)?, tau.mul(0)?]) };
    // `Q = E - V * T * Wᴴ`, where `W` is the upper part of `V`, as high as there are columns of `Q`.
    let below = Narrow.call(input, -1, 0, count)?.tril(-1)?;
    let v = below.add(&Narrow.call(&identity(input, rows)?, -1, 0, count)?)?;
    let width = *grad.sizes().last().unwrap_or(&0);
    let w = Narrow.call(&v, -2, 0, width)?;
    let factors = diagonal_matrix(tau)?;
    let above = adjoint(&v)?.matmul(&v)?.triu(1)?;
    let triangle = identity(input, count)?.add(&factors.matmul(&above)?)?;
    let t = solve_left(&triangle, Triangle::UPPER.unit(), &factors)?;
    let by_t = adjoint(&v)?.matmul(grad)?.matmul(&w)?.neg()?;
    let by_v = grad.matmul(&w)?.matmul(&adjoint(&t)?)?.neg()?;
    let by_w = adjoint(grad)?.matmul(&v)?.matmul(&t)?.neg()?;
    // Through `T`: what solves with the adjoint of the triangle.
    let solved = solve_left(&adjoint(&triangle)?, Triangle::LOWER.unit(), &by_t)?;
    let by_triangle = solved.matmul(&adjoint(&t)?)?.neg()?;
    let by_factors = solved.add(&by_triangle.matmul(&adjoint(&above)?)?)?;
    let by_above = adjoint(&factors)?.matmul(&by_triangle)?.triu(1)?;
    let by_v = by_v.add(&v.matmul(&by_above.add(&adjoint(&by_above)?)?)?)?;
    let by_w = ConstantPadNd.call(&by_w, &[0, 0, 0, rows - width], Scalar::Int(0))?;
    let by_below = by_v.add(&by_w)?.tril(-1)?;
    let by_input = ConstantPadNd.call(&by_below, &[0, columns - count], Scalar::Int(0))?;
    Ok([by_input, Diagonal.call(&by_factors, 0, -2, -1)?])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{
        Matrix, SHAPES, batch, matrices, matrix_sizes, number, stack_matrices, well_conditioned,
    };
    use num_complex::Complex64;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || generate::numbers(DType::F32, &[2, 2], 0);
        samples
            .operator(
                Geqrf,
                DTYPES,
                |dtype| SHAPES.iter().map(|sizes| given(well_conditioned(dtype, sizes, 1))).collect(),
                |it| {
                    let x = it.tensor("self")?;
                    let sizes = matrix_sizes(x);
                    let all: Vec<(Matrix, Vec<Complex64>)> =
                        matrices(x).iter().map(Matrix::reflections).collect();
                    let tau: Vec<Scalar> =
                        all.iter().flat_map(|(_, tau)| tau).map(|tau| number(x.dtype(), *tau)).collect();
                    let factors: Vec<Matrix> = all.into_iter().map(|(factors, _)| factors).collect();
                    let places = [batch(x), &[sizes[0].min(sizes[1])]].concat();
                    Ok([
                        stack_matrices(x.dtype(), batch(x), sizes, &factors),
                        Plain::from_elements(x.dtype(), &places, &tau),
                    ]
                    .into())
                },
            )
            .tolerance(256.0)
            // What is left of matrices with repeated rows has no direction.
            .needs_distinct()
            .refuses("2 dimensions or more", given(generate::numbers(DType::F32, &[3], 0)));
        samples
            .operator(LinalgHouseholderProduct, DTYPES, inputs, |it| {
                Ok(expected(it.tensor("input")?, it.tensor("tau")?).into())
            })
            .tolerance(256.0)
            .refuses(
                "at least as many rows",
                given(generate::numbers(DType::F32, &[2, 3], 0)).and(generate::numbers(DType::F32, &[2], 0)),
            )
            .refuses("up to 2 factors", given(x()).and(generate::numbers(DType::F32, &[3], 0)))
            .refuses("convert one of them", given(x()).and(generate::numbers(DType::F64, &[2], 0)));
        samples
            .operator(Orgqr, DTYPES, inputs, |it| {
                Ok(expected(it.tensor("self")?, it.tensor("input2")?).into())
            })
            .tolerance(256.0);
        samples
            .operator(Ormqr, DTYPES, multiplied_inputs, |it| {
                let (x, tau, other) = (it.tensor("self")?, it.tensor("input2")?, it.tensor("input3")?);
                let (is_left, is_adjoint): (bool, bool) = (it.value("left")?, it.value("transpose")?);
                let all: Vec<Matrix> = matrices(x)
                    .iter()
                    .zip(matrices(other))
                    .enumerate()
                    .map(|(at, (x, other))| {
                        let q = x.product_of_reflections(&of_matrix(tau, at));
                        let q = if is_adjoint { q.adjoint() } else { q };
                        if is_left { q.times(&other) } else { other.times(&q) }
                    })
                    .collect();
                Ok(stack_matrices(x.dtype(), batch(x), matrix_sizes(other), &all).into())
            })
            .tolerance(256.0)
            .refuses(
                "of 2 rows",
                given(x()).and(generate::numbers(DType::F32, &[2], 0)).and(generate::numbers(
                    DType::F32,
                    &[3, 2],
                    0,
                )),
            );
        samples.rounds(Geqrf, Roundings::all(Rounding::Sum(256)));
        samples.rounds(LinalgHouseholderProduct, Roundings::all(Rounding::Sum(256)));
        samples.rounds(Orgqr, Roundings::all(Rounding::Sum(256)));
        samples.rounds(Ormqr, Roundings::all(Rounding::Sum(256)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64]); 6] = [
            (&[3, 3], &[3]),
            (&[4, 2], &[1]),
            (&[2, 3, 2], &[2, 2]),
            (&[0, 0], &[0]),
            (&[3, 0], &[0]),
            (&[2, 5, 3], &[2, 0]),
        ];
        let one = |(x, tau): &(&[i64], &[i64])| {
            given(generate::numbers(dtype, x, 1)).and(generate::numbers(dtype, tau, 2))
        };
        cases.iter().map(one).collect()
    }

    fn multiplied_inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], &[i64], &[i64]); 4] = [
            (&[3, 3], &[3], &[3, 2]),
            (&[4, 2], &[2], &[4, 1]),
            (&[2, 3, 2], &[2, 1], &[2, 3, 3]),
            (&[3, 0], &[0], &[3, 2]),
        ];
        let one = |(x, tau, other): &(&[i64], &[i64], &[i64])| {
            let mut from_right = other.to_vec();
            from_right.swap(other.len() - 2, other.len() - 1);
            let first = given(generate::numbers(dtype, x, 1)).and(generate::numbers(dtype, tau, 2));
            [
                first.clone().and(generate::numbers(dtype, other, 3)),
                first.clone().and(generate::numbers(dtype, other, 3)).and(true).and(true),
                first.clone().and(generate::numbers(dtype, &from_right, 3)).and(false),
                first.and(generate::numbers(dtype, &from_right, 3)).and(false).and(true),
            ]
        };
        cases.iter().flat_map(one).collect()
    }

    /// The factors of matrix number `at`.
    fn of_matrix(tau: &Plain, at: usize) -> Vec<Complex64> {
        let count = *tau.sizes().last().unwrap_or(&0) as usize;
        tau.elements().iter().skip(at * count).take(count).map(|tau| tau.to_complex()).collect()
    }

    fn expected(x: &Plain, tau: &Plain) -> Plain {
        let [m, n] = matrix_sizes(x);
        let one = |(at, matrix): (usize, &Matrix)| {
            matrix.product_of_reflections(&of_matrix(tau, at)).first(m as usize, n as usize)
        };
        let all: Vec<Matrix> = matrices(x).iter().enumerate().map(one).collect();
        stack_matrices(x.dtype(), batch(x), [m, n], &all)
    }
}
