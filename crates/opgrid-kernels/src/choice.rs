//! Reduces elements over dimensions by choosing: extremes and where they are, whether some or all are true.

use std::marker::PhantomData;

use opgrid_core::Result;

use crate::indexing;
use crate::reduce::{self, COLUMNS, LANES, Reduction, STEPS};
use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic::Ordered;
use opgrid_array::loops::elementwise::{Destination, Operand, Typed};
use opgrid_array::loops::iter::lanes::join_sixteen;
use opgrid_array::views::normalise_dim;
use opgrid_array::with_dtype;
use opgrid_array::{Array, Bool, Element, Math, TensorSpec};

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
    u16, u16::MIN, u16::MAX;
    u32, u32::MIN, u32::MAX;
    u64, u64::MIN, u64::MAX;
    f32, f32::NEG_INFINITY, f32::INFINITY;
    f64, f64::NEG_INFINITY, f64::INFINITY;
    Bool, Bool::FALSE, Bool::TRUE;
}

/// Checks that dimensions to reduce have elements.
///
/// # Errors
///
/// Nothing to choose from in `dims` (all if empty).
pub fn check_not_empty(input: &TensorSpec, dims: &[i64]) -> Result<()> {
    if input.numel() != 0 {
        return Ok(());
    }
    if dims.is_empty() {
        let message =
            "argument `self` has no elements to reduce; select dimensions of another size with `dim`";
        return Err(argument(message));
    }
    let reduced = reduce::normalise_dims(dims, input.sizes().len())?;
    match reduced.into_iter().find(|&dim| input.sizes()[dim] == 0) {
        Some(dim) => Err(argument(format!(
            "dimension {dim} of argument `self` has size 0, expected at least one element"
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
    with_dtype!(input.element_type(), T: Ordered by value => reduce::fold(out, input, dims, &Extreme::<Top, T>(PhantomData)))
}

/// The smallest of the elements over `dims` (all if empty); NaN wins.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without an order.
pub fn smallest(out: &impl Destination, input: &(impl Operand + Typed), dims: &[i64]) -> Result<()> {
    with_dtype!(input.element_type(), T: Ordered by value => reduce::fold(out, input, dims, &Extreme::<Bottom, T>(PhantomData)))
}

/// The index of the first of the largest elements over `dims` (all if empty); NaN wins.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without an order.
pub fn index_of_largest(out: &impl Destination, input: &(impl Operand + Typed), dims: &[i64]) -> Result<()> {
    with_dtype!(input.element_type(), T: Ordered by value => reduce::fold(out, input, dims, &IndexOf::<Top, T>(PhantomData)))
}

/// The index of the first of the smallest elements over `dims` (all if empty); NaN wins.
///
/// # Errors
///
/// As [`reduce::fold`]; a dtype without an order.
pub fn index_of_smallest(out: &impl Destination, input: &(impl Operand + Typed), dims: &[i64]) -> Result<()> {
    with_dtype!(input.element_type(), T: Ordered by value => reduce::fold(out, input, dims, &IndexOf::<Bottom, T>(PhantomData)))
}

/// The elements of `input` at `indices` along `dim`, which is reduced: `out` and `indices` have a size of 1 there, or no such
/// dimension.
///
/// # Errors
///
/// An index or a dimension out of range; overlap of `out` with the others, tensors without data or used by others.
pub fn select_along(out: &Array, input: &Array, dim: i64, indices: &Array) -> Result<()> {
    let dim = normalise_dim(dim, input.sizes().len())?;
    let kept = |array: &Array| {
        if array.sizes().len() == input.sizes().len() {
            Ok(array.clone())
        } else {
            array.view(array.geometry().unsqueeze(dim as i64)?)
        }
    };
    indexing::pick(&kept(out)?, input, dim, &kept(indices)?)
}

/// Whether some element over `dims` (all if empty) is other than zero.
///
/// # Errors
///
/// As [`reduce::fold`].
pub fn any(out: &impl Destination, input: &impl Operand, dims: &[i64]) -> Result<()> {
    reduce::fold(out, input, dims, &Truth::<false>)
}

/// Whether every element over `dims` (all if empty) is other than zero.
///
/// # Errors
///
/// As [`reduce::fold`].
pub fn all(out: &impl Destination, input: &impl Operand, dims: &[i64]) -> Result<()> {
    reduce::fold(out, input, dims, &Truth::<true>)
}

/// The end of the order at which an extreme is looked for.
trait End<M> {
    /// What every value is chosen before.
    const START: M;

    /// The more extreme one; NaN wins.
    fn choose(one: M, other: M) -> M;

    /// Whether `one` is more extreme, of values that are not NaN.
    fn exceeds(one: M, other: M) -> bool;
}

enum Top {}

impl<M: Bounded> End<M> for Top {
    const START: M = M::LOWEST;

    #[inline(always)]
    fn choose(one: M, other: M) -> M {
        one.larger(other)
    }

    #[inline(always)]
    fn exceeds(one: M, other: M) -> bool {
        other.is_below(one)
    }
}

enum Bottom {}

impl<M: Bounded> End<M> for Bottom {
    const START: M = M::HIGHEST;

    #[inline(always)]
    fn choose(one: M, other: M) -> M {
        one.smaller(other)
    }

    #[inline(always)]
    fn exceeds(one: M, other: M) -> bool {
        one.is_below(other)
    }
}

/// The extreme of elements of type `T`.
struct Extreme<E, T>(PhantomData<fn() -> (E, T)>);

impl<T: Element<Math: Bounded>, E: End<Math<T>>> Reduction for Extreme<E, T> {
    type In = T;
    type Out = T;
    type State = Math<T>;

    #[inline(always)]
    fn start(&self) -> Math<T> {
        E::START
    }

    #[inline(always)]
    fn step(&self, state: Math<T>, value: Math<T>, _index: usize) -> Math<T> {
        E::choose(state, value)
    }

    #[inline(always)]
    fn join(&self, one: Math<T>, other: Math<T>) -> Math<T> {
        E::choose(one, other)
    }

    #[inline(always)]
    fn finish(&self, state: Math<T>, _count: usize) -> Math<T> {
        state
    }

    /// NaN is counted apart, two elements at a time: looking for it in what was found would make steps wait.
    #[inline(always)]
    fn block(&self, values: &[T], _index: usize, _step: usize) -> Math<T> {
        let Some(last) = values.last_chunk::<{ 2 * LANES }>() else {
            return values.iter().fold(E::START, |state, value| E::choose(state, value.widen()));
        };
        let choose = |one, other| if E::exceeds(one, other) { one } else { other };
        let (mut lanes, mut nans) = ([E::START; LANES], [0u32; LANES]);
        let groups = values.as_chunks::<{ 2 * LANES }>().0;
        for number in 0..=groups.len() {
            // The last ones together with some before them: an element may be looked at twice.
            let group = if number < groups.len() { &groups[number] } else { last };
            for lane in 0..LANES {
                let (one, other) = (group[lane].widen(), group[LANES + lane].widen());
                nans[lane] |= u32::from(one.is_nan() | other.is_nan());
                lanes[lane] = choose(lanes[lane], choose(one, other));
            }
        }
        if nans.iter().fold(0, |all, nan| all | nan) > 0 {
            return values.iter().fold(E::START, |state, value| E::choose(state, value.widen()));
        }
        join_sixteen(&lanes, choose)
    }

    #[inline(always)]
    fn rows(
        &self,
        states: &mut [Math<T>; COLUMNS],
        rows: [&[T; COLUMNS]; STEPS],
        _index: usize,
        _step: usize,
    ) {
        for (column, state) in states.iter_mut().enumerate() {
            let value = |row: usize| rows[row][column].widen();
            let pair = |row: usize| E::choose(value(row), value(row + 1));
            let tree = E::choose(E::choose(pair(0), pair(2)), E::choose(pair(4), pair(6)));
            *state = E::choose(*state, tree);
        }
    }
}

/// Elements that are looked at together, when the place of an extreme is looked for.
const WIDE: usize = 64;

/// The index of the first of the extremes of elements of type `T`.
struct IndexOf<E, T>(PhantomData<fn() -> (E, T)>);

/// A value and where it is.
type Place<T> = (Math<T>, usize);

/// Whether `one` comes before `other`, wherever it is: the more extreme one, NaN before all.
#[inline(always)]
fn beats<E: End<M>, M: Ordered>(one: M, other: M) -> bool {
    E::exceeds(one, other) | (one.is_nan() & !other.is_nan())
}

impl<T: Element<Math: Bounded>, E: End<Math<T>>> IndexOf<E, T> {
    /// Whether `one` comes before `other`: it beats it, or is the first of equals.
    #[inline(always)]
    fn wins((value, at): Place<T>, (other, other_at): Place<T>) -> bool {
        beats::<E, _>(value, other) | (!beats::<E, _>(other, value) & (at < other_at))
    }

    /// Takes one more element into each column. Pairs of values and places are faster without vectors, so that this is
    /// not inlined into loops that have them.
    #[inline(never)]
    fn take(
        &self,
        states: &mut [Place<T>; COLUMNS],
        values: &[Math<T>; COLUMNS],
        index_of: impl Fn(usize) -> usize,
    ) {
        for (column, state) in states.iter_mut().enumerate() {
            *state = self.step(*state, values[column], index_of(column));
        }
    }
}

impl<T: Element<Math: Bounded>, E: End<Math<T>>> Reduction for IndexOf<E, T> {
    type In = T;
    type Out = i64;
    type State = Place<T>;

    #[inline(always)]
    fn start(&self) -> Place<T> {
        (E::START, usize::MAX)
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

    /// Finds the extreme first, and then its place.
    #[inline(always)]
    fn block(&self, values: &[T], index: usize, step: usize) -> Place<T> {
        let extreme = Extreme::<E, T>(PhantomData).block(values, index, step);
        let is_extreme = |value: &T| !beats::<E, _>(extreme, value.widen());
        let mut before = 0;
        for group in values.chunks(WIDE) {
            if group.iter().fold(false, |found, value| found | is_extreme(value)) {
                let place = group.iter().position(is_extreme).map_or(0, |at| before + at);
                return (extreme, index + place * step);
            }
            before += group.len();
        }
        self.start()
    }

    /// Finds the row of each column's extreme first, and then takes that.
    #[inline(always)]
    fn rows(
        &self,
        states: &mut [Place<T>; COLUMNS],
        rows: [&[T; COLUMNS]; STEPS],
        index: usize,
        step: usize,
    ) {
        let (mut best, mut row_of) = ([E::START; COLUMNS], [0u32; COLUMNS]);
        for column in 0..COLUMNS {
            let (mut value, mut row) = (rows[0][column].widen(), 0);
            #[allow(clippy::needless_range_loop, reason = "adapters are not inlined into loops this long")]
            for number in 1..STEPS {
                let other = rows[number][column].widen();
                row = if beats::<E, _>(other, value) { number as u32 } else { row };
                value = if beats::<E, _>(other, value) { other } else { value };
            }
            (best[column], row_of[column]) = (value, row);
        }
        self.take(states, &best, |column| index + row_of[column] as usize * step);
    }
}

/// Whether some element is true, or `ALL` are. A constant, so that the loop has one operation and becomes vector code in whichever crate.
struct Truth<const ALL: bool>;

impl<const ALL: bool> Reduction for Truth<ALL> {
    type In = Bool;
    type Out = Bool;
    type State = bool;

    #[inline(always)]
    fn start(&self) -> bool {
        ALL
    }

    #[inline(always)]
    fn step(&self, state: bool, value: Bool, _index: usize) -> bool {
        self.join(state, value.is_true())
    }

    #[inline(always)]
    fn join(&self, one: bool, other: bool) -> bool {
        if ALL { one & other } else { one | other }
    }

    #[inline(always)]
    fn finish(&self, state: bool, _count: usize) -> Bool {
        state.into()
    }
}
