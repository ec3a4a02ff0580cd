//! `aten::fft_fft`, `fft_ifft`, `fft_rfft`, `fft_irfft`: Fourier transforms along one dimension.
//!
//! | operator | of | to | direction |
//! |---|---|---|---|
//! | `fft`, `ifft` | numbers | complex numbers | forward, backward |
//! | `rfft` | real numbers | the first half of complex ones | forward |
//! | `irfft` | the first half of complex numbers | real ones | backward |
//!
//! - Shapes: `n` elements are transformed, of which those that are missing are zero; without `n` those that are there. Of
//!   halves `n` is the number of results, `2 * (size - 1)` unless it is given.
//! - Norm: `backward` divides by `n` what is transformed backward, `forward` the others, `ortho` all by the root of `n`.
//! - Dtypes: of 32 and 64 bits; integers and bools become the default dtype.
//! - Aliasing: the `out` forms write `out`, converting results to other dtypes of their kind.
//! - Dispatch: composites of `_fft_c2c`, `_fft_r2c` and `_fft_c2r`.
//! - Errors: a dimension out of range; `n` below 1; another norm; complex numbers where real ones are transformed.
//! - Source: torch.fft.fft and the like, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::fourier::Direction;
use opgrid_kinds::fourier::{as_complex, as_real, check_points, normalisation, resized};
use opgrid_tensor::ops::{FftC2c, FftC2r, FftR2c};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::fourier::fft::*;

/// Registers an operator, whose `out` form copies the result: of which inputs in rows, `$in_rows` says.
macro_rules! transform {
    ($library:ident, $operator:ident, $out:ident, $in_rows:expr, $kernel:expr) => {
        $library.define_with_forms($operator, &kind::FOURIER).implicit($kernel);
        $library.implement($out).implicit(|input, n, dim, norm, out| {
            write(out, &$operator.call(input, n, dim, norm)?, $in_rows(input))
        });
    };
}
pub(super) use transform;

pub(super) fn register(library: &mut Library) {
    transform!(library, FftFft, FftFftOut, always, |x, n, dim, norm| {
        of_numbers(x, n, dim, norm, Direction::Forward)
    });
    transform!(library, FftIfft, FftIfftOut, |x: &Tensor| x.dtype().is_complex(), |x, n, dim, norm| {
        of_numbers(x, n, dim, norm, Direction::Backward)
    });
    transform!(library, FftRfft, FftRfftOut, always, |x, n, dim, norm| {
        of_real(x, n, dim, norm, Direction::Forward)
    });
    transform!(library, FftIrfft, FftIrfftOut, always, |x, n, dim, norm| {
        to_real(x, n, dim, norm, Direction::Backward, Ok)
    });
}

/// Accepts every input.
pub(super) fn always(_input: &Tensor) -> bool {
    true
}

/// Writes a result to an output of any dtype of its kind: complex numbers, or real ones. One without elements gets the strides of
/// the result, or is row-major.
///
/// # Errors
///
/// An output of another kind of dtype; those of [`result::converted`].
pub(super) fn write(out: &Tensor, result: &Tensor, in_rows: bool) -> Result<()> {
    let (found, made) = (out.spec()?.dtype(), result.spec()?.dtype());
    if found.is_complex() != made.is_complex() {
        return Err(argument(format!(
            "argument `out` has dtype {found}, expected a dtype of the same category as {made}"
        )));
    }
    if in_rows && out.numel() == 0 {
        result::converted(&[(out, &result.contiguous()?)])
    } else {
        result::converted(&[(out, result)])
    }
}

fn of_numbers(
    input: &Tensor,
    n: Option<i64>,
    dim: i64,
    norm: Option<&str>,
    direction: Direction,
) -> Result<Tensor> {
    let dim = dimension(input, dim)?;
    let norm = normalisation(norm, direction)?;
    let is_real = direction == Direction::Forward && !input.dtype().is_complex();
    let input = if is_real { as_real("fft_fft", input)? } else { as_complex(input)? };
    let input = resized(&input, dim, n.unwrap_or(input.sizes()[dim]))?;
    if is_real {
        FftR2c.call(&input, &[dim as i64], norm, false)
    } else {
        FftC2c.call(&input, &[dim as i64], norm, direction == Direction::Forward)
    }
}

/// The first half of the transform of real numbers, always forward: `direction` says which norm there is.
pub(super) fn of_real(
    input: &Tensor,
    n: Option<i64>,
    dim: i64,
    norm: Option<&str>,
    direction: Direction,
) -> Result<Tensor> {
    let dim = dimension(input, dim)?;
    let norm = normalisation(norm, direction)?;
    let input = as_real("fft_fft or fft_ifft", input)?;
    let input = resized(&input, dim, n.unwrap_or(input.sizes()[dim]))?;
    FftR2c.call(&input, &[dim as i64], norm, true)
}

