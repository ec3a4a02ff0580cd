//! `aten::linalg_pinv`, `pinverse`: pseudo-inverses of matrices.
//!
//! `out = V * diag(1 / S) * Uᴴ` of `self = U * diag(S) * Vᴴ`, where singular values up to `max(atol, rtol * the largest one)` count as zero,
//! and their inverses, too
//!
//! - Shapes: matrices, or batches of them, which are transposed; tolerances broadcast to the batch.
//! - Dtypes: float32, float64, complex64, complex128.
//! - Values: `rcond` is an `rtol`. Those that are not given are what `linalg_matrix_rank` has. With `hermitian` eigenvalues stand for singular
//!   values, of which the lower triangle is read.
//! - Dispatch: all others are composites of the overload whose tolerances are tensors, which is made of `linalg_svd` or `linalg_eigh`.
//! - Aliasing: the `out` forms write `out`, converted.
//! - Errors: other shapes or dtypes; complex tolerances.
//! - Derivative: as long as the rank stays (Golub and Pereyra 1973, "The differentiation of pseudo-inverses"). Where singular values count as
//!   zero that are not, by them (Noferini 2017, "A formula for the Fréchet derivative of a generalized matrix function"); torch takes these
//!   for zeros there, too.
//! - Source: torch.linalg.pinv, PyTorch 2.15.

use crate::kinds::matrices::{Stack, adjoint, check_tolerance, default_rtol, threshold, tolerances};
use crate::prelude::*;
use opgrid_tensor::ops::{Diagonal, LinalgEigh, LinalgSvd, WhereScalarOther, WhereSelf};

pub use opgrid_tensor::ops::linalg::pinv::*;

pub(super) fn register(library: &mut Library) {
    let kind = &kind::FACTORIZATION;
    library
        .define_with_forms(LinalgPinvAtolRtolTensor, kind)
        .composite(|a, atol, rtol, is_hermitian| invert(a, [atol, rtol], is_hermitian))
        .derivative(|d, (a, ..)| d.by(a, [a, d.result(0)], |grad, [a, inverse]| gradient(grad, a, inverse)));
    library.implement(LinalgPinvAtolRtolTensorOut).composite(|a, atol, rtol, is_hermitian, out| {
        result::converted(&[(out, &invert(a, [atol, rtol], is_hermitian)?)])
    });
    library.define_with_forms(LinalgPinvAtolRtolFloat, kind).implicit(by_numbers);
    library.implement(LinalgPinvAtolRtolFloatOut).implicit(|a, atol, rtol, is_hermitian, out| {
        result::converted(&[(out, &by_numbers(a, atol, rtol, is_hermitian)?)])
    });
    library.define_with_forms(LinalgPinv, kind).implicit(by_part);
    library.implement(LinalgPinvOut).implicit(|a, rcond, is_hermitian, out| {
        result::converted(&[(out, &by_part(a, rcond, is_hermitian)?)])
    });
    library.define_with_forms(LinalgPinvRcondTensor, kind).implicit(by_part_of_each);
    library.implement(LinalgPinvOutRcondTensor).implicit(|a, rcond, is_hermitian, out| {
        result::converted(&[(out, &by_part_of_each(a, rcond, is_hermitian)?)])
    });
    library.define_with_forms(Pinverse, kind).implicit(|a, rcond| by_part(a, rcond, false));
}

fn by_part(a: &Tensor, rcond: f64, is_hermitian: bool) -> Result<Tensor> {
    by_numbers(a, Some(0.0), Some(rcond), is_hermitian)
}

fn by_part_of_each(a: &Tensor, rcond: &Tensor, is_hermitian: bool) -> Result<Tensor> {
    let [atol, _] = tolerances(a, [Some(0.0), None])?;
    LinalgPinvAtolRtolTensor.call(a, atol.as_ref(), Some(rcond), is_hermitian)
}

fn by_numbers(a: &Tensor, atol: Option<f64>, rtol: Option<f64>, is_hermitian: bool) -> Result<Tensor> {
    let [atol, rtol] = tolerances(a, [atol, rtol])?;
    LinalgPinvAtolRtolTensor.call(a, atol.as_ref(), rtol.as_ref(), is_hermitian)
}

