//! `aten::_linalg_svd`, `linalg_svd`, `linalg_svdvals`, `svd`: singular values and vectors.
//!
//! `A = U * diag(S) * Vᴴ`, where `Uᴴ * U = 1` and `Vᴴ * V = 1`
//!
//! - Shapes: of `[.., m, n]` with `k = min(m, n)`: `S` `[.., k]`; `U` `[.., m, k]` and `Vh` `[.., k, n]`, or `[.., m, m]` and `[.., n, n]` with
//!   `full_matrices`; no elements of both without `compute_uv`. `svd` gives `V` instead, and zeros without `compute_uv`.
//! - Dtypes: float32, float64, complex64, complex128; singular values are real.
//! - Values: singular values descend. The vectors that belong to one may be multiplied by a number of absolute value 1, and those of equal
//!   values may be turned: which ones are given is not defined.
//! - Strides: column-major, as in torch.
//! - Dispatch: all others are composites of `_linalg_svd`.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: other shapes or dtypes; a `driver`, which torch has on CUDA only; elements that are not finite.
//! - Derivative: for different singular values; a function of the vectors must not depend on the numbers that they may be multiplied by.
//!   Gradients of vectors beyond the singular values are left out, because these may be any basis of what the others leave.
//! - Source: torch.linalg.svd, PyTorch 2.15.

use super::eigh::differences;
use crate::kinds::matrices::{
    Stack, adjoint, check_converged, column_major, diagonal_matrix, needs_vectors, real, row_major,
};
use crate::prelude::*;
use opgrid_tensor::ops::{ComplexParts, Diagonal, Imag};

pub use opgrid_tensor::ops::linalg::svd::*;

/// The family of `aten::_linalg_svd`: its kind, shape rule and `out` rule.
pub const LINALG_SVD_WITH_OPTIONS: Family<LinalgSvdWithOptions> =
    Family::new(LinalgSvdWithOptions, &kind::FACTORIZATION, |a, is_full, with_vectors, driver| {
        let spec = a.spec()?;
        let stack = Stack::new("A", spec)?;
        if let Some(driver) = driver {
            let message = format!("argument `driver` is `{driver}`, expected None: drivers are for CUDA");
            return Err(argument(message));
        }
        let (m, n, k) = (stack.rows, stack.columns, stack.least());
        let values = row_major(&stack.with(&[k]), real(spec.dtype()), spec)?;
        if !with_vectors {
            let none = row_major(&[0], spec.dtype(), spec)?;
            return Ok((none.clone(), values, none));
        }
        let (wide, high) = if is_full { (m, n) } else { (k, k) };
        Ok((column_major(stack.batch, [m, wide], spec)?, values, column_major(stack.batch, [high, n], spec)?))
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_SVD_WITH_OPTIONS)
        .cpu(|a, _, with_vectors, _, u, s, vh| {
            let outs = [u.array()?, s.array()?, vh.array()?];
            let found = opgrid_kernels::linalg::svd(outs, a.array()?, with_vectors)?;
            check_converged(found, "linalg.svd", a)
        })
        .derivative(|d, (a, _, with_vectors, _)| {
            let [.., m, n] = *a.sizes() else { return Ok(()) };
            d.by_all(a, [a, d.result(0), d.result(1), d.result(2)], move |grads, [a, u, s, vh]| {
                if !with_vectors {
                    let (u, _, vh) = LinalgSvdWithOptions.call(a, false, true, None)?;
                    return gradient([None, grads.for_result(1), None], &u, s, &vh);
                }
                let first = |of: &Tensor, dim| of.narrow(dim, 0, m.min(n));
                let of_u = grads.for_result(0).map(|grad| first(grad, -1)).transpose()?;
                let of_vh = grads.for_result(2).map(|grad| first(grad, -2)).transpose()?;
                let all = [of_u.as_ref(), grads.for_result(1), of_vh.as_ref()];
                gradient(all, &first(u, -1)?, s, &first(vh, -2)?)
            })
        });
    library
        .define_with_forms(LinalgSvd, &kind::FACTORIZATION)
        .implicit(|a, is_full, driver| LinalgSvdWithOptions.call(a, is_full, true, driver));
    library.implement(LinalgSvdU).implicit(|a, is_full, driver, u, s, vh| {
        let made = LinalgSvdWithOptions.call(a, is_full, true, driver)?;
        result::all_copied(&[(u, &made.0), (s, &made.1), (vh, &made.2)])
    });
    library
        .define_with_forms(LinalgSvdvals, &kind::FACTORIZATION)
        .implicit(|a, driver| Ok(LinalgSvdWithOptions.call(a, false, needs_vectors(a), driver)?.1));
    library.implement(LinalgSvdvalsOut).implicit(|a, driver, out| {
        result::copied(out, &LinalgSvdWithOptions.call(a, false, false, driver)?.1)
    });
    library.define_with_forms(Svd, &kind::FACTORIZATION).implicit(svd_with_v);
    library.implement(SvdU).implicit(|a, is_reduced, with_vectors, u, s, v| {
        let made = svd_with_v(a, is_reduced, with_vectors)?;
        result::all_copied(&[(u, &made.0), (s, &made.1), (v, &made.2)])
    });
}

