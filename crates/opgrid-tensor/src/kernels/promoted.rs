//! Element-wise loops on inputs of several dtypes: inputs are converted first, and the result at the end.
//!
//! An input of another dtype is copied; a number in a tensor's place goes into the loop as a constant. Where every
//! dtype is the same, nothing is copied.

use opgrid_core::{DType, Result, Scalar};

use super::access::{self, Aliasing};
use super::arithmetic::number;
use super::{copy, elementwise};
use crate::tensor::{Array, Element, Tensor, TensorSpec};

/// An input, ready for a loop over elements of one dtype.
pub enum Operand<'a> {
    /// An array that has the dtype.
    Array(&'a Array),
    /// A copy that has the dtype; boxed, so that operands without one are small to move.
    Converted(Box<Array>),
    /// A number in a tensor's place.
    Number(Scalar),
}

/// The same for a loop over elements of type `T`.
enum Input<'a, T> {
    Array(&'a Array),
    Constant(T),
}

impl<'a> Operand<'a> {
    fn input<T: Element>(&self) -> Result<Input<'_, T>> {
        match self {
            Self::Array(array) => Ok(Input::Array(array)),
            Self::Converted(array) => Ok(Input::Array(array)),
            Self::Number(value) => Ok(Input::Constant(T::from_number(number(*value)))),
        }
    }

    fn new(input: &'a Tensor, dtype: DType, out: &Array) -> Result<Self> {
        if let Some(value) = input.bare_number() {
            return Ok(Self::Number(value));
        }
        let array = input.array()?;
        if array.dtype() == dtype {
            return Ok(Self::Array(array));
        }
        // The copy could not disturb the loop, but whether a call is refused shall not depend on dtypes.
        access::check(out, array, Aliasing::InPlace)?;
        let spec = TensorSpec::elementwise(&[array.geometry()], dtype, array.device())?;
        let converted = Array::empty(spec)?;
        copy::copy(&converted, array)?;
        Ok(Self::Converted(Box::new(converted)))
    }
}

/// Lets `compute` write elements of `dtype` to `out`, by way of a temporary array where `out` has another dtype.
///
/// # Errors
///
/// Those of `compute` and of conversions.
pub fn run<const N: usize>(
    out: &Tensor,
    inputs: [&Tensor; N],
    dtype: DType,
    compute: impl FnOnce(&Array, [Operand<'_>; N]) -> Result<()>,
) -> Result<()> {
    let out = out.array()?;
    let mut operands = [const { Operand::Number(Scalar::Bool(false)) }; N];
    for (operand, input) in operands.iter_mut().zip(inputs) {
        *operand = Operand::new(input, dtype, out)?;
    }
    if out.dtype() == dtype {
        return compute(out, operands);
    }
    let temporary = Array::empty(TensorSpec::elementwise(&[out.geometry()], dtype, out.device())?)?;
    compute(&temporary, operands)?;
    copy::copy(out, &temporary)
}

/// `out[i] = f(a[i])`.
///
/// # Errors
///
/// As [`elementwise::unary`].
pub fn unary<T: Element>(out: &Array, a: &Operand<'_>, f: impl Fn(T::Math) -> T::Math) -> Result<()> {
    let f = |a: T| T::narrow(f(a.widen()));
    match a.input::<T>()? {
        Input::Array(a) => elementwise::unary(out, a, f),
        Input::Constant(a) => elementwise::fill(out, f(a)),
    }
}

/// `out[i] = f(a[i], b[i])`.
///
/// # Errors
///
/// As [`elementwise::binary`].
pub fn binary<T: Element>(
    out: &Array,
    a: &Operand<'_>,
    b: &Operand<'_>,
    f: impl Fn(T::Math, T::Math) -> T::Math,
) -> Result<()> {
    let f = |a: T, b: T| T::narrow(f(a.widen(), b.widen()));
    match (a.input::<T>()?, b.input::<T>()?) {
        (Input::Array(a), Input::Array(b)) => elementwise::binary(out, a, b, f),
        (Input::Array(a), Input::Constant(b)) => elementwise::unary(out, a, |a| f(a, b)),
        (Input::Constant(a), Input::Array(b)) => elementwise::unary(out, b, |b| f(a, b)),
        (Input::Constant(a), Input::Constant(b)) => elementwise::fill(out, f(a, b)),
    }
}
