//! Applies a closure to every element: the loops of unary and binary operators.

use opgrid_core::Result;

use super::access::{Access, Aliasing};
use super::iter;
use crate::tensor::{Array, Element};

/// Sets every element of `out`.
///
/// # Errors
///
/// An output that repeats elements, has another dtype, no data, or is used by others.
pub fn fill<O: Element>(out: &Array, value: O) -> Result<()> {
    let access = Access::new(out, [], Aliasing::InPlace)?;
    iter::fill(access.output()?, value)
}

/// `out[i] = f(a[i])`, with `a` stretched to the shape of `out`. `a` may be `out` itself.
///
/// # Errors
///
/// Shapes that do not broadcast, partial overlap of `a` and `out`, other dtypes than those of `f`, tensors without
/// data or used by others.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::{Array, kernels::elementwise};
///
/// let x = Array::from_slice(&[1.0f32, -2.0], &[2])?;
/// elementwise::unary(&x, &x, |x: f32| -x)?;
/// assert_eq!(x.to_vec::<f32>()?, [-1.0, 2.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn unary<O: Element, A: Element>(out: &Array, a: &Array, f: impl Fn(A) -> O) -> Result<()> {
    let access = Access::new(out, [a], Aliasing::InPlace)?;
    iter::map1(access.output()?, access.input(0)?, f)
}

/// `out[i] = f(a[i], b[i])`, with `a` and `b` stretched to the shape of `out`. Either may be `out` itself.
///
/// # Errors
///
/// As [`unary`].
///
/// # Examples
///
/// ```
/// use opgrid_tensor::{Array, kernels::elementwise};
///
/// let x = Array::from_slice(&[1i64, 2, 3, 4], &[2, 2])?;
/// let y = Array::from_slice(&[10i64, 20], &[2])?;
/// elementwise::binary(&x, &x, &y, |x: i64, y: i64| x + y)?;
/// assert_eq!(x.to_vec::<i64>()?, [11, 22, 13, 24]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn binary<O: Element, A: Element, B: Element>(
    out: &Array,
    a: &Array,
    b: &Array,
    f: impl Fn(A, B) -> O,
) -> Result<()> {
    let access = Access::new(out, [a, b], Aliasing::InPlace)?;
    iter::map2(access.output()?, access.input(0)?, access.input(1)?, f)
}
