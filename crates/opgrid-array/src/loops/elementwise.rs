//! Applies a closure to every element: the loops of element-wise operators.
//!
//! A loop takes arrays or tensors of any dtypes and strides. Inputs are stretched to the output's shape and converted
//! to the loop's types on the way, results to the output's dtype; a number in a tensor's place costs no memory. The
//! closure computes in [`Element::Math`]: 16-bit floats come and go as `f32`.
//!
//! # A loop of your own
//!
//! It is as fast as those of the operators, which are such closures: vector code for the processor at hand, on threads where
//! there are many elements, for tensors of any strides and dtypes. `softsign` of 100,000 floats takes 7 µs (AMD EPYC Zen 5,
//! one core; figure `own_elementwise` of `cargo xtask bench kernels`), where composed of torch's operators it takes 25.
//!
//! ```
//! use opgrid_array::{Array, loops::elementwise};
//!
//! let x = Array::from_slice(&[1.0f32, -1.0, 3.0, 0.0], &[2, 2])?;
//! let out = Array::empty(x.spec().clone())?;
//! let scale = 2.0f32;
//! elementwise::unary::<f32, f32>(&out, &x, move |x| scale * x / (1.0 + x.abs()))?;
//! assert_eq!(out.to_vec::<f32>()?, [1.0, -1.0, 1.5, 0.0]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```
//!
//! - Numbers of the surroundings are taken by `move`. By reference they would be read again for every element, because for all
//!   that the compiler knows they lie in the output, and there would be no vector code. So it is refused:
//!
//!   ```compile_fail,E0373
//!   # use opgrid_array::{Array, loops::elementwise};
//!   # let x = Array::from_slice(&[1.0f32], &[1]).unwrap();
//!   let scale = 2.0f32;
//!   elementwise::unary::<f32, f32>(&x, &x, |x| scale * x).unwrap();
//!   ```
//!
//!   What cannot be moved, as a table in a slice, goes by a closure in brackets: `unary_by(out, a, (|i| table[i as usize],))`.
//! - Without branches: `if` chooses between two numbers, which become one instruction. `exp`, `ln`, `sin` and `powf` of the
//!   standard library are calls, one for each element; those of [`math`](super::math) are vector code.
//! - What is longer than some lines is a type, because the compiler inlines short closures only: see
//!   [`Function`] and [`unary_by`]. Reductions are types as well: see [`iter::reduction::Reduction`].

use std::borrow::Cow;

use opgrid_core::{DType, Result, Scalar};

use super::access::{self, Aliasing};
use super::function::Function;
use super::isa::{Isa, isa};
use super::iter::{self, Source};
use super::math::{Inexact, SquareRoot};
use crate::{Array, Element};

/// What a loop takes as an input.
pub trait Operand {
    /// The elements, or the number.
    ///
    /// # Errors
    ///
    /// An undefined tensor.
    fn source(&self) -> Result<Source<'_>>;
}

/// What a loop takes as its output.
pub trait Destination {
    /// The elements.
    ///
    /// # Errors
    ///
    /// An undefined tensor.
    fn destination(&self) -> Result<&Array>;
}

impl Operand for Array {
    #[inline]
    fn source(&self) -> Result<Source<'_>> {
        Ok(Source::Array(self))
    }
}

impl Destination for Array {
    #[inline]
    fn destination(&self) -> Result<&Array> {
        Ok(self)
    }
}

impl<T: Operand + Clone> Operand for Cow<'_, T> {
    #[inline]
    fn source(&self) -> Result<Source<'_>> {
        (**self).source()
    }
}

impl Operand for Source<'_> {
    #[inline]
    fn source(&self) -> Result<Source<'_>> {
        Ok(*self)
    }
}

/// What says of which dtype its elements are.
pub trait Typed {
    /// The dtype of the elements.
    fn element_type(&self) -> DType;
}

impl Typed for Array {
    fn element_type(&self) -> DType {
        self.dtype()
    }
}

/// Sets every element of `out`, converting the value.
///
/// # Errors
///
/// An output that repeats elements, has no data, or is used by others.
pub fn fill(out: &impl Destination, value: impl Into<Scalar>) -> Result<()> {
    iter::fill(out.destination()?, value.into())
}

/// Sets every element of `out` where the result does not depend on the elements of `a`. `a` may be `out` itself.
///
/// # Errors
///
/// As [`unary`].
pub fn fill_for(out: &impl Destination, a: &impl Operand, value: impl Into<Scalar>) -> Result<()> {
    if let Source::Array(a) = a.source()? {
        access::check(out.destination()?, a, Aliasing::InPlace)?;
    }
    fill(out, value)
}

/// Writes the elements of `input`, stretched and converted, to `out`. Copying a tensor to itself does nothing.
///
/// # Errors
///
/// As [`unary`].
pub fn copy(out: &impl Destination, input: &impl Operand) -> Result<()> {
    iter::copy(out.destination()?, input.source()?)
}

