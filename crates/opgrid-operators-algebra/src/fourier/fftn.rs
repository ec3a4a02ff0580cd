//! `aten::fft_fftn`, `fft_ifftn`, `fft_rfftn`, `fft_irfftn`, and the same of two dimensions: Fourier transforms along dimensions.
//!
//! | operator | of | to | direction |
//! |---|---|---|---|
//! | `fftn`, `ifftn` | numbers | complex numbers | forward, backward |
//! | `rfftn` | real numbers | complex ones, the first half in the last dimension | forward |
//! | `irfftn` | such halves | real numbers | backward |
//!
//! - Shapes: `s` are the sizes that are transformed, -1 for the one that is there: elements that are missing are zero. Without
//!   `dim` they are those of the last dimensions, or of all of them; `fft2` and its like take the last two.
//! - Norm: `backward` divides by the number of elements what is transformed backward, `forward` the others, `ortho` all by the
//!   root of it.
//! - Dtypes: of 32 and 64 bits; integers and bools become the default dtype.
//! - Aliasing: the `out` forms write `out`, converting results to other dtypes of their kind.
//! - Dispatch: composites of `_fft_c2c`, `_fft_r2c` and `_fft_c2r`; those of two dimensions of those of several.
//! - Errors: a dimension out of range or named twice; other numbers of sizes and dimensions; sizes below 1; no dimension for
//!   real numbers; another norm; complex numbers where real ones are transformed.
//! - Source: torch.fft.fftn and the like, PyTorch 2.15.

use super::fft::write;
use crate::prelude::*;
use opgrid_kernels::fourier::Direction;
use opgrid_kinds::fourier::{
    self, as_complex, as_real, check_points, no_dimension, normalisation, numbers, resized,
};
use opgrid_tensor::ops::{FftC2c, FftC2r, FftR2c};

pub use opgrid_tensor::ops::fourier::fftn::*;

/// Registers an operator and the one of two dimensions, whose `out` forms copy the result.
macro_rules! transform {
    ($library:ident, $several:ident, $several_out:ident, $two:ident, $two_out:ident, $kernel:expr) => {
        $library.define_with_forms($several, &kind::FOURIER).implicit($kernel);
        $library
            .implement($several_out)
            .implicit(|input, s, dim, norm, out| write(out, &$several.call(input, s, dim, norm)?, true));
        $library
            .define_with_forms($two, &kind::FOURIER)
            .implicit(|input, s, dim, norm| $several.call(input, s, Some(dim), norm));
        $library
            .implement($two_out)
            .implicit(|input, s, dim, norm, out| write(out, &$two.call(input, s, dim, norm)?, true));
    };
}
pub(super) use transform;

pub(super) fn register(library: &mut Library) {
    transform!(library, FftFftn, FftFftnOut, FftFft2, FftFft2Out, |input, s, dim, norm| {
        of_numbers(input, s, dim, norm, Direction::Forward)
    });
    transform!(library, FftIfftn, FftIfftnOut, FftIfft2, FftIfft2Out, |input, s, dim, norm| {
        of_numbers(input, s, dim, norm, Direction::Backward)
    });
    transform!(library, FftRfftn, FftRfftnOut, FftRfft2, FftRfft2Out, of_real);
    transform!(library, FftIrfftn, FftIrfftnOut, FftIrfft2, FftIrfft2Out, to_real);
}

fn of_numbers(
    input: &Tensor,
    s: Option<&[i64]>,
    dim: Option<&[i64]>,
    norm: Option<&str>,
    direction: Direction,
) -> Result<Tensor> {
    let (dims, sizes) = fourier::lengths(input, s, dim)?;
    let norm = normalisation(norm, direction)?;
    let input = all_resized(as_complex(input)?, &dims, &sizes)?;
    FftC2c.call(&input, &numbers(&dims), norm, direction == Direction::Forward)
}

fn of_real(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    let norm = normalisation(norm, Direction::Forward)?;
    let (input, dims) = whole(input, s, dim)?;
    FftR2c.call(&input, &numbers(&dims), norm, true)
}

fn to_real(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>, norm: Option<&str>) -> Result<Tensor> {
    let norm = normalisation(norm, Direction::Backward)?;
    let (input, dims, n) = half(input, s, dim)?;
    FftC2r.call(&input, &numbers(&dims), norm, n)
}

