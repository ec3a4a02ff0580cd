//! Multiplies matrices.
//!
//! Floating-point products run on the `gemm` crate with whatever vector instructions the processor has; it takes
//! every combination of strides. Integers have a loop of their own, which wraps on overflow as torch's does.

use opgrid_core::{DType, Result};

use super::access::{Access, Aliasing, views};
use super::iter;
use crate::error::argument;
use crate::tensor::{Array, Dims};
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
    let mut access = Access::new(out, [a, b], Aliasing::Never)?;
    if out.dtype() == DType::I64 {
        return integer(&mut access);
    }
    with_dtype!(out.dtype(), T: Float => {
        iter::multiply::<T>(access.output()?, access.input(0)?, access.input(1)?)
    })
}

/// Row by row of the second factor, so that the innermost loop runs along the fastest dimension of row-major
/// matrices.
fn integer(access: &mut Access<'_, 2>) -> Result<()> {
    let (out, [a, b]) = views::<i64, i64, 2>(access)?;
    let [m, k] = [0, 1].map(|dim| a.geometry.sizes()[dim] as usize);
    let n = b.geometry.sizes()[1] as usize;
    let strides = |geometry: &crate::Geometry| [0, 1].map(|dim| geometry.strides()[dim] as usize);
    let (so, sa, sb) = (strides(out.geometry), strides(a.geometry), strides(b.geometry));
    for row in 0..m {
        (0..n).for_each(|column| out.elements[row * so[0] + column * so[1]] = 0);
        for inner in 0..k {
            let left = a.elements[row * sa[0] + inner * sa[1]];
            for column in 0..n {
                let right = b.elements[inner * sb[0] + column * sb[1]];
                let sum = &mut out.elements[row * so[0] + column * so[1]];
                *sum = sum.wrapping_add(left.wrapping_mul(right));
            }
        }
    }
    Ok(())
}
