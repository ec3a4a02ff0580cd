//! Logarithms of sums of exponentials, over dimensions and of all elements so far.
//!
//! The largest element is taken out of the sum, so that no exponential is beyond the range.

use std::marker::PhantomData;

use num_complex::Complex;
use opgrid_core::{DType, Result};

use crate::choice::Bounded;
use crate::lines;
use crate::reduce::{self, COLUMNS, LANES, Reduction, STEPS, Summed};
use opgrid_array::loops::arithmetic::{Arithmetic, Ordered};
use opgrid_array::loops::elementwise::{Destination, Operand};
use opgrid_array::loops::iter::lanes::in_lanes;
use opgrid_array::loops::math::{Inexact, Magnitude};
use opgrid_array::with_dtype;
use opgrid_array::{Array, Element, Math};

/// The logarithm of the sum of the exponentials of `input` over `dims` (all if empty), each element first converted to
/// `dtype`.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without fractions.
pub fn over(out: &impl Destination, input: &impl Operand, dims: &[i64], dtype: DType) -> Result<()> {
    with_dtype!(dtype, T: Inexact => reduce::fold(out, input, dims, &LogSum::<T>(PhantomData)))
}

/// Computes the cumulative logarithm of the sum of exponentials along a dimension, in the precision of sums.
///
/// # Errors
///
/// As `lines::map`; a dtype without fractions.
pub fn scan(out: &Array, input: &Array, dim: usize) -> Result<()> {
    with_dtype!(input.dtype(), T: Inexact => {
        lines::map(out, input, dim, || (), |(): &mut (), x: &[T], y: &mut [T]| {
            let Some((first, rest)) = x.split_first() else { return };
            let mut sum = first.widen().wide();
            y[0] = *first;
            for (y, x) in y[1..].iter_mut().zip(rest) {
                sum = joined(sum, x.widen().wide());
                *y = T::narrow(Math::<T>::narrowed(sum));
            }
        })
    })
}

/// The logarithm of the sum of two exponentials. The imaginary part is the one of the higher exponential, of two equally high
/// ones the later, turned by at most half a turn.
#[inline(always)]
fn joined<M: Exponent>(sum: M, next: M) -> M {
    let (low, high) = if next.height().is_below(sum.height()) { (next, sum) } else { (sum, next) };
    high.plus(Inexact::log(M::ONE.plus(Inexact::exp(low.behind(high)))))
}

/// A number whose exponential is as high as its real part says.
pub(crate) trait Exponent: Inexact + Magnitude<Real: Inexact + Bounded> {
    /// The real part.
    fn height(self) -> Self::Real;

    /// How far one real number is from another; not at all from itself, also where that is infinite.
    fn distance(one: Self::Real, other: Self::Real) -> Self::Real;

    /// The number with the real part less `pivot`.
    fn below(self, pivot: Self::Real) -> Self;

    /// The number less a higher one, with no distance where the real parts are equal.
    fn behind(self, high: Self) -> Self;

    /// The product with a real number.
    fn scaled(self, factor: Self::Real) -> Self;

    /// The sum with a real number.
    fn raised(self, by: Self::Real) -> Self;
}

macro_rules! exponents {
    ($($part:ident),*) => {
        $(impl Exponent for $part {
            #[inline(always)]
            fn height(self) -> $part {
                self
            }

            #[inline(always)]
            fn distance(one: $part, other: $part) -> $part {
                if one == other { 0.0 } else { one - other }
            }

            #[inline(always)]
            fn below(self, pivot: $part) -> $part {
                Self::distance(self, pivot)
            }

            #[inline(always)]
            fn behind(self, high: $part) -> $part {
                Self::distance(self, high)
            }

            #[inline(always)]
            fn scaled(self, factor: $part) -> $part {
                self * factor
            }

            #[inline(always)]
            fn raised(self, by: $part) -> $part {
                self + by
            }
        }

        impl Exponent for Complex<$part> {
            #[inline(always)]
            fn height(self) -> $part {
                self.re
            }

            #[inline(always)]
            fn distance(one: $part, other: $part) -> $part {
                <$part>::distance(one, other)
            }

            #[inline(always)]
            fn below(self, pivot: $part) -> Self {
                Self::new(Self::distance(self.re, pivot), self.im)
            }

            #[inline(always)]
            fn behind(self, high: Self) -> Self {
                Self::new(Self::distance(self.re, high.re), self.im - high.im)
            }

            #[inline(always)]
            fn scaled(self, factor: $part) -> Self {
                self * factor
            }

            #[inline(always)]
            fn raised(self, by: $part) -> Self {
                self + by
            }
        })*
    };
}