/// Half of the numbers that are transformed to real ones, the dimensions, and how many numbers the last of these gets.
///
/// # Errors
///
/// As [`fourier::lengths`]; no dimension; no numbers.
pub(super) fn half(
    input: &Tensor,
    s: Option<&[i64]>,
    dim: Option<&[i64]>,
) -> Result<(Tensor, Vec<usize>, i64)> {
    let (dims, mut sizes) = fourier::lengths(input, s, dim)?;
    let (Some(last), Some(&dim)) = (sizes.last_mut(), dims.last()) else { return Err(no_dimension()) };
    let is_given = s.and_then(|s| s.last()).is_some_and(|size| *size != -1);
    let n = if is_given { *last } else { (input.sizes()[dim] - 1).saturating_mul(2) };
    check_points(n)?;
    *last = n / 2 + 1;
    Ok((all_resized(as_complex(input)?, &dims, &sizes)?, dims, n))
}

/// The real numbers that are transformed, and the dimensions.
///
/// # Errors
///
/// As [`fourier::lengths`]; no dimension; complex numbers.
pub(super) fn whole(input: &Tensor, s: Option<&[i64]>, dim: Option<&[i64]>) -> Result<(Tensor, Vec<usize>)> {
    let (dims, sizes) = fourier::lengths(input, s, dim)?;
    if dims.is_empty() {
        return Err(no_dimension());
    }
    Ok((all_resized(as_real("fft_fftn", input)?, &dims, &sizes)?, dims))
}

