//! Norms of vectors: elements over dimensions.

use std::marker::PhantomData;

use opgrid_core::{DType, Result};

use crate::reduce::{self, Reduction};
use crate::variance::FromDouble;
use opgrid_array::loops::elementwise::{Destination, Operand};
use opgrid_array::loops::iter::Source;
use opgrid_array::loops::iter::lanes::in_lanes;
use opgrid_array::loops::iter::reduction::LANES;
use opgrid_array::loops::math::Magnitude;
use opgrid_array::with_dtype;
use opgrid_array::{Element, Math, part_of};

/// The norm of `input` over `dims` (all if empty), each element first converted to `dtype`: the sum of the magnitudes to
/// the power of `order`, of which the root is taken. For 0 it counts what is not zero, and for infinite orders it is the
/// largest or the smallest magnitude. Of one element it is that element's magnitude for all orders but 0.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without fractions.
pub fn norm(
    out: &impl Destination,
    input: &impl Operand,
    dims: &[i64],
    order: f64,
    dtype: DType,
) -> Result<()> {
    // Of a single element it is the magnitude, which powers would lose.
    let count = match input.source()? {
        Source::Array(array) => array.geometry().numel(),
        Source::Number(_) => 1,
    };
    let is_single = out.destination()?.geometry().numel() == count;
    let order = if is_single && order != 0.0 && !order.is_nan() { 1.0 } else { order };
    let order = order_in(dtype, order);
    with_dtype!(dtype, T: Inexact => {
        match order {
            0.0 => reduce::fold(out, input, dims, &Norm::<Count, T>::new(order)),
            1.0 => reduce::fold(out, input, dims, &Norm::<Sum, T>::new(order)),
            2.0 => reduce::fold(out, input, dims, &Norm::<Root, T>::new(order)),
            f64::INFINITY => reduce::fold(out, input, dims, &Norm::<Largest, T>::new(order)),
            f64::NEG_INFINITY => reduce::fold(out, input, dims, &Norm::<Smallest, T>::new(order)),
            _ => reduce::fold(out, input, dims, &Norm::<Power, T>::new(order)),
        }
    })
}

/// The order of a norm of elements of a dtype: one beyond the range in which their powers are taken is infinite.
pub fn order_in(dtype: DType, order: f64) -> f64 {
    let is_beyond = part_of(dtype) != DType::F64 && (order as f32).is_infinite();
    if is_beyond { f64::INFINITY.copysign(order) } else { order }
}

/// How magnitudes become one number.
trait Order {
    /// For no magnitudes.
    const START: f64 = 0.0;
    /// Whether a number contributes what its negative does, so that its sign may stay.
    const IS_EVEN: bool = false;

    /// What a magnitude contributes.
    fn term(magnitude: f64, order: f64) -> f64;

    /// Combines two partial results.
    #[inline(always)]
    fn join(one: f64, other: f64) -> f64 {
        one + other
    }

    /// The norm.
    #[inline(always)]
    fn finish(state: f64, _order: f64) -> f64 {
        state
    }
}

enum Count {}
enum Sum {}
enum Root {}
enum Power {}
enum Largest {}
enum Smallest {}

impl Order for Count {
    #[inline(always)]
    fn term(magnitude: f64, _order: f64) -> f64 {
        if magnitude == 0.0 { 0.0 } else { 1.0 }
    }
}

impl Order for Sum {
    #[inline(always)]
    fn term(magnitude: f64, _order: f64) -> f64 {
        magnitude
    }
}

impl Order for Root {
    const IS_EVEN: bool = true;

    #[inline(always)]
    fn term(magnitude: f64, _order: f64) -> f64 {
        magnitude * magnitude
    }

    #[inline(always)]
    fn finish(state: f64, _order: f64) -> f64 {
        state.sqrt()
    }
}

impl Order for Power {
    #[inline(always)]
    fn term(magnitude: f64, order: f64) -> f64 {
        magnitude.powf(order)
    }

    #[inline(always)]
    fn finish(state: f64, order: f64) -> f64 {
        state.powf(1.0 / order)
    }
}

impl Order for Largest {
    #[inline(always)]
    fn term(magnitude: f64, _order: f64) -> f64 {
        magnitude
    }

    #[inline(always)]
    fn join(one: f64, other: f64) -> f64 {
        if one > other || one.is_nan() { one } else { other }
    }
}

impl Order for Smallest {
    const START: f64 = f64::INFINITY;

    #[inline(always)]
    fn term(magnitude: f64, _order: f64) -> f64 {
        magnitude
    }

    #[inline(always)]
    fn join(one: f64, other: f64) -> f64 {
        if one < other || one.is_nan() { one } else { other }
    }
}

struct Norm<K, T> {
    order: f64,
    parts: PhantomData<fn() -> (K, T)>,
}

impl<K, T> Norm<K, T> {
    fn new(order: f64) -> Self {
        Self { order, parts: PhantomData }
    }
}

impl<K: Order, T: Element<Math: Magnitude<Real: Into<f64>>>> Norm<K, T> {
    /// What an element contributes.
    #[inline(always)]
    fn term(&self, value: Math<T>) -> f64 {
        let magnitude = if const { K::IS_EVEN } { value.with_any_sign() } else { value.magnitude() };
        K::term(magnitude.into(), self.order)
    }
}

impl<K: Order, T> Reduction for Norm<K, T>
where
    T: Element<Math: Magnitude<Real: Element<Math = <Math<T> as Magnitude>::Real>>>,
    <Math<T> as Magnitude>::Real: FromDouble + Into<f64>,
{
    type In = T;
    type Out = <Math<T> as Magnitude>::Real;
    type State = f64;

    #[inline(always)]
    fn start(&self) -> f64 {
        K::START
    }

    #[inline(always)]
    fn step(&self, state: f64, value: Math<T>, _index: usize) -> f64 {
        K::join(state, self.term(value))
    }

    #[inline(always)]
    fn join(&self, one: f64, other: f64) -> f64 {
        K::join(one, other)
    }

    #[inline(always)]
    fn block(&self, values: &[T], _index: usize, _step: usize) -> f64 {
        let step = |state, []: [T; 0], value: T| K::join(state, self.term(value.widen()));
        in_lanes(([], values), [K::START; 2 * LANES], step, K::join)
    }

    #[inline(always)]
    fn finish(&self, state: f64, _count: usize) -> Math<Self::Out> {
        FromDouble::from_double(K::finish(state, self.order))
    }
}
