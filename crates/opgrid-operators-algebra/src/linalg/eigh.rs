//! `aten::_linalg_eigh`, `linalg_eigh`, `linalg_eigvalsh`: eigenvalues and eigenvectors of Hermitian matrices.
//!
//! `A * V = V * diag(L)`, where `Vᴴ * V = 1`
//!
//! - Shapes: square matrices, or batches of them; a value for each column of `V`. Without `compute_v` `V` has no elements.
//! - Dtypes: float32, float64, complex64, complex128; eigenvalues are real.
//! - Values: of `A` the triangle that `UPLO` names is read, and its diagonal as real numbers. Eigenvalues ascend. Each eigenvector may be
//!   multiplied by a number of absolute value 1, and those of equal eigenvalues may be turned: which ones are given is not defined.
//! - Strides: column-major, as in torch.
//! - Dispatch: `linalg_eigh` and `linalg_eigvalsh` are composites of `_linalg_eigh`.
//! - Aliasing: the `out` forms write their outputs.
//! - Errors: other shapes or dtypes, an `UPLO` other than `L` and `U`; elements that are not finite, for which nothing is found.
//! - Derivative: for different eigenvalues; a function of eigenvectors must not depend on the numbers that they may be multiplied by.
//! - Source: torch.linalg.eigh, PyTorch 2.15.

use crate::kinds::matrices::{
    Stack, adjoint, check_converged, column_major, diagonal_matrix, needs_vectors, real, row_major,
};
use crate::prelude::*;
use opgrid_tensor::ops::Diagonal;

pub use opgrid_tensor::ops::linalg::eigh::*;

/// The family of `aten::_linalg_eigh`: its kind, shape rule and `out` rule.
pub const LINALG_EIGH_WITH_OPTION: Family<LinalgEighWithOption> =
    Family::new(LinalgEighWithOption, &kind::FACTORIZATION, |a, uplo, with_vectors| {
        let spec = a.spec()?;
        let stack = Stack::square("A", spec)?;
        is_upper(uplo)?;
        let vectors = if with_vectors {
            column_major(stack.batch, [stack.rows, stack.rows], spec)?
        } else {
            row_major(&[0], spec.dtype(), spec)?
        };
        Ok((row_major(&stack.with(&[stack.rows]), real(spec.dtype()), spec)?, vectors))
    })
    .same_dtype_out();

/// # Errors
///
/// A text other than `L` and `U`, in either case.
fn is_upper(uplo: &str) -> Result<bool> {
    match uplo {
        "L" | "l" => Ok(false),
        "U" | "u" => Ok(true),
        other => Err(argument(format!("argument `UPLO` is `{other}`, expected `L` or `U`"))),
    }
}

pub(super) fn register(library: &mut Library) {
    library
        .family(&LINALG_EIGH_WITH_OPTION)
        .cpu(|a, uplo, _, values, vectors| {
            let found = opgrid_kernels::linalg::eigen_hermitian(
                values.array()?,
                vectors.array()?,
                a.array()?,
                is_upper(uplo)?,
            )?;
            check_converged(found, "linalg.eigh", a)
        })
        .derivative(|d, (a, uplo, with_vectors)| {
            let uplo = uplo.to_owned();
            d.by_all(a, [a, d.result(0), d.result(1)], move |grads, [a, values, vectors]| {
                let (of_values, of_vectors) = (grads.for_result(0), grads.for_result(1));
                if with_vectors {
                    return gradient(of_values, of_vectors, values, vectors);
                }
                let (values, vectors) = LinalgEighWithOption.call(a, &uplo, true)?;
                gradient(of_values, None, &values, &vectors)
            })
        });
    library
        .define_with_forms(LinalgEigh, &kind::FACTORIZATION)
        .implicit(|a, uplo| LinalgEighWithOption.call(a, uplo, true));
    library.implement(LinalgEighEigvals).implicit(|a, uplo, values, vectors| {
        let made = LinalgEighWithOption.call(a, uplo, true)?;
        result::all_copied(&[(values, &made.0), (vectors, &made.1)])
    });
    library
        .define_with_forms(LinalgEigvalsh, &kind::FACTORIZATION)
        .implicit(|a, uplo| Ok(LinalgEighWithOption.call(a, uplo, needs_vectors(a))?.0));
    library
        .implement(LinalgEigvalshOut)
        .implicit(|a, uplo, out| result::copied(out, &LinalgEighWithOption.call(a, uplo, false)?.0));
}