/// `out[i] = f(a[i])`, with `a` stretched to the shape of `out`. `a` may be `out` itself.
///
/// # Errors
///
/// Shapes that do not broadcast, partial overlap of `a` and `out`, tensors without data or used by others.
///
/// # Examples
///
/// ```
/// use opgrid_array::{Array, loops::elementwise};
///
/// let x = Array::from_slice(&[1.0f32, -2.0], &[2])?;
/// elementwise::unary::<f32, f32>(&x, &x, |x| -x)?;
/// assert_eq!(x.to_vec::<f32>()?, [-1.0, 2.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[inline]
pub fn unary<O: Element, A: Element>(
    out: &impl Destination,
    a: &impl Operand,
    f: impl Fn(A::Math) -> O::Math + Copy + Sync + 'static,
) -> Result<()> {
    unary_by::<O, A>(out, a, (f,))
}

/// As [`unary`], with a function that may be long.
///
/// # Errors
///
/// As [`unary`].
#[inline]
pub fn unary_by<O: Element, A: Element>(
    out: &impl Destination,
    a: &impl Operand,
    f: impl Function<(A::Math,), Output = O::Math>,
) -> Result<()> {
    iter::map1::<O, A>(out.destination()?, a.source()?, f)
}

/// `out[i] = f(a[i])` of slices, by the loop that [`unary_by`] runs over arrays: for code that has blocks of elements.
///
/// # Panics
///
/// The slices have different lengths.
///
/// # Examples
///
/// ```
/// use opgrid_array::loops::{elementwise, math::Exponential};
///
/// let mut out = [0.0f32; 2];
/// elementwise::unary_slice::<f32, f32>(&mut out, &[0.0, f32::NEG_INFINITY], Exponential);
/// assert_eq!(out, [1.0, 0.0]);
/// ```
pub fn unary_slice<O: Element, A: Element>(
    out: &mut [O],
    a: &[A],
    f: impl Function<(A::Math,), Output = O::Math>,
) {
    iter::map1_slice(out, a, f);
}

/// `out[i] = sqrt(a[i])` of floats or complex numbers, with `a` stretched to the shape of `out`, which may be `a` itself. Roots of real
/// numbers are correctly rounded; those of negative ones are NaN.
///
/// # Errors
///
/// As [`unary`].
///
/// # Examples
///
/// ```
/// use opgrid_array::{Array, loops::elementwise};
///
/// let x = Array::from_slice(&[4.0f32, 2.25], &[2])?;
/// elementwise::square_root::<f32>(&x, &x)?;
/// assert_eq!(x.to_vec::<f32>()?, [2.0, 1.5]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn square_root<T: Element<Math: Inexact>>(out: &impl Destination, a: &impl Operand) -> Result<()> {
    if T::DTYPE == DType::F32 && isa() >= Isa::V4 {
        return iter::square_roots(out.destination()?, a.source()?);
    }
    unary_by::<T, T>(out, a, SquareRoot)
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
/// use opgrid_array::{Array, loops::elementwise};
///
/// let x = Array::from_slice(&[1i64, 2, 3, 4], &[2, 2])?;
/// let y = Array::from_slice(&[10i64, 20], &[2])?;
/// elementwise::binary::<i64, i64, i64>(&x, &x, &y, |x, y| x + y)?;
/// assert_eq!(x.to_vec::<i64>()?, [11, 22, 13, 24]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[inline]
pub fn binary<O: Element, A: Element, B: Element>(
    out: &impl Destination,
    a: &impl Operand,
    b: &impl Operand,
    f: impl Fn(A::Math, B::Math) -> O::Math + Copy + Sync + 'static,
) -> Result<()> {
    binary_by::<O, A, B>(out, a, b, (f,))
}

/// As [`binary`], with a function that may be long.
///
/// # Errors
///
/// As [`unary`].
#[inline]
pub fn binary_by<O: Element, A: Element, B: Element>(
    out: &impl Destination,
    a: &impl Operand,
    b: &impl Operand,
    f: impl Function<(A::Math, B::Math), Output = O::Math>,
) -> Result<()> {
    iter::map2::<O, A, B>(out.destination()?, &[a.source()?, b.source()?], f)
}

/// `out[i] = f(a[i], b[i], c[i])`, with the inputs stretched to the shape of `out`. Each may be `out` itself.
///
/// # Errors
///
/// As [`unary`].
#[inline]
pub fn ternary<O: Element, A: Element, B: Element, C: Element>(
    out: &impl Destination,
    a: &impl Operand,
    b: &impl Operand,
    c: &impl Operand,
    f: impl Fn(A::Math, B::Math, C::Math) -> O::Math + Copy + Sync + 'static,
) -> Result<()> {
    iter::map3::<O, A, B, C>(out.destination()?, &[a.source()?, b.source()?, c.source()?], (f,))
}
