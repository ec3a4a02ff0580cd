//! `aten::linalg_matrix_rank`: how many singular values of matrices are not lost in rounding.
//!
//! `out = the number of singular values above max(atol, rtol * the largest one)`
//!
//! - Shapes: matrices, or batches of them, with a number for each; tolerances broadcast to the batch.
//! - Dtypes: float32, float64, complex64, complex128; the result is int64.
//! - Values: with `hermitian` the absolute values of eigenvalues, of which the lower triangle is read. `rtol` is the distance of 1 to the next
//!   number of the dtype, times the larger size, or zero where an `atol` is given. The rank of a matrix without elements is zero.
//! - Dispatch: composites of `linalg_svdvals` or `linalg_eigvalsh`, comparisons and `sum`.
//! - Aliasing: the `out` forms write `out`, converted.
//! - Errors: other shapes or dtypes; complex tolerances.
//! - Source: torch.linalg.matrix_rank, PyTorch 2.15.

use crate::kinds::matrices::{Stack, threshold, tolerances};
use crate::prelude::*;
use opgrid_tensor::ops::{LinalgEigvalsh, LinalgSvdvals};

pub use opgrid_tensor::ops::linalg::matrix_rank::*;

pub(super) fn register(library: &mut Library) {
    let kind = &kind::FACTORIZATION;
    library.define_with_forms(LinalgMatrixRank, kind).implicit(above);
    library
        .implement(LinalgMatrixRankOut)
        .implicit(|a, tol, hermitian, out| result::converted(&[(out, &above(a, tol, hermitian)?)]));
    library.define_with_forms(LinalgMatrixRankTolTensor, kind).implicit(above_each);
    library
        .implement(LinalgMatrixRankOutTolTensor)
        .implicit(|a, tol, hermitian, out| result::converted(&[(out, &above_each(a, tol, hermitian)?)]));
    library
        .define_with_forms(LinalgMatrixRankAtolRtolTensor, kind)
        .implicit(|a, atol, rtol, hermitian| rank(a, [atol, rtol], hermitian));
    library.implement(LinalgMatrixRankAtolRtolTensorOut).implicit(|a, atol, rtol, hermitian, out| {
        result::converted(&[(out, &rank(a, [atol, rtol], hermitian)?)])
    });
    library.define_with_forms(LinalgMatrixRankAtolRtolFloat, kind).implicit(by_numbers);
    library.implement(LinalgMatrixRankAtolRtolFloatOut).implicit(|a, atol, rtol, hermitian, out| {
        result::converted(&[(out, &by_numbers(a, atol, rtol, hermitian)?)])
    });
}

fn above(a: &Tensor, tol: f64, is_hermitian: bool) -> Result<Tensor> {
    by_numbers(a, Some(tol), Some(0.0), is_hermitian)
}

fn above_each(a: &Tensor, tol: &Tensor, is_hermitian: bool) -> Result<Tensor> {
    let [_, rtol] = tolerances(a, [None, Some(0.0)])?;
    rank(a, [Some(tol), rtol.as_ref()], is_hermitian)
}

fn by_numbers(a: &Tensor, atol: Option<f64>, rtol: Option<f64>, is_hermitian: bool) -> Result<Tensor> {
    let [atol, rtol] = tolerances(a, [atol, rtol])?;
    rank(a, [atol.as_ref(), rtol.as_ref()], is_hermitian)
}

fn rank(a: &Tensor, given: [Option<&Tensor>; 2], is_hermitian: bool) -> Result<Tensor> {
    let spec = a.spec()?;
    let stack = if is_hermitian { Stack::square("self", spec)? } else { Stack::new("self", spec)? };
    if a.numel() == 0 {
        return derivatives::zeros_of(stack.batch, a)?.to_dtype(DType::I64);
    }
    let values =
        if is_hermitian { LinalgEigvalsh.call(a, "L")?.abs()? } else { LinalgSvdvals.call(a, None)? };
    let threshold = threshold(a, given, &values.amax([-1], true)?)?;
    values.gt(&threshold)?.sum_dim([-1], false)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::samples::{Matrix, batch, matrices, positive_definite, refuse_others};
    use crate::kinds::matrices::{DTYPES, real};
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    /// Shapes of matrices, none without rows or columns.
    const SHAPES: [&[i64]; 5] = [&[3, 3], &[2, 4, 2], &[2, 4], &[0, 2, 2], &[1, 5, 3]];

    pub(crate) fn collect(samples: &mut Samples) {
        let refused = |operator: &mut OperatorSamples, more: fn(Sample) -> Sample| {
            let of = |sizes: &[i64]| more(given(generate::numbers(DType::F32, sizes, 0)));
            operator
                .refuses("2 dimensions or more", of(&[3]))
                .refuses("square ones", of(&[2, 3]).named("hermitian", true));
        };
        let by_number = samples.operator(
            LinalgMatrixRank,
            DTYPES,
            |dtype| with(dtype, |sample, _| sample.and(TOLERANCE)),
            |it| reference(it, "self", [Some(TOLERANCE), Some(0.0)]),
        );
        refused(by_number, |sample| sample.and(1.0));
        samples.operator(
            LinalgMatrixRankTolTensor,
            DTYPES,
            |dtype| with(dtype, |sample, dtype| sample.and(Plain::number(real(dtype), TOLERANCE))),
            |it| reference(it, "input", [Some(TOLERANCE), Some(0.0)]),
        );
        samples
            .operator(
                LinalgMatrixRankAtolRtolTensor,
                DTYPES,
                |dtype| with(dtype, |sample, dtype| sample.named("rtol", Plain::number(real(dtype), PART))),
                |it| reference(it, "input", [None, Some(PART)]),
            )
            .refuses(
                "expected real numbers",
                given(generate::numbers(DType::F32, &[2, 2], 0))
                    .named("atol", generate::numbers(DType::Complex64, &[], 0)),
            );
        let by_numbers = samples.operator(
            LinalgMatrixRankAtolRtolFloat,
            DTYPES,
            |dtype| with(dtype, |sample, _| sample.named("atol", TOLERANCE).named("rtol", PART)),
            |it| reference(it, "self", [Some(TOLERANCE), Some(PART)]),
        );
        refuse_others(by_numbers);
    }

    const TOLERANCE: f64 = 2.5;
    const PART: f64 = 0.375;

    fn with(dtype: DType, more: impl Fn(Sample, DType) -> Sample) -> Vec<Sample> {
        let general = SHAPES.iter().map(|sizes| given(generate::numbers(dtype, sizes, 1)));
        let hermitian = given(positive_definite(dtype, &[2, 3, 3]));
        let hermitian = more(hermitian, dtype).named("hermitian", true);
        general.map(|sample| more(sample, dtype)).chain([hermitian]).collect()
    }

    fn reference(it: &Inputs, name: &str, [atol, rtol]: [Option<f64>; 2]) -> Result<Expected> {
        let x = it.tensor(name)?;
        let is_hermitian: bool = it.value("hermitian")?;
        let count = |matrix: &Matrix| {
            let values: Vec<f64> = if is_hermitian {
                matrix.hermitian(false).hermitian_eigenvalues().iter().map(|value| value.abs()).collect()
            } else {
                matrix.singular_values()
            };
            let largest = values.iter().copied().fold(0.0, f64::max);
            let least = atol.unwrap_or(0.0).max(rtol.unwrap_or(0.0) * largest);
            Scalar::Int(values.iter().filter(|value| **value > least).count() as i64)
        };
        let all: Vec<Scalar> = matrices(x).iter().map(count).collect();
        Ok(Plain::from_elements(DType::I64, batch(x), &all).into())
    }
}
