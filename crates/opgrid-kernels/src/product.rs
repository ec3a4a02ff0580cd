//! Multiplies elements over dimensions.

use std::marker::PhantomData;

use opgrid_core::{DType, Result};

use crate::reduce::{self, LANES, Reduction};
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::elementwise::{Destination, Operand};
use opgrid_array::loops::iter::lanes::in_lanes;
use opgrid_array::with_dtype;
use opgrid_array::{Element, Math};

/// The product of `input` over `dims` (all if empty), each element first converted to `dtype`; 16-bit floats are
/// multiplied in single precision.
///
/// # Errors
///
/// As [`reduce::fold`].
pub fn product(out: &impl Destination, input: &impl Operand, dims: &[i64], dtype: DType) -> Result<()> {
    match reduce::as_unsigned(input, dtype)? {
        Some(converted) => product(out, &converted, dims, dtype),
        None => {
            with_dtype!(dtype, T: Any by bits => reduce::fold(out, input, dims, &Product::<T>(PhantomData)))
        }
    }
}

struct Product<T>(PhantomData<fn() -> T>);

impl<T: Element<Math: Arithmetic>> Reduction for Product<T> {
    type In = T;
    type Out = T;
    type State = Math<T>;

    #[inline(always)]
    fn start(&self) -> Math<T> {
        Math::<T>::ONE
    }

    #[inline(always)]
    fn step(&self, state: Math<T>, value: Math<T>, _index: usize) -> Math<T> {
        state.times(value)
    }

    #[inline(always)]
    fn join(&self, one: Math<T>, other: Math<T>) -> Math<T> {
        one.times(other)
    }

    /// In twice as many states: a product takes four steps of the processor.
    #[inline(always)]
    fn block(&self, values: &[T], _index: usize, _step: usize) -> Math<T> {
        let step = |state: Math<T>, []: [T; 0], value: T| state.times(value.widen());
        in_lanes(([], values), [Math::<T>::ONE; 2 * LANES], step, Arithmetic::times)
    }

    #[inline(always)]
    fn finish(&self, state: Math<T>, _count: usize) -> Math<T> {
        state
    }
}
