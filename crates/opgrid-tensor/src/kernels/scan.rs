//! Joins each element of a line with all before it: cumulative sums, products and extremes.

use opgrid_core::{DType, Result};

use super::arithmetic::{Arithmetic, Ordered};
use super::lines;
use super::reduce::Summed;
use crate::tensor::{Array, Element, Math};
use crate::with_dtype;

/// The sums of the elements of lines along `dim` up to each one, converted to `dtype` before they are added.
///
/// # Errors
///
/// As [`lines::map`]; a dtype without sums.
pub(crate) fn sums(out: &Array, input: &Array, dim: usize, dtype: DType) -> Result<()> {
    with_dtype!(dtype, T: Number => {
        lines::map(out, input, dim, || (), |(), x: &[T], y: &mut [T]| {
            running(x, y, <Math<T> as Summed>::Wide::default(), Math::<T>::add);
        })
    })
}

/// The same of products.
///
/// # Errors
///
/// As [`sums`].
pub(crate) fn products(out: &Array, input: &Array, dim: usize, dtype: DType) -> Result<()> {
    with_dtype!(dtype, T: Number => {
        lines::map(out, input, dim, || (), |(), x: &[T], y: &mut [T]| {
            running(x, y, <<Math<T> as Summed>::Wide as Arithmetic>::ONE, Arithmetic::times);
        })
    })
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

/// The largest elements of lines along `dim` up to each one, or the smallest, and where they are: the last of several.
/// NaN wins over every number.
///
/// # Errors
///
/// As [`lines::map`]; a dtype without an order.
pub(crate) fn extremes(
    values: &Array,
    indices: &Array,
    input: &Array,
    dim: usize,
    is_smallest: bool,
) -> Result<()> {
    with_dtype!(input.dtype(), T: Ordered => {
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
