//! Multiplies matrices.
//!
//! Floating-point and complex products run on the `gemm` crate with whatever vector instructions the processor has; it
//! takes every combination of strides. The 16-bit floats are multiplied in single precision. Integers have a loop of
//! their own, which wraps on overflow as torch's does.

use num_complex::Complex;
use opgrid_core::{DType, Result};

use super::access::{self, Access, Aliasing, views};
use super::arithmetic::Arithmetic;
use super::{copy, iter};
use crate::error::argument;
use crate::tensor::{Array, Dims, TensorSpec};
use crate::with_dtype;

/// The shape of the product.
///
/// # Errors
///
/// Tensors that are not matrices, or whose inner sizes differ.
pub fn sizes(a: &[i64], b: &[i64]) -> Result<Dims> {
    match (a, b) {
        (&[m, k], &[inner, n]) if k == inner => Ok(Dims::from_slice(&[m, n])),
        (&[m, k], &[inner, n]) => {
            let message = format!(
                "mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {inner}x{n}), expected {k} rows in the second"
            );
            Err(argument(message))
        }
        _ => Err(argument(format!("expected two matrices, found shapes {a:?} and {b:?}"))),
    }
}

/// `out = a @ b` for matrices of one dtype.
///
/// # Errors
///
/// Shapes and dtypes that do not fit, overlap of `out` with a factor, tensors without data or used by others.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::{Array, kernels::matmul};
///
/// let a = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let out = Array::empty(a.spec().clone())?;
/// matmul::mm(&out, &a, &a)?;
/// assert_eq!(out.to_vec::<f32>()?, [7.0, 10.0, 15.0, 22.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn mm(out: &Array, a: &Array, b: &Array) -> Result<()> {
    let expected = sizes(a.sizes(), b.sizes())?;
    if out.sizes() != expected.as_slice() {
        let message = format!("the output has shape {:?}, expected {expected:?}", out.sizes());
        return Err(argument(message));
    }
    match out.dtype() {
        DType::F16 | DType::BF16 => half_precision(out, a, b),
        DType::F32 => product::<f32>(out, a, b),
        DType::F64 => product::<f64>(out, a, b),
        DType::Complex64 => product::<Complex<f32>>(out, a, b),
        DType::Complex128 => product::<Complex<f64>>(out, a, b),
        dtype => with_dtype!(dtype, T: Integer => integer::<T>(out, a, b)),
    }
}

fn product<T: iter::Multiply>(out: &Array, a: &Array, b: &Array) -> Result<()> {
    let access = Access::new(out, [a, b], Aliasing::Never)?;
    iter::multiply::<T>(access.output()?, access.input(0)?, access.input(1)?)
}

/// In single precision, rounded once at the end.
fn half_precision(out: &Array, a: &Array, b: &Array) -> Result<()> {
    for input in [a, b] {
        input.expect_dtype(out.dtype())?;
        access::check(out, input, Aliasing::Never)?;
    }
    let wide =
        |array: &Array| Array::empty(TensorSpec::contiguous(array.sizes(), DType::F32, array.device())?);
    let [wide_out, wide_a, wide_b] = [wide(out)?, wide(a)?, wide(b)?];
    copy::copy(&wide_a, a)?;
    copy::copy(&wide_b, b)?;
    product::<f32>(&wide_out, &wide_a, &wide_b)?;
    copy::copy(out, &wide_out)
}

/// Row by row of the second factor, so that the innermost loop runs along the fastest dimension of row-major
/// matrices.
fn integer<T: Arithmetic>(out: &Array, a: &Array, b: &Array) -> Result<()> {
    let mut access = Access::new(out, [a, b], Aliasing::Never)?;
    let (out, [a, b]) = views::<T, T, 2>(&mut access)?;
    let [m, k] = [0, 1].map(|dim| a.geometry.sizes()[dim] as usize);
    let n = b.geometry.sizes()[1] as usize;
    let strides = |geometry: &crate::Geometry| [0, 1].map(|dim| geometry.strides()[dim] as usize);
    let (so, sa, sb) = (strides(out.geometry), strides(a.geometry), strides(b.geometry));
    for row in 0..m {
        (0..n).for_each(|column| out.elements[row * so[0] + column * so[1]] = T::ZERO);
        for inner in 0..k {
            let left = a.elements[row * sa[0] + inner * sa[1]];
            for column in 0..n {
                let right = b.elements[inner * sb[0] + column * sb[1]];
                let sum = &mut out.elements[row * so[0] + column * so[1]];
                *sum = sum.plus(left.times(right));
            }
        }
    }
    Ok(())
}