fn svd_with_v(a: &Tensor, is_reduced: bool, with_vectors: bool) -> Result<(Tensor, Tensor, Tensor)> {
    if with_vectors {
        let (u, s, vh) = LinalgSvdWithOptions.call(a, !is_reduced, true, None)?;
        return Ok((u, s, adjoint(&vh)?));
    }
    let s = LinalgSvdWithOptions.call(a, false, false, None)?.1;
    let stack = Stack::new("self", a.spec()?)?;
    let zeros = |n: i64| derivatives::zeros_of(&stack.with(&[n, n]), a);
    Ok((zeros(stack.rows)?, s, zeros(stack.columns)?))
}

fn gradient(
    [of_u, of_s, of_vh]: [Option<&Tensor>; 3],
    u: &Tensor,
    s: &Tensor,
    vh: &Tensor,
) -> Result<Option<Tensor>> {
    let by_values = of_s.map(|grad| diagonal_matrix(&grad.to_dtype(u.dtype())?)).transpose()?;
    if of_u.is_none() && of_vh.is_none() {
        return by_values.map(|inner| u.matmul(&inner)?.matmul(vh)).transpose();
    }
    let is_complex = u.dtype().is_complex();
    let skew = |x: &Tensor| x.sub(&adjoint(x)?);
    let [m, n] = [u.sizes()[u.dim() - 2], *vh.sizes().last().unwrap_or(&0)];
    let k = *s.sizes().last().unwrap_or(&0);
    // How far squares are from each other.
    let squares = s.mul(s)?;
    let between = differences(&squares)?;
    let inner_u = of_u.map(|grad| adjoint(u)?.matmul(grad)).transpose()?;
    let inner_v = of_vh.map(|grad| vh.matmul(&adjoint(grad)?)).transpose()?;
    let row = s.unsqueeze(-2)?;
    let column = s.unsqueeze(-1)?;
    let part_u = inner_u.as_ref().map(|x| skew(x)?.div(&between)?.mul(&row)).transpose()?;
    let part_v = inner_v.as_ref().map(|x| skew(x)?.div(&between)?.mul(&column)).transpose()?;
    let Some(mut inner) = derivatives::sum(part_u, part_v)? else { return Ok(None) };
    if is_complex && let Some(x) = &inner_u {
        // The numbers that pairs of vectors may be multiplied by.
        let turn = Imag.call(&Diagonal.call(x, 0, -2, -1)?)?.div(s)?;
        let turn = ComplexParts.call(&turn.mul(0)?, &turn)?;
        inner = inner.add(&diagonal_matrix(&turn)?)?;
    }
    if let Some(by_values) = by_values {
        inner = inner.add(&by_values)?;
    }
    let mut all = u.matmul(&inner)?.matmul(vh)?;
    if m > k
        && let (Some(grad), Some(x)) = (of_u, &inner_u)
    {
        let outside = grad.sub(&u.matmul(x)?)?.div(&row)?;
        all = all.add(&outside.matmul(vh)?)?;
    }
    if n > k
        && let (Some(grad), Some(x)) = (of_vh, &inner_v)
    {
        let outside = grad.sub(&adjoint(x)?.matmul(vh)?)?.div(&column)?;
        all = all.add(&u.matmul(&outside)?)?;
    }
    Ok(Some(all))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{Matrix, SHAPES, batch, matrices, matrix_sizes, refuse_others};
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let nan = || given(Plain::from_elements(DType::F32, &[2, 2], &[1.0, 2.0, f64::NAN, 4.0]));
        let refused = |operator: &mut OperatorSamples| {
            refuse_others(operator)
                .tolerance(256.0)
                // Which vectors are given is not defined: gradients of what does not depend on that are compared elsewhere.
                .constant(&["U", "Vh", "V"])
                .refuses_data("non-finite values", nan());
        };
        let x = || given(generate::numbers(DType::F32, &[2, 2], 0));
        let options = |dtype| {
            let flags = [(false, true), (true, true), (false, false)];
            let one = |sample: Sample| flags.map(|(full, vectors)| sample.clone().and(full).and(vectors));
            inputs(dtype).into_iter().flat_map(one).collect()
        };
        refused(
            samples
                .operator(LinalgSvdWithOptions, DTYPES, options, |it| {
                    let with_vectors = it.value("compute_uv")?;
                    Ok(expected(it.tensor("A")?, it.value("full_matrices")?, with_vectors))
                })
                .refuses("drivers are for CUDA", x().named("driver", "gesvd")),
        );
        let full = |dtype| {
            let one = |sample: Sample| [true, false].map(|full| sample.clone().and(full));
            inputs(dtype).into_iter().flat_map(one).collect()
        };
        refused(samples.operator(LinalgSvd, DTYPES, full, |it| {
            Ok(expected(it.tensor("A")?, it.value("full_matrices")?, true))
        }));
        refused(samples.operator(LinalgSvdvals, DTYPES, inputs, |it| Ok(values(it.tensor("A")?).into())));
        refused(samples.operator(
            Svd,
            DTYPES,
            |dtype| {
                let flags = [(true, true), (false, true), (true, false)];
                let one = |sample: Sample| flags.map(|(some, vectors)| sample.clone().and(some).and(vectors));
                inputs(dtype).into_iter().flat_map(one).collect()
            },
            |it| {
                let (x, some): (_, bool) = (it.tensor("self")?, it.value("some")?);
                let [m, n] = matrix_sizes(x);
                let with_vectors: bool = it.value("compute_uv")?;
                let shape = |rows, columns| [batch(x), &[rows, columns]].concat();
                if !with_vectors {
                    let zeros = |n| Plain::from_fn(x.dtype(), &shape(n, n), |_| Scalar::Int(0));
                    return Ok([zeros(m), values(x), zeros(n)].into());
                }
                let (wide, high) = if some { (m.min(n), m.min(n)) } else { (m, n) };
                let of = |sizes| Expected::Shape(sizes, x.dtype());
                Ok(Expected::Several(vec![of(shape(m, wide)), values(x).into(), of(shape(n, high))]))
            },
        ));
        samples.rounds(LinalgSvdWithOptions, Roundings::all(Rounding::Unset));
        samples.rounds(LinalgSvd, Roundings::all(Rounding::Unset));
        samples.rounds(LinalgSvdvals, Roundings::all(Rounding::Sum(256)));
        samples.rounds(Svd, Roundings::all(Rounding::Unset));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        SHAPES.iter().map(|sizes| given(generate::numbers(dtype, sizes, 1))).collect()
    }

    fn values(x: &Plain) -> Plain {
        let [m, n] = matrix_sizes(x);
        let all: Vec<Scalar> =
            matrices(x).iter().flat_map(Matrix::singular_values).map(Scalar::Float).collect();
        Plain::from_elements(real(x.dtype()), &[batch(x), &[m.min(n)]].concat(), &all)
    }

    fn expected(x: &Plain, is_full: bool, with_vectors: bool) -> Expected {
        let [m, n] = matrix_sizes(x);
        let (wide, high) = if is_full { (m, n) } else { (m.min(n), m.min(n)) };
        let of = |rows, columns| {
            let sizes = if with_vectors { [batch(x), &[rows, columns]].concat() } else { vec![0] };
            Expected::Shape(sizes, x.dtype())
        };
        Expected::Several(vec![of(m, wide), values(x).into(), of(high, n)])
    }
}
