//! The variance and the standard deviation of elements over dimensions.
//!
//! A block of elements is looked at twice, for its average and for the squares of the distances from it; blocks are joined
//! as a tree. All is kept in double precision. So no digits are lost where elements are large and close to each other.
//!
//! Source: T. F. Chan, G. H. Golub and R. J. LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample
//! Variances (1979).

use std::marker::PhantomData;

use num_complex::Complex;
use opgrid_core::Result;

use crate::reduce::{self, COLUMNS, LANES, Reduction, STEPS, Summed};
use opgrid_array::loops::elementwise::Typed;
use opgrid_array::loops::elementwise::{Destination, Operand};
use opgrid_array::loops::iter::lanes::in_lanes;
use opgrid_array::loops::math::Magnitude;
use opgrid_array::with_dtype;
use opgrid_array::{Element, Math};

/// The squared distances of elements over `dims` (all if empty) from their average, divided by their number less
/// `correction`, or its square root. Those of complex numbers are distances in the plane.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without fractions.
pub fn variance(
    out: &impl Destination,
    input: &(impl Operand + Typed),
    dims: &[i64],
    correction: f64,
    is_deviation: bool,
) -> Result<()> {
    with_dtype!(input.element_type(), T: Inexact => {
        reduce::fold(out, input, dims, &Variance::<T> { correction, is_deviation, element: PhantomData })
    })
}

/// What averages are: a number or a point in the plane.
pub(crate) trait Point: Copy + Default + Send {
    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The multiple.
    fn scaled(self, factor: f64) -> Self;

    /// The square of the distance from zero.
    fn square(self) -> f64;
}

impl Point for f64 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn scaled(self, factor: f64) -> Self {
        self * factor
    }

    #[inline(always)]
    fn square(self) -> f64 {
        self * self
    }
}

impl Point for Complex<f64> {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn scaled(self, factor: f64) -> Self {
        self * factor
    }

    #[inline(always)]
    fn square(self) -> f64 {
        self.norm_sqr()
    }
}

struct Variance<T> {
    correction: f64,
    is_deviation: bool,
    element: PhantomData<fn() -> T>,
}

/// How many elements there are, their average, and the sum of the squared distances from it.
#[derive(Clone, Copy, Default)]
struct Moments<P> {
    count: f64,
    mean: P,
    squares: f64,
}

impl<P: Point> Moments<P> {
    /// Computes the moments of some values in two passes. The first sums distances from one of the values, so that
    /// equal numbers have a variance of exactly zero.
    #[inline(always)]
    fn from_values<T: Copy>(values: &[T], value: impl Fn(T) -> P) -> Self {
        let Some(&first) = values.first() else { return Self::default() };
        let (first, count) = (value(first), values.len() as f64);
        let mean = first.plus(total(values, |x| value(x).plus(first.scaled(-1.0))).scaled(1.0 / count));
        let squares = total(values, |x| value(x).plus(mean.scaled(-1.0)).square());
        Self { count, mean, squares }
    }

    #[inline(always)]
    fn join(self, other: Self) -> Self {
        let count = self.count + other.count;
        if self.count == 0.0 {
            return other;
        }
        let way = other.mean.plus(self.mean.scaled(-1.0));
        let share = other.count / count;
        Self {
            count,
            mean: self.mean.plus(way.scaled(share)),
            squares: self.squares + other.squares + way.square() * self.count * share,
        }
    }
}

/// The sum of a term for each value, in lanes.
#[inline(always)]
fn total<T: Copy, P: Point>(values: &[T], term: impl Fn(T) -> P) -> P {
    let zeros = [P::default(); LANES];
    in_lanes(([], values), zeros, |sum, []: [T; 0], value| sum.plus(term(value)), P::plus)
}

impl<T> Reduction for Variance<T>
where
    T: Element<Math: Summed<Wide: Point> + Magnitude<Real: Element<Math = <Math<T> as Magnitude>::Real>>>,
    <Math<T> as Magnitude>::Real: FromDouble,
{
    type In = T;
    type Out = <Math<T> as Magnitude>::Real;
    type State = Moments<<Math<T> as Summed>::Wide>;

    #[inline(always)]
    fn start(&self) -> Self::State {
        Moments::default()
    }

    #[inline(always)]
    fn step(&self, state: Self::State, value: Math<T>, _index: usize) -> Self::State {
        let mean = value.wide();
        // Zero, or NaN for what is not finite: nothing is at a distance from infinity.
        let squares = mean.plus(mean.scaled(-1.0)).square();
        state.join(Moments { count: 1.0, mean, squares })
    }

    #[inline(always)]
    fn join(&self, one: Self::State, other: Self::State) -> Self::State {
        if other.count == 0.0 { one } else { one.join(other) }
    }

    #[inline(always)]
    fn finish(&self, state: Self::State, count: usize) -> Math<Self::Out> {
        if count == 0 {
            return FromDouble::from_double(f64::NAN);
        }
        let variance = state.squares / (count as f64 - self.correction).max(0.0);
        FromDouble::from_double(if self.is_deviation { variance.sqrt() } else { variance })
    }

    #[inline(always)]
    fn block(&self, values: &[T], _index: usize, _step: usize) -> Self::State {
        Moments::from_values(values, |value| value.widen().wide())
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
            let value = |row: usize| rows[row][column].widen().wide();
            let pair = |row: usize| value(row).plus(value(row + 1));
            let mean = pair(0).plus(pair(2)).plus(pair(4).plus(pair(6))).scaled(1.0 / STEPS as f64);
            let mut squares = 0.0;
            for row in 0..STEPS {
                squares += value(row).plus(mean.scaled(-1.0)).square();
            }
            *state = state.join(Moments { count: STEPS as f64, mean, squares });
        }
    }
}

/// A float that a result in double precision is rounded to.
pub(crate) trait FromDouble {
    /// The nearest one.
    fn from_double(value: f64) -> Self;
}

impl FromDouble for f32 {
    #[inline(always)]
    fn from_double(value: f64) -> Self {
        value as f32
    }
}

impl FromDouble for f64 {
    #[inline(always)]
    fn from_double(value: f64) -> Self {
        value
    }
}