fn invert(a: &Tensor, given: [Option<&Tensor>; 2], is_hermitian: bool) -> Result<Tensor> {
    let spec = a.spec()?;
    let stack = if is_hermitian { Stack::square("self", spec)? } else { Stack::new("self", spec)? };
    given.iter().flatten().try_for_each(|tolerance| check_tolerance(tolerance))?;
    if a.numel() == 0 {
        return derivatives::zeros_of(&stack.with(&[stack.columns, stack.rows]), a);
    }
    let (left, values, right) = if is_hermitian {
        let (values, vectors) = LinalgEigh.call(a, "L")?;
        (vectors.clone(), values, vectors)
    } else {
        let (u, values, vh) = LinalgSvd.call(a, false, None)?;
        (adjoint(&vh)?, values, u)
    };
    let sizes = values.abs()?;
    let threshold = threshold(a, given, &sizes.amax([-1], true)?)?;
    let inverses = WhereScalarOther.call(&sizes.gt(&threshold)?, &values.reciprocal()?, Scalar::Int(0))?;
    left.mul(&inverses.to_dtype(a.dtype())?.unsqueeze(-2)?)?.matmul(&adjoint(&right)?)
}

/// The gradient of matrices whose rank stays, by that of their pseudo-inverses.
///
/// # Errors
///
/// Those of the operators that it calls.
pub(super) fn gradient(grad: &Tensor, a: &Tensor, inverse: &Tensor) -> Result<Tensor> {
    if a.numel() == 0 {
        return a.mul(0);
    }
    if drops_values(a, inverse)? {
        return gradient_by_values(&adjoint(grad)?, a, inverse);
    }
    let (turned, inverse_turned) = (adjoint(grad)?, adjoint(inverse)?);
    let by_inverse = inverse_turned.matmul(grad)?.matmul(&inverse_turned)?;
    // What lies outside of the columns of `a`, and outside of its rows.
    let from_left = turned.matmul(inverse)?.matmul(&inverse_turned)?;
    let outside_columns = from_left.sub(&a.matmul(&inverse.matmul(&from_left)?)?)?;
    let from_right = inverse_turned.matmul(&inverse.matmul(&turned)?)?;
    let outside_rows = from_right.sub(&from_right.matmul(inverse)?.matmul(a)?)?;
    outside_columns.add(&outside_rows)?.sub(&by_inverse)
}

/// Whether a pseudo-inverse leaves out more of a matrix than rounding does. That of tensors without data may.
fn drops_values(a: &Tensor, inverse: &Tensor) -> Result<bool> {
    let lost = a.sub(&a.matmul(inverse)?.matmul(a)?)?.abs()?;
    if lost.array().is_err() || lost.device() != Device::CPU {
        return Ok(true);
    }
    let bound = a.abs()?.amax([-2, -1], true)?.mul(64.0 * default_rtol(a)?)?;
    Ok(lost.gt(&bound)?.any()?.to_vec::<Bool>()? == [Bool::TRUE])
}

