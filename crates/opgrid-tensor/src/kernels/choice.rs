//! Reduces elements over dimensions by choosing: extremes and where they are, whether some or all are true.

use std::marker::PhantomData;

use opgrid_core::{DType, Result};

use super::arithmetic::Ordered;
use super::elementwise::{Destination, Operand};
use super::reduce::{self, Reduction};
use crate::error::argument;
use crate::tensor::{Bool, Element, Math, TensorSpec};
use crate::with_dtype;

/// A type with a smallest and a largest value.
pub trait Bounded: Ordered {
    /// No value is below.
    const LOWEST: Self;
    /// No value is above.
    const HIGHEST: Self;
}

macro_rules! bounded {
    ($($type:ty, $lowest:expr, $highest:expr;)*) => {
        $(impl Bounded for $type {
            const LOWEST: Self = $lowest;
            const HIGHEST: Self = $highest;
        })*
    };
}

bounded! {
    u8, u8::MIN, u8::MAX;
    i8, i8::MIN, i8::MAX;
    i16, i16::MIN, i16::MAX;
    i32, i32::MIN, i32::MAX;
    i64, i64::MIN, i64::MAX;
    f32, f32::NEG_INFINITY, f32::INFINITY;
    f64, f64::NEG_INFINITY, f64::INFINITY;
    Bool, Bool::FALSE, Bool::TRUE;
}

/// # Errors
///
/// Nothing to choose from in `dims` (all if empty).
pub fn check_not_empty(input: &TensorSpec, dims: &[i64]) -> Result<()> {
    if input.numel() != 0 {
        return Ok(());
    }
    if dims.is_empty() {
        let message =
            "argument `self` has no elements to choose from; name dimensions of another size by `dim`";
        return Err(argument(message));
    }
    let reduced = reduce::normalise_dims(dims, input.sizes().len())?;
    match reduced.into_iter().find(|&dim| input.sizes()[dim] == 0) {
        Some(dim) => Err(argument(format!(
            "dimension {dim} of argument `self` has size 0, expected elements to choose from"
        ))),
        None => Ok(()),
    }
}

/// The largest of the elements over `dims` (all if empty); NaN wins.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without an order.
pub fn largest(out: &impl Destination, input: &(impl Operand + Typed), dims: &[i64]) -> Result<()> {
    with_dtype!(input.element_type(), T: Ordered => reduce::fold(out, input, dims, &Largest::<T>(PhantomData)))
}

/// The smallest of the elements over `dims` (all if empty); NaN wins.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without an order.
pub fn smallest(out: &impl Destination, input: &(impl Operand + Typed), dims: &[i64]) -> Result<()> {
    with_dtype!(input.element_type(), T: Ordered => reduce::fold(out, input, dims, &Smallest::<T>(PhantomData)))
}

/// The index of the first of the largest elements over `dims` (all if empty); NaN wins.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without an order.
pub fn index_of_largest(out: &impl Destination, input: &(impl Operand + Typed), dims: &[i64]) -> Result<()> {
    with_dtype!(input.element_type(), T: Real => reduce::fold(out, input, dims, &IndexOfLargest::<T>(PhantomData)))
}

/// Whether some element over `dims` (all if empty) is other than zero.
///
/// # Errors
///
/// As [`reduce::fold`].
pub fn any(out: &impl Destination, input: &impl Operand, dims: &[i64]) -> Result<()> {
    reduce::fold(out, input, dims, &Truth { all: false })
}

/// Whether every element over `dims` (all if empty) is other than zero.
///
/// # Errors
///
/// As [`reduce::fold`].
pub fn all(out: &impl Destination, input: &impl Operand, dims: &[i64]) -> Result<()> {
    reduce::fold(out, input, dims, &Truth { all: true })
}

/// What says of which dtype its elements are.
pub trait Typed {
    /// The dtype of the elements.
    fn element_type(&self) -> DType;
}

impl Typed for crate::Array {
    fn element_type(&self) -> DType {
        self.dtype()
    }
}

impl Typed for crate::Tensor {
    fn element_type(&self) -> DType {
        self.dtype()
    }
}

macro_rules! extreme {
    ($($name:ident $start:ident $choose:ident;)*) => {
        $(struct $name<T>(PhantomData<fn() -> T>);

        impl<T: Element<Math: Bounded>> Reduction for $name<T> {
            type In = T;
            type Out = T;
            type State = Math<T>;

            #[inline(always)]
            fn start(&self) -> Math<T> {
                Math::<T>::$start
            }

            #[inline(always)]
            fn step(&self, state: Math<T>, value: Math<T>, _index: usize) -> Math<T> {
                state.$choose(value)
            }

            #[inline(always)]
            fn join(&self, one: Math<T>, other: Math<T>) -> Math<T> {
                one.$choose(other)
            }

            #[inline(always)]
            fn finish(&self, state: Math<T>, _count: usize) -> Math<T> {
                state
            }
        })*
    };
}

extreme! {
    Largest LOWEST larger;
    Smallest HIGHEST smaller;
}

struct IndexOfLargest<T>(PhantomData<fn() -> T>);

/// A value and where it is.
type Place<T> = (Math<T>, usize);

impl<T: Element<Math: Bounded>> IndexOfLargest<T> {
    /// Whether `one` comes before `other`: the larger one, NaN before all, the first of equals.
    #[inline(always)]
    fn wins((value, at): Place<T>, (other, other_at): Place<T>) -> bool {
        let ties = (value.is_nan() & other.is_nan()) | (!value.is_below(other) & !other.is_below(value));
        let nan = value.is_nan() & !other.is_nan();
        let beaten = other.is_nan() & !value.is_nan();
        nan | (!beaten & (other.is_below(value) | (ties & (at < other_at))))
    }
}

impl<T: Element<Math: Bounded>> Reduction for IndexOfLargest<T> {
    type In = T;
    type Out = i64;
    type State = Place<T>;

    #[inline(always)]
    fn start(&self) -> Place<T> {
        (Math::<T>::LOWEST, usize::MAX)
    }

    #[inline(always)]
    fn step(&self, state: Place<T>, value: Math<T>, index: usize) -> Place<T> {
        self.join((value, index), state)
    }

    #[inline(always)]
    fn join(&self, one: Place<T>, other: Place<T>) -> Place<T> {
        if Self::wins(one, other) { one } else { other }
    }

    #[inline(always)]
    fn finish(&self, (_, at): Place<T>, _count: usize) -> i64 {
        at as i64
    }
}

struct Truth {
    all: bool,
}

impl Reduction for Truth {
    type In = Bool;
    type Out = Bool;
    type State = bool;

    #[inline(always)]
    fn start(&self) -> bool {
        self.all
    }

    #[inline(always)]
    fn step(&self, state: bool, value: Bool, _index: usize) -> bool {
        self.join(state, value.is_true())
    }

    #[inline(always)]
    fn join(&self, one: bool, other: bool) -> bool {
        if self.all { one & other } else { one | other }
    }

    #[inline(always)]
    fn finish(&self, state: bool, _count: usize) -> Bool {
        state.into()
    }
}
