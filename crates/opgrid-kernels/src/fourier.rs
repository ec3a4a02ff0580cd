//! Fourier transforms along dimensions, by the plans of `opgrid_fft`.
//!
//! A dimension is transformed line by line: where its elements do not lie beside each other they are copied first.

use num_complex::Complex;
use opgrid_core::{DType, Result};
pub use opgrid_fft::Direction;

use crate::parts;
use opgrid_array::loops::elementwise;
use opgrid_array::{Array, Element, Geometry, TensorSpec};

/// A float whose transforms are planned.
pub trait Planned: Element<Math = Self> + opgrid_fft::Planned {
    /// The dtype of complex numbers of this type.
    const COMPLEX: DType;
}

impl Planned for f32 {
    const COMPLEX: DType = DType::Complex64;
}

impl Planned for f64 {
    const COMPLEX: DType = DType::Complex128;
}

/// The work of a transform of so many elements.
fn work(n: usize) -> usize {
    n.saturating_mul(4 + n.max(1).ilog2() as usize)
}

/// An array whose dimension `dim` and last dimension are in each other's places.
fn turned(array: &Array, dim: usize) -> Result<Array> {
    let last = array.geometry().dims() as i64 - 1;
    array.view(array.geometry().transpose(dim as i64, last)?)
}

/// A new row-major array.
fn rows(sizes: &[i64], like: &Array, dtype: DType) -> Result<Array> {
    Array::empty(TensorSpec::contiguous(sizes, dtype, like.device())?)
}

/// Transforms complex numbers along dimensions, and multiplies the results by `scale`. Without dimensions they are copied.
///
/// # Errors
///
/// Shapes that differ, overlap of `out` with `input`, tensors without data or used by others.
pub fn complex<T: Planned>(
    out: &Array,
    input: &Array,
    dims: &[usize],
    direction: Direction,
    scale: f64,
) -> Result<()>
where
    Complex<T>: Element,
{
    let Some((&last, others)) = dims.split_last() else {
        return elementwise::copy(out, input);
    };
    let mut from = input.clone();
    for &dim in others {
        let to = rows(out.sizes(), out, T::COMPLEX)?;
        along::<T>(&to, &from, dim, direction, 1.0)?;
        from = to;
    }
    along::<T>(out, &from, last, direction, scale)
}

/// Transforms along one dimension.
fn along<T: Planned>(out: &Array, input: &Array, dim: usize, direction: Direction, scale: f64) -> Result<()>
where
    Complex<T>: Element,
{
    let n = out.sizes()[dim] as usize;
    if out.spec().numel() == 0 {
        return Ok(());
    }
    let (plan, scale) = (T::plan_complex(n, direction), scaled::<T>(scale));
    let (out, input) = (turned(out, dim)?, turned(input, dim)?);
    parts::read::<Complex<T>, _>(&out, &input, |input| {
        parts::produce::<Complex<T>>(&out, n, work(n), |part, line| {
            let mut scratch = vec![Complex::new(T::zero(), T::zero()); plan.get_inplace_scratch_len()];
            line.copy_from_slice(&input[part * n..][..n]);
            plan.process_with_scratch(line, &mut scratch);
            scale_line(line, scale);
        })
    })
}

fn scaled<T: Planned>(scale: f64) -> Option<T> {
    (scale != 1.0).then(|| T::from_f64(scale)).flatten()
}

fn scale_line<T: Planned>(line: &mut [Complex<T>], scale: Option<T>) {
    if let Some(scale) = scale {
        line.iter_mut().for_each(|x| *x = Complex::new(x.re * scale, x.im * scale));
    }
}

/// Transforms real numbers along dimensions, forward: of the last one named only the first half of the results.
///
/// # Errors
///
/// As [`complex`].
pub fn of_real<T: Planned>(out: &Array, input: &Array, dims: &[usize], scale: f64) -> Result<()>
where
    Complex<T>: Element,
{
    let Some((&dim, others)) = dims.split_last() else {
        return elementwise::copy(out, input);
    };
    if out.spec().numel() == 0 {
        return Ok(());
    }
    if !others.is_empty() {
        let half = rows(out.sizes(), out, T::COMPLEX)?;
        of_real::<T>(&half, input, &[dim], 1.0)?;
        return complex::<T>(out, &half, others, Direction::Forward, scale);
    }
    let (n, half) = (input.sizes()[dim] as usize, out.sizes()[dim] as usize);
    let (plan, scale) = (T::plan_of_real(n), scaled::<T>(scale));
    let (out, input) = (turned(out, dim)?, turned(input, dim)?);
    parts::read::<T, _>(&out, &input, |input| {
        parts::produce::<Complex<T>>(&out, half, work(n), |part, line| {
            let mut scratch = plan.make_scratch_vec();
            let mut from = input[part * n..][..n].to_vec();
            plan.process_with_scratch(&mut from, line, &mut scratch)
                .expect("the lengths are those of the plan");
            scale_line(line, scale);
        })
    })
}

/// Transforms complex numbers along dimensions to real ones, backward: of the last one named `input` is the first half of
/// what would be there. Imaginary parts that real numbers have not are left out.
///
/// # Errors
///
/// As [`complex`].
pub fn to_real<T: Planned>(out: &Array, input: &Array, dims: &[usize], scale: f64) -> Result<()>
where
    Complex<T>: Element,
{
    let Some((&dim, others)) = dims.split_last() else {
        return elementwise::copy(out, input);
    };
    if out.spec().numel() == 0 {
        return Ok(());
    }
    let n = out.sizes()[dim] as usize;
    let needed = n as i64 / 2 + 1;
    // More than the first half is not looked at; less is as if zeros followed.
    let mut sizes: Vec<i64> = input.sizes().to_vec();
    sizes[dim] = needed;
    let mut half = rows(&sizes, out, T::COMPLEX)?;
    let given = input.sizes()[dim].min(needed);
    let first = |array: &Array| -> Result<Geometry> { array.geometry().slice(dim as i64, 0, given, 1) };
    elementwise::copy(&half.view(first(&half)?)?, &input.view(first(input)?)?)?;
    if !others.is_empty() {
        let transformed = rows(&sizes, out, T::COMPLEX)?;
        complex::<T>(&transformed, &half, others, Direction::Backward, 1.0)?;
        half = transformed;
    }
    let (plan, scale) = (T::plan_to_real(n), scaled::<T>(scale));
    let (out, half) = (turned(out, dim)?, turned(&half, dim)?);
    let count = needed as usize;
    parts::read::<Complex<T>, _>(&out, &half, |half| {
        parts::produce::<T>(&out, n, work(n), |part, line| {
            let mut scratch = plan.make_scratch_vec();
            let mut from = half[part * count..][..count].to_vec();
            from[0].im = T::zero();
            if n.is_multiple_of(2) {
                from[count - 1].im = T::zero();
            }
            plan.process_with_scratch(&mut from, line, &mut scratch)
                .expect("the lengths are those of the plan");
            if let Some(scale) = scale {
                line.iter_mut().for_each(|x| *x = *x * scale);
            }
        })
    })
}