/// The gradient, by singular values and what became of each. `turned` is the conjugate transpose of that of the pseudo-inverse.
fn gradient_by_values(turned: &Tensor, a: &Tensor, inverse: &Tensor) -> Result<Tensor> {
    let (u, s, vh) = LinalgSvd.call(a, false, None)?;
    let (v, uh) = (adjoint(&vh)?, adjoint(&u)?);
    // The product of a value with what it became is 1 or 0.
    let became = Diagonal.call(&vh.matmul(inverse)?.matmul(&u)?, 0, -2, -1)?.abs()?;
    let keeps = became.mul(&s)?.gt(0.5)?;
    let w = WhereScalarOther.call(&keeps, &s.reciprocal()?, Scalar::Int(0))?;
    let (row, column) = (|x: &Tensor| x.unsqueeze(-2), |x: &Tensor| x.unsqueeze(-1));
    let is_mixed = column(&keeps)?.logical_xor(&row(&keeps)?)?;
    let both = column(&w)?.mul(&row(&w)?)?;
    // Quotients of differences and of sums, of pairs of which one value is kept.
    let quotient = |of_w: &Tensor, of_s: &Tensor| {
        let quotient = of_w.div(&WhereSelf.call(&is_mixed, of_s, &of_s.mul(0)?.add(1)?)?)?;
        WhereScalarOther.call(&is_mixed, &quotient, Scalar::Int(0))
    };
    let differences = quotient(&column(&w)?.sub(&row(&w)?)?, &column(&s)?.sub(&row(&s)?)?)?.sub(&both)?;
    let sums = quotient(&column(&w)?.add(&row(&w)?)?, &column(&s)?.add(&row(&s)?)?)?.add(&both)?;
    let inner = uh.matmul(turned)?.matmul(&v)?;
    let other = adjoint(&inner)?;
    let within = inner.add(&other)?.mul(&differences)?.add(&inner.sub(&other)?.mul(&sums)?)?.mul(0.5)?;
    let squares = w.mul(&w)?.to_dtype(a.dtype())?;
    // What lies outside of the columns of `u`, and of those of `v`.
    let left = turned.matmul(&v)?;
    let outside_columns = left.sub(&u.matmul(&inner)?)?.mul(&row(&squares)?)?.matmul(&vh)?;
    let right = uh.matmul(turned)?;
    let outside_rows = u.matmul(&right.sub(&inner.matmul(&vh)?)?.mul(&column(&squares)?)?)?;
    u.matmul(&within)?.matmul(&vh)?.add(&outside_columns)?.add(&outside_rows)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::matrices::samples::{
        Matrix, batch, matrices, matrix_sizes, positive_definite, refuse_others, stack_matrices,
        well_conditioned,
    };
    use crate::kinds::matrices::{DTYPES, real};
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let accurate = |operator: &mut OperatorSamples| {
            // Matrices with repeated rows have a lower rank.
            operator.tolerance(256.0).needs_distinct();
        };
        let by_part = |dtype| {
            let hermitian = given(positive_definite(dtype, &[2, 3, 3])).and(PART).and(true);
            with(dtype, |sample, _| sample.and(PART)).into_iter().chain([hermitian]).collect()
        };
        let operator = samples.operator(LinalgPinv, DTYPES, by_part, reference);
        // Gradients of Hermitian matrices go to both triangles, of which one is read.
        accurate(operator.constant(&["self"]));
        accurate(samples.operator(
            LinalgPinvRcondTensor,
            DTYPES,
            |dtype| with(dtype, |sample, dtype| sample.and(Plain::number(real(dtype), PART))),
            reference,
        ));
        accurate(
            samples
                .operator(
                    LinalgPinvAtolRtolTensor,
                    DTYPES,
                    |dtype| {
                        with(dtype, |sample, dtype| sample.named("atol", Plain::number(real(dtype), PART)))
                    },
                    reference,
                )
                .refuses(
                    "expected real numbers",
                    given(generate::numbers(DType::F32, &[2, 2], 0))
                        .named("rtol", generate::numbers(DType::Complex64, &[], 0)),
                ),
        );
        let by_numbers = samples.operator(
            LinalgPinvAtolRtolFloat,
            DTYPES,
            |dtype| with(dtype, |sample, _| sample),
            reference,
        );
        accurate(refuse_others(by_numbers).refuses(
            "square ones",
            given(generate::numbers(DType::F32, &[2, 3], 0)).named("hermitian", true),
        ));
        let pinverse = samples.operator(Pinverse, DTYPES, |dtype| with(dtype, |sample, _| sample), reference);
        accurate(refuse_others(pinverse));
        samples.rounds(LinalgPinv, Roundings::all(Rounding::Sum(256)));
        samples.rounds(Pinverse, Roundings::all(Rounding::Sum(256)));
    }

    const PART: f64 = 1e-3;

    /// Matrices of full rank.
    pub(crate) fn full_rank(dtype: DType) -> Vec<Plain> {
        let shapes: [&[i64]; 6] = [&[3, 3], &[2, 4, 2], &[0, 0], &[3, 0], &[0, 2, 2], &[1, 5, 3]];
        let tall = shapes.iter().map(|sizes| well_conditioned(dtype, sizes, 1));
        tall.flat_map(|x| [turned(&x), x]).collect()
    }

    /// The conjugate transposes of matrices.
    fn turned(x: &Plain) -> Plain {
        let [rows, columns] = matrix_sizes(x);
        let all: Vec<Matrix> = matrices(x).iter().map(Matrix::adjoint).collect();
        stack_matrices(x.dtype(), batch(x), [columns, rows], &all)
    }

    fn with(dtype: DType, more: impl Fn(Sample, DType) -> Sample) -> Vec<Sample> {
        full_rank(dtype).into_iter().map(|x| more(given(x), dtype)).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        Ok(pseudo_inverse(it.tensor("self")?).into())
    }

    /// Pseudo-inverses of matrices of full rank, by the equations of least squares.
    pub(crate) fn pseudo_inverse(x: &Plain) -> Plain {
        let [rows, columns] = matrix_sizes(x);
        let one = |matrix: &Matrix| {
            let turned = matrix.adjoint();
            if matrix.rows >= matrix.columns {
                turned.times(matrix).solve(&turned)
            } else {
                matrix.times(&turned).solve(matrix).adjoint()
            }
        };
        let all: Vec<Matrix> = matrices(x).iter().map(one).collect();
        stack_matrices(x.dtype(), batch(x), [columns, rows], &all)
    }
}