exponents!(f32, f64);

/// A sum of exponentials: `sum * e ^ pivot`.
#[derive(Clone, Copy)]
struct Exponentials<M: Magnitude> {
    pivot: M::Real,
    sum: M,
}

impl<M: Exponent> Exponentials<M> {
    const NONE: Self = Self { pivot: <M::Real as Bounded>::LOWEST, sum: M::ZERO };

    #[inline(always)]
    fn one(value: M) -> Self {
        Self { pivot: value.height(), sum: Inexact::exp(value.below(value.height())) }
    }

    /// Computes the maximum and the sum of exponentials of some values.
    #[inline(always)]
    fn from_values<T: Copy>(values: &[T], value: impl Fn(T) -> M) -> Self {
        let higher = |one: M::Real, other: M::Real| if one.is_below(other) { other } else { one };
        let lowest = [<M::Real as Bounded>::LOWEST; 2 * LANES];
        let height = |pivot, []: [T; 0], x| higher(pivot, value(x).height());
        let pivot = in_lanes(([], values), lowest, height, higher);
        let add = |sum: M, []: [T; 0], x| sum.plus(Inexact::exp(value(x).below(pivot)));
        Self { pivot, sum: in_lanes(([], values), [M::ZERO; LANES], add, M::plus) }
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        let pivot = if self.pivot.is_below(other.pivot) { other.pivot } else { self.pivot };
        let part = |of: Self| of.sum.scaled(Inexact::exp(M::distance(of.pivot, pivot)));
        Self { pivot, sum: part(self).plus(part(other)) }
    }

    #[inline(always)]
    fn log(self) -> M {
        Inexact::log(self.sum).raised(self.pivot)
    }
}

struct LogSum<T>(PhantomData<fn() -> T>);

impl<T: Element<Math: Exponent>> Reduction for LogSum<T> {
    type In = T;
    type Out = T;
    type State = Exponentials<Math<T>>;

    #[inline(always)]
    fn start(&self) -> Self::State {
        Exponentials::NONE
    }

    #[inline(always)]
    fn step(&self, state: Self::State, value: Math<T>, _index: usize) -> Self::State {
        state.join(Exponentials::one(value))
    }

    #[inline(always)]
    fn join(&self, one: Self::State, other: Self::State) -> Self::State {
        one.join(other)
    }

    #[inline(always)]
    fn finish(&self, state: Self::State, _count: usize) -> Math<T> {
        state.log()
    }

    #[inline(always)]
    fn block(&self, values: &[T], _index: usize, _step: usize) -> Self::State {
        Exponentials::from_values(values, |value| value.widen())
    }

    #[inline(always)]
    fn rows(
        &self,
        states: &mut [Self::State; COLUMNS],
        rows: [&[T; COLUMNS]; STEPS],
        _index: usize,
        _step: usize,
    ) {
        for (column, state) in states.iter_mut().enumerate() {
            let mut pivot = state.pivot;
            for row in rows {
                let height = row[column].widen().height();
                pivot = if pivot.is_below(height) { height } else { pivot };
            }
            let mut sum = state.sum.scaled(Inexact::exp(Math::<T>::distance(state.pivot, pivot)));
            for row in rows {
                sum = sum.plus(Inexact::exp(row[column].widen().below(pivot)));
            }
            *state = Exponentials { pivot, sum };
        }
    }
}