fn all_resized(input: Tensor, dims: &[usize], sizes: &[i64]) -> Result<Tensor> {
    dims.iter().zip(sizes).try_fold(input, |input, (dim, size)| resized(&input, *dim, *size))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::fourier::fft::samples::{REAL_TAKEN, TAKEN, complex_result, real_result};
    use opgrid_samples::prelude::*;

    /// Samples of an operator and of the one of two dimensions.
    macro_rules! sampled {
        ($samples:ident, $several:ident, $two:ident, $dtypes:expr, $reference:expr) => {{
            $samples.operator($two, $dtypes, two_inputs, $reference).tolerance(512.0);
            $samples.rounds($several, Roundings::all(Rounding::Sum(128)));
            $samples.rounds($two, Roundings::all(Rounding::Sum(128)));
            $samples.operator($several, $dtypes, several_inputs, $reference).tolerance(512.0)
        }};
    }

    pub(crate) fn collect(samples: &mut Samples) {
        let c = generate::numbers(DType::Complex64, &[2, 3], 0);
        let (none, no_dims) = (Value::None, Vec::<i64>::new());
        sampled!(samples, FftFftn, FftFft2, TAKEN, |it| reference(it, Direction::Forward))
            .refuses("at most 2 sizes", given(c.clone()).and(vec![1, 1, 1]))
            .refuses("as many sizes", given(c.clone()).and(vec![1]).and(vec![0, 1]))
            .refuses("twice", given(c.clone()).and(none.clone()).and(vec![0, 0]))
            .refuses("at least 1", given(c.clone()).and(vec![0]))
            .refuses("argument `norm`", given(c.clone()).named("norm", "other"));
        sampled!(samples, FftIfftn, FftIfft2, TAKEN, |it| reference(it, Direction::Backward));
        sampled!(samples, FftRfftn, FftRfft2, REAL_TAKEN, |it| half_reference(it, Direction::Forward))
            .refuses("real numbers", given(c.clone()))
            .refuses(
                "no dimension",
                given(generate::numbers(DType::F32, &[2], 0)).and(none.clone()).and(no_dims.clone()),
            );
        sampled!(samples, FftIrfftn, FftIrfft2, TAKEN, |it| reference_of_halves(it, Direction::Backward))
            .refuses("no dimension", given(c).and(none).and(no_dims));
    }

    pub(crate) fn two_inputs(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
        vec![
            x(&[4, 3]),
            x(&[2, 3, 4]).and(vec![2, 6]),
            x(&[3, 2, 4]).and(Value::None).and(vec![2, 0]).and("ortho"),
            x(&[2, 5, 2]).and(vec![-1, 3]).and(vec![0, 1]).and("forward"),
            x(&[0, 2, 3]).and(Value::None),
        ]
    }

    pub(crate) fn several_inputs(dtype: DType) -> Vec<Sample> {
        let x = |sizes: &[i64]| given(generate::numbers(dtype, sizes, 1));
        let mut samples = two_inputs(dtype);
        samples.push(x(&[2, 3, 4]).and(Value::None).and(vec![1]));
        samples.push(x(&[2, 3, 2]).and(vec![4]));
        samples.push(x(&[2, 3, 2]).and(vec![3, -1, 4]).and(Value::None).and("forward"));
        // Without `dim` all dimensions are transformed, of which none may be empty.
        samples.remove(4);
        samples.push(x(&[0, 2, 3]).and(Value::None).and(vec![1, 2]));
        samples
    }

    /// The dimensions of a sample with their lengths, as they are named.
    fn lengths(it: &Inputs) -> Result<(Vec<usize>, Vec<i64>)> {
        let x = it.tensor("self")?;
        let (sizes, dims): (Option<Vec<i64>>, Option<Vec<i64>>) = (it.option("s")?, it.option("dim")?);
        let rank = x.sizes().len();
        let dims: Vec<usize> = match (&sizes, dims) {
            (_, Some(dims)) => dims.iter().map(|dim| naive::dimension(*dim, rank)).collect(),
            (Some(sizes), None) => (rank - sizes.len()..rank).collect(),
            (None, None) => (0..rank).collect(),
        };
        let size = |(at, dim): (usize, &usize)| match &sizes {
            Some(sizes) if sizes[at] != -1 => sizes[at],
            _ => x.sizes()[*dim],
        };
        let lengths = dims.iter().enumerate().map(size).collect();
        Ok((dims, lengths))
    }

    /// One dimension after the other; the norm of each.
    fn transformed(
        it: &Inputs,
        x: Plain,
        dims: &[usize],
        sizes: &[i64],
        direction: Direction,
    ) -> Result<Plain> {
        let norm: Option<String> = it.option("norm")?;
        let norm = normalisation(norm.as_deref(), direction)?;
        dims.iter().zip(sizes).try_fold(x, |x, (dim, n)| {
            Ok(fourier::samples::naive(&x, *dim, *n, direction, fourier::scale(norm, [*n].into_iter())?))
        })
    }

    fn reference(it: &Inputs, direction: Direction) -> Result<Expected> {
        let (x, (dims, sizes)) = (it.tensor("self")?, lengths(it)?);
        let result = transformed(it, x.to(DType::Complex128), &dims, &sizes, direction)?;
        Ok(result.to(complex_result(x.dtype())).into())
    }

    pub(crate) fn half_reference(it: &Inputs, direction: Direction) -> Result<Expected> {
        let (x, (dims, sizes)) = (it.tensor("self")?, lengths(it)?);
        let result = transformed(it, x.to(DType::Complex128), &dims, &sizes, direction)?;
        let last = dims[dims.len() - 1];
        let count = result.sizes()[last] / 2 + 1;
        Ok(fourier::samples::first(&result, last, count).to(complex_result(x.dtype())).into())
    }

    pub(crate) fn reference_of_halves(it: &Inputs, direction: Direction) -> Result<Expected> {
        let (x, (dims, mut sizes)) = (it.tensor("self")?, lengths(it)?);
        let (last, at) = (dims[dims.len() - 1], dims.len() - 1);
        let given: Option<Vec<i64>> = it.option("s")?;
        if given.and_then(|sizes| sizes.last().copied()).is_none_or(|size| size == -1) {
            sizes[at] = 2 * (x.sizes()[last] - 1);
        }
        // The other dimensions first; what follows from halves are conjugates along the last one alone.
        let before = transformed(it, x.to(DType::Complex128), &dims[..at], &sizes[..at], direction)?;
        let all = fourier::samples::mirrored(&before, &[last], sizes[at]);
        let result = transformed(it, all, &dims[at..], &sizes[at..], direction)?;
        Ok(fourier::samples::real(&result).to(real_result(x.dtype())).into())
    }

    pub(crate) use sampled;
}