/// The transform of the first half of numbers to real ones, always backward: `direction` says which norm there is, and `change`
/// changes the half before.
pub(super) fn to_real(
    input: &Tensor,
    n: Option<i64>,
    dim: i64,
    norm: Option<&str>,
    direction: Direction,
    change: fn(Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let dim = dimension(input, dim)?;
    let norm = normalisation(norm, direction)?;
    let n = n.unwrap_or((input.spec()?.sizes()[dim] - 1).saturating_mul(2));
    check_points(n)?;
    let half = resized(&as_complex(input)?, dim, n / 2 + 1)?;
    FftC2r.call(&change(half)?, &[dim as i64], norm, n)
}

/// The dimension that is meant; a tensor without dimensions has none.
fn dimension(input: &Tensor, dim: i64) -> Result<usize> {
    let sizes = input.spec()?.sizes();
    if sizes.is_empty() {
        return Err(argument(format!("argument `dim` is {dim}, but `self` has no dimensions")));
    }
    normalise_dim(dim, sizes.len())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_kinds::fourier;
    use opgrid_samples::prelude::*;

    /// Dtypes that are transformed.
    pub(crate) const TAKEN: &[DType] = &[
        DType::Bool,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F32,
        DType::F64,
        DType::Complex64,
        DType::Complex128,
    ];

    /// The real dtypes that transforms accept.
    pub(crate) const REAL_TAKEN: &[DType] = TAKEN.split_at(11).0;

    pub(crate) fn collect(samples: &mut Samples) {
        let (x, c) =
            (generate::numbers(DType::F32, &[2, 3], 0), generate::numbers(DType::Complex64, &[2, 3], 0));
        samples
            .operator(FftFft, TAKEN, inputs, |it| reference(it, Direction::Forward, all))
            .tolerance(256.0)
            .refuses("data points (0)", given(c.clone()).and(0))
            .refuses("data points (0)", given(generate::numbers(DType::F32, &[2, 0], 0)))
            .refuses("overflows", given(c.clone()).and(i64::MAX / 4))
            .refuses("range", given(c.clone()).and(Value::None).and(2))
            .refuses("no dimensions", given(Plain::number(DType::F32, 1)))
            .refuses("argument `norm`", given(c.clone()).and(Value::None).and(0).and("other"));
        samples
            .operator(FftIfft, TAKEN, inputs, |it| reference(it, Direction::Backward, all))
            .tolerance(256.0);
        samples
            .operator(FftRfft, REAL_TAKEN, inputs, |it| reference(it, Direction::Forward, half))
            .tolerance(256.0)
            .refuses("expected real numbers", given(c));
        samples
            .operator(FftIrfft, TAKEN, inputs_of_halves, |it| of_half(it, Direction::Backward))
            .tolerance(256.0)
            .refuses("data points (0)", given(x.with_sizes(&[6, 1])));
        samples.rounds(FftFft, Roundings::all(Rounding::Sum(16)));
        samples.rounds(FftIfft, Roundings::all(Rounding::Sum(16)));
        samples.rounds(FftRfft, Roundings::all(Rounding::Sum(16)));
        samples.rounds(FftIrfft, Roundings::all(Rounding::Sum(16)));
    }

    /// Samples with several lengths, shorter and longer than the input.
    pub(crate) fn inputs(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
        vec![
            x(&[8]),
            x(&[2, 7]).and(Value::None).and(-1).and("ortho"),
            x(&[4, 3]).and(Value::None).and(0).and("forward"),
            x(&[2, 5, 2]).and(3).and(1).and("backward"),
            x(&[2, 3]).and(8),
            x(&[0, 3]),
            x(&[1]),
        ]
    }

    /// Samples of half spectra with several lengths, of which one element gives an empty result.
    pub(crate) fn inputs_of_halves(dtype: DType) -> Vec<Sample> {
        let mut samples = inputs(dtype);
        samples.pop();
        samples.push(given(generate::numbers(dtype, &[2, 1], 1)).and(1));
        samples
    }

    /// What a sample transforms: the dimension, its length, and what results are multiplied by.
    fn lengths(it: &Inputs, direction: Direction, default: fn(i64) -> i64) -> Result<(usize, i64, f64)> {
        let x = it.tensor("self")?;
        let dim = naive::dimension(it.value("dim")?, x.sizes().len());
        let n = it.option::<i64>("n")?.unwrap_or(default(x.sizes()[dim]));
        let norm: Option<String> = it.option("norm")?;
        Ok((dim, n, fourier::scale(normalisation(norm.as_deref(), direction)?, [n].into_iter())?))
    }

    fn all(x: Plain, _dim: usize) -> Plain {
        x
    }

    pub(crate) fn half(x: Plain, dim: usize) -> Plain {
        let count = x.sizes()[dim] / 2 + 1;
        fourier::samples::first(&x, dim, count)
    }

    /// The dtype of complex results.
    pub(crate) fn complex_result(dtype: DType) -> DType {
        match dtype {
            DType::F64 | DType::Complex128 => DType::Complex128,
            _ => DType::Complex64,
        }
    }

    /// The dtype of real results.
    pub(crate) fn real_result(dtype: DType) -> DType {
        match dtype {
            DType::F64 | DType::Complex128 => DType::F64,
            _ => DType::F32,
        }
    }

    pub(crate) fn reference(
        it: &Inputs,
        direction: Direction,
        part: fn(Plain, usize) -> Plain,
    ) -> Result<Expected> {
        let x = it.tensor("self")?;
        let (dim, n, scale) = lengths(it, direction, |size| size)?;
        let result = part(fourier::samples::naive(x, dim, n, direction, scale), dim);
        Ok(result.to(complex_result(x.dtype())).into())
    }

    pub(crate) fn of_half(it: &Inputs, direction: Direction) -> Result<Expected> {
        let x = it.tensor("self")?;
        let (dim, n, scale) = lengths(it, direction, |size| 2 * (size - 1))?;
        let result =
            fourier::samples::naive(&fourier::samples::mirrored(x, &[dim], n), dim, n, direction, scale);
        Ok(fourier::samples::real(&result).to(real_result(x.dtype())).into())
    }
}
