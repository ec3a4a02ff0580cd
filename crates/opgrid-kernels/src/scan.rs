//! Joins each element of a line with all before it: cumulative sums, products and extremes.

use std::mem::MaybeUninit;

use opgrid_core::{DType, Result};

use crate::reduce::{self, Summed};
use crate::{lines, parts};
use opgrid_array::loops::arithmetic::{Arithmetic, Ordered};
use opgrid_array::loops::simd::{VectorLoop, narrow_over, widened};
use opgrid_array::with_dtype;
use opgrid_array::{Array, Element, Math};

/// The sums of the elements of lines along `dim` up to each one, converted to `dtype` before they are added.
///
/// # Errors
///
/// As `lines::map`; a dtype without sums.
pub fn sums(out: &Array, input: &Array, dim: usize, dtype: DType) -> Result<()> {
    if let Some(converted) = reduce::as_unsigned(input, dtype)? {
        return sums(out, &converted, dim, dtype);
    }
    with_dtype!(dtype, T: Number by bits => {
        scan::<T>(out, input, dim, <Math<T> as Summed>::Wide::default(), Math::<T>::add)
    })
}

/// Computes the cumulative products along a dimension.
///
/// # Errors
///
/// As [`sums`].
pub fn products(out: &Array, input: &Array, dim: usize, dtype: DType) -> Result<()> {
    if let Some(converted) = reduce::as_unsigned(input, dtype)? {
        return products(out, &converted, dim, dtype);
    }
    with_dtype!(dtype, T: Number by bits => {
        scan::<T>(out, input, dim, <<Math<T> as Summed>::Wide as Arithmetic>::ONE, |one, other| one.times(other))
    })
}

/// Sums or products along `dim`, line by line or, where elements of a line are not neighbours, many lines side by side.
fn scan<T: Element<Math: Summed<Wide: Arithmetic>>>(
    out: &Array,
    input: &Array,
    dim: usize,
    start: <Math<T> as Summed>::Wide,
    join: impl Fn(<Math<T> as Summed>::Wide, <Math<T> as Summed>::Wide) -> <Math<T> as Summed>::Wide + Copy + Sync,
) -> Result<()> {
    let sizes = input.sizes();
    let inner = sizes.get(dim + 1..).unwrap_or_default().iter().product::<i64>() as usize;
    if inner < LINES || out.storage().is_same(input.storage()) {
        return lines::map(
            out,
            input,
            dim,
            || (),
            |(), x: &[T], y: &mut [T]| match T::DTYPE {
                DType::F16 | DType::BF16 => OfHalves { x, y, start, join }.vectorised(),
                _ => running(x, y, start, join),
            },
        );
    }
    let length = sizes[dim] as usize;
    parts::read::<T, _>(out, input, |x| {
        parts::produce::<T>(out, length * inner, length * inner, |part, y| {
            let x = &x[part * length * inner..][..length * inner];
            SideBySide { x, y, inner, start, join }.vectorised();
        })
    })
}

/// Lines from which on they are looked at side by side.
const LINES: usize = 8;

/// Lines whose elements are `inner` apart.
struct SideBySide<'a, T: Element<Math: Summed>, F> {
    x: &'a [T],
    y: &'a mut [T],
    inner: usize,
    start: <Math<T> as Summed>::Wide,
    join: F,
}

impl<T, F> VectorLoop for SideBySide<'_, T, F>
where
    T: Element<Math: Summed<Wide: Arithmetic>>,
    F: Fn(<Math<T> as Summed>::Wide, <Math<T> as Summed>::Wide) -> <Math<T> as Summed>::Wide,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        /// Lines whose states stay in the nearest cache.
        const BLOCK: usize = 1024;
        let Self { x, y, inner, start, join } = self;
        for first in (0..inner).step_by(BLOCK) {
            let n = BLOCK.min(inner - first);
            let mut states = [start; BLOCK];
            let states = &mut states[..n];
            for (x, y) in x.chunks_exact(inner).zip(y.chunks_exact_mut(inner)) {
                let (x, y) = (&x[first..first + n], &mut y[first..first + n]);
                for (state, (x, y)) in states.iter_mut().zip(x.iter().zip(y)) {
                    *state = join(*state, x.widen().wide());
                    *y = T::narrow(Math::<T>::narrowed(*state));
                }
            }
        }
    }
}