fn gradient(
    of_values: Option<&Tensor>,
    of_vectors: Option<&Tensor>,
    values: &Tensor,
    vectors: &Tensor,
) -> Result<Option<Tensor>> {
    let by_values = of_values.map(|grad| diagonal_matrix(&grad.to_dtype(vectors.dtype())?)).transpose()?;
    let by_vectors = of_vectors
        .map(|grad| {
            // Of a gradient by a Hermitian matrix the Hermitian part counts.
            let inner = adjoint(vectors)?.matmul(grad)?;
            let inner = inner.sub(&adjoint(&inner)?)?.mul(0.5)?;
            // The numbers that each vector may be multiplied by stand on the diagonal.
            let inner = inner.sub(&diagonal_matrix(&Diagonal.call(&inner, 0, -2, -1)?)?)?;
            inner.div(&differences(values)?)
        })
        .transpose()?;
    let Some(inner) = derivatives::sum(by_values, by_vectors)? else { return Ok(None) };
    vectors.matmul(&inner)?.matmul(&adjoint(vectors)?).map(Some)
}

/// How far values are from each other: `values[j] - values[i]`, and 1 on the diagonal.
pub(super) fn differences(values: &Tensor) -> Result<Tensor> {
    let between = values.unsqueeze(-2)?.sub(&values.unsqueeze(-1)?)?;
    let diagonal = Diagonal.call(&between, 0, -2, -1)?;
    between.add(&diagonal_matrix(&diagonal.eq(0)?.to_dtype(values.dtype())?)?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::DTYPES;
    use crate::kinds::matrices::samples::{STACKS, batch, matrices, refuse_others_than_square};
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let nan = || given(Plain::from_elements(DType::F32, &[2, 2], &[1.0, 2.0, f64::NAN, 4.0]));
        let refused = |operator: &mut OperatorSamples| {
            refuse_others_than_square(operator)
                .tolerance(256.0)
                // Gradients go to both triangles, of which one is read: functions of Hermitian matrices are compared elsewhere.
                .constant(&["A", "self"])
                .refuses("expected `L` or `U`", given(generate::numbers(DType::F32, &[2, 2], 0)).and("X"))
                .refuses_data("failed to converge", nan());
        };
        let with_vectors = |dtype| {
            let one = |sample: Sample| [true, false].map(|flag| sample.clone().and(flag));
            inputs(dtype).into_iter().flat_map(one).collect()
        };
        refused(samples.operator(LinalgEighWithOption, DTYPES, with_vectors, |it| {
            let (x, all): (_, bool) = (it.tensor("A")?, it.value("compute_v")?);
            let sizes = if all { x.sizes().to_vec() } else { vec![0] };
            Ok(Expected::Several(vec![expected(it, "A")?.into(), Expected::Shape(sizes, x.dtype())]))
        }));
        refused(samples.operator(LinalgEigh, DTYPES, inputs, |it| {
            let x = it.tensor("self")?;
            let vectors = Expected::Shape(x.sizes().to_vec(), x.dtype());
            Ok(Expected::Several(vec![expected(it, "self")?.into(), vectors]))
        }));
        refused(samples.operator(LinalgEigvalsh, DTYPES, inputs, |it| Ok(expected(it, "self")?.into())));
        samples.rounds(LinalgEighWithOption, Roundings::all(Rounding::Unset));
        samples.rounds(LinalgEigh, Roundings::all(Rounding::Unset));
        samples.rounds(LinalgEigvalsh, Roundings::all(Rounding::Sum(256)));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |sizes: &&[i64]| ["L", "U"].map(|uplo| given(generate::numbers(dtype, sizes, 1)).and(uplo));
        STACKS.iter().flat_map(one).collect()
    }

    fn expected(it: &Inputs, name: &str) -> Result<Plain> {
        let (x, uplo): (_, String) = (it.tensor(name)?, it.value("UPLO")?);
        let one = |matrix: &crate::kinds::matrices::samples::Matrix| {
            matrix.hermitian(uplo == "U").hermitian_eigenvalues()
        };
        let all: Vec<Scalar> = matrices(x).iter().flat_map(one).map(Scalar::Float).collect();
        let sizes = [batch(x), &x.sizes()[x.sizes().len() - 1..]].concat();
        Ok(Plain::from_elements(real(x.dtype()), &sizes, &all))
    }
}