/// What `join` makes of all elements up to each one, in the precision of sums.
#[inline(always)]
fn running<T: Element<Math: Summed<Wide: Arithmetic>>>(
    x: &[T],
    y: &mut [T],
    start: <Math<T> as Summed>::Wide,
    join: impl Fn(<Math<T> as Summed>::Wide, <Math<T> as Summed>::Wide) -> <Math<T> as Summed>::Wide,
) {
    let mut state = start;
    for (y, x) in y.iter_mut().zip(x) {
        state = join(state, x.widen().wide());
        *y = T::narrow(Math::<T>::narrowed(state));
    }
}

/// Scans 16-bit floats, which vector code converts.
struct OfHalves<'a, T: Element<Math: Summed>, F> {
    x: &'a [T],
    y: &'a mut [T],
    start: <Math<T> as Summed>::Wide,
    join: F,
}

impl<T, F> VectorLoop for OfHalves<'_, T, F>
where
    T: Element<Math: Summed<Wide: Arithmetic>>,
    F: Fn(<Math<T> as Summed>::Wide, <Math<T> as Summed>::Wide) -> <Math<T> as Summed>::Wide,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { x, y, start, join } = self;
        let mut state = start;
        let ((blocks, rest), (to, to_rest)) = (x.as_chunks::<BLOCK>(), y.as_chunks_mut::<BLOCK>());
        for (x, y) in blocks.iter().zip(to) {
            state = join_block(x, y, state, &join);
        }
        join_block(rest, to_rest, state, &join);
    }
}

/// Elements that are converted together.
const BLOCK: usize = 64;

/// What [`running`] does, of at most [`BLOCK`] elements, from a state to the next one.
#[inline(always)]
fn join_block<T: Element<Math: Summed>>(
    x: &[T],
    y: &mut [T],
    mut state: <Math<T> as Summed>::Wide,
    join: &impl Fn(<Math<T> as Summed>::Wide, <Math<T> as Summed>::Wide) -> <Math<T> as Summed>::Wide,
) -> <Math<T> as Summed>::Wide {
    let mut room = [const { MaybeUninit::uninit() }; BLOCK];
    let elements = widened(&mut room, x);
    for element in &mut *elements {
        state = join(state, element.wide());
        *element = Math::<T>::narrowed(state);
    }
    narrow_over(y, elements);
    state
}

/// The largest elements of lines along `dim` up to each one, or the smallest, and where they are: the last of several.
/// NaN wins over every number.
///
/// # Errors
///
/// As `lines::map`; a dtype without an order.
pub fn extremes(values: &Array, indices: &Array, input: &Array, dim: usize, is_smallest: bool) -> Result<()> {
    with_dtype!(input.dtype(), T: Ordered by value => {
        let line = |(): &mut (), x: &[T], values: &mut [T], indices: &mut [i64]| {
            let Some(mut best) = x.first().copied() else { return };
            let mut place = 0;
            for (at, (x, (value, index))) in x.iter().zip(values.iter_mut().zip(indices)).enumerate() {
                let (new, old) = (x.widen(), best.widen());
                let is_reached = if is_smallest { new.is_at_most(old) } else { old.is_at_most(new) };
                if new.is_nan() || !old.is_nan() && is_reached {
                    (best, place) = (*x, at as i64);
                }
                (*value, *index) = (best, place);
            }
        };
        lines::map_to_two((values, indices), input, dim, || (), line)
    })
}
