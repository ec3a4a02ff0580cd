//! Looks for elements: in lines that are in order, and in sets.

use opgrid_core::{DType, Result};

use crate::indexing::{check_apart, elements};
use crate::lines;
use crate::sorting::{self, Sortable};
use opgrid_array::error::argument;
use opgrid_array::loops::arithmetic::Ordered;
use opgrid_array::loops::copy;
use opgrid_array::with_dtype;
use opgrid_array::{Array, Bool, Element, Geometry, TensorSpec};

/// Row-major elements of a dtype: those of `input` if they are so.
///
/// # Errors
///
/// No memory, no data.
pub(crate) fn row_major(input: &Array, dtype: DType) -> Result<Array> {
    if input.dtype() == dtype && input.geometry().is_contiguous() {
        return Ok(input.clone());
    }
    copied(input, dtype)
}

/// Copies an array to new memory of a dtype.
///
/// # Errors
///
/// As [`row_major`].
fn copied(input: &Array, dtype: DType) -> Result<Array> {
    let rows = Array::empty(TensorSpec::contiguous(input.sizes(), dtype, input.device())?)?;
    copy::copy(&rows, input)?;
    Ok(rows)
}

/// Where elements of `values` belong in lines of `sequence`, both converted to `dtype`: before equal ones, or behind them
/// with `right`. There is one line for all, or one for each line of `values`.
///
/// # Errors
///
/// As `lines::map`; a dtype without an order.
pub fn places(out: &Array, sequence: &Array, values: &Array, dtype: DType, right: bool) -> Result<()> {
    let last = values.sizes().len().saturating_sub(1);
    with_dtype!(dtype, T: Real by value => {
        let find = move |sequence: &[T], value: T| {
            let value = value.widen();
            // NaN is behind everything.
            let is_before = |x: &T| {
                if right {
                    !value.is_below(x.widen())
                } else {
                    !value.is_at_most(x.widen())
                }
            };
            sequence.partition_point(is_before) as i64
        };
        if sequence.sizes().len() == 1 {
            check_apart(out, sequence)?;
            let sequence = if sequence.storage().is_same(out.storage()) {
                copied(sequence, T::DTYPE)?
            } else {
                row_major(sequence, T::DTYPE)?
            };
            let reader = sequence.storage().read()?;
            let sequence = elements::<T>(&sequence, &reader)?;
            return lines::map(out, values, last, || (), |(): &mut (), values: &[T], places: &mut [i64]| {
                places.iter_mut().zip(values).for_each(|(place, value)| *place = find(sequence, *value));
            });
        }
        lines::map_two(out, (values, sequence), last, |values: &[T], sequence: &[T], places: &mut [i64]| {
            places.iter_mut().zip(values).for_each(|(place, value)| *place = find(sequence, *value));
        })
    })
}

/// The elements of the lines of `sequence` in the order that `sorter` says.
///
/// # Errors
///
/// An index out of range; as `lines::map`.
pub fn reordered(sequence: &Array, sorter: &Array, dtype: DType) -> Result<Array> {
    let last = sequence.sizes().len().saturating_sub(1);
    let length = sequence.sizes().get(last).copied().unwrap_or(1);
    let places = row_major(sorter, DType::I64)?;
    {
        let reader = places.storage().read()?;
        let found = elements::<i64>(&places, &reader)?.iter().find(|place| !(0..length).contains(place));
        if let Some(place) = found {
            return Err(argument(format!(
                "argument `sorter` has the index {place}, which is out of range for {length} elements"
            )));
        }
    }
    let rows = Array::empty(TensorSpec::contiguous(sequence.sizes(), dtype, sequence.device())?)?;
    with_dtype!(dtype, T: Real by value => {
        lines::map_two(&rows, (sequence, &places), last, |line: &[T], places: &[i64], rows: &mut [T]| {
            rows.iter_mut().zip(places).for_each(|(row, place)| *row = line[*place as usize]);
        })
    })?;
    Ok(rows)
}

/// Whether each element of `input` is one of `set`, both converted to `dtype`; or whether it is not, with `invert`. NaN is
/// none of any set.
///
/// # Errors
///
/// As `lines::map`; a dtype without an order.
pub fn is_in(out: &Array, input: &Array, set: &Array, dtype: DType, invert: bool) -> Result<()> {
    let last = input.sizes().len().saturating_sub(1);
    with_dtype!(dtype, T: Ordered by itself => {
        let set = row_major(set, dtype)?;
        let reader = set.storage().read()?;
        let numbers = elements::<T>(&set, &reader)?.iter().filter(|element| !element.is_unordered());
        let mut keys: Vec<u64> = numbers.map(|element| element.key()).collect();
        keys.sort_unstable();
        lines::map(out, input, last, || (), |(): &mut (), x: &[T], found: &mut [Bool]| {
            for (found, x) in found.iter_mut().zip(x) {
                let is_found = !x.is_unordered() && keys.binary_search(&x.key()).is_ok();
                *found = Bool::from(is_found != invert);
            }
        })
    })
}

/// How many elements of `input` lie in each of as many equal parts from `least` to `most` as `out` has elements; those
/// beyond the ends and NaN do not count.
///
/// # Errors
///
/// No data; a dtype that is no floating-point one.
pub fn histogram(out: &Array, input: &Array, least: f64, most: f64) -> Result<()> {
    let bins = out.geometry().numel();
    let counts = Array::empty(TensorSpec::contiguous(&[bins], DType::I64, out.device())?)?;
    {
        let mut writer = counts.storage().write()?;
        let counts = writer.slice::<i64>()?;
        with_dtype!(input.dtype(), T: Float => {
            let input = row_major(input, T::DTYPE)?;
            let reader = input.storage().read()?;
            for element in elements::<T>(&input, &reader)? {
                #[allow(clippy::useless_conversion, reason = "of the other dtypes it is one")]
                let x: f64 = element.widen().into();
                if x >= least && x <= most {
                    let part = ((x - least) * bins as f64 / (most - least)) as i64;
                    counts[part.min(bins - 1) as usize] += 1;
                }
            }
            Ok(())
        })?;
    }
    copy::copy(out, &counts)
}

/// The different elements of `input` in order, or runs of equal ones where `consecutive`; for each element which of them it
/// is, if that is `numbered`, and how often each is there. NaN is different from NaN.
///
/// # Errors
///
/// No data, no memory; a dtype without an order.
pub fn unique(input: &Array, consecutive: bool, numbered: bool) -> Result<(Array, Vec<i64>, Vec<i64>)> {
    with_dtype!(input.dtype(), T: Ordered by itself => {
        let rows = row_major(input, T::DTYPE)?;
        let reader = rows.storage().read()?;
        let line = elements::<T>(&rows, &reader)?;
        let count = if numbered { line.len() } else { 0 };
        let groups = if consecutive {
            Groups::new(count, 0..line.len(), |a, b| line[a] == line[b])
        } else {
            match Groups::counted(count, line) {
                Some(groups) => groups,
                None => {
                    let mut scratch = sorting::Scratch::new();
                    let places: Vec<usize> = scratch.places(line);
                    Groups::new(count, places.into_iter(), |a, b| line[a] == line[b])
                }
            }
        };
        let values: Vec<T> = groups.firsts.iter().map(|first| line[*first]).collect();
        Ok((Array::from_slice(&values, &[values.len() as i64])?, groups.inverse, groups.counts))
    })
}

/// Finds the distinct rows: the first row of each group of equal ones, the group of each row, and how many rows each
/// group has. `input` has rows of `length` elements in row-major order.
///
/// # Errors
///
/// As [`unique`].
pub fn unique_rows(input: &Array, rows: usize, length: usize, consecutive: bool) -> Result<Groups> {
    with_dtype!(input.dtype(), T: Ordered by itself => {
        let input = row_major(input, T::DTYPE)?;
        let reader = input.storage().read()?;
        let all = elements::<T>(&input, &reader)?;
        let row = |at: usize| &all[at * length..(at + 1) * length];
        let mut order: Vec<usize> = (0..rows).collect();
        if !consecutive {
            let keys = |at: usize| row(at).iter().map(|element| element.key());
            order.sort_by(|a, b| keys(*a).cmp(keys(*b)));
        }
        Ok(Groups::new(rows, order.into_iter(), |a, b| row(a) == row(b)))
    })
}

/// Groups of equal elements.
pub struct Groups {
    /// One of each, the first.
    pub firsts: Vec<usize>,
    /// For each element the number of its group.
    pub inverse: Vec<i64>,
    /// How many elements each has.
    pub counts: Vec<i64>,
}

impl Groups {
    /// The elements of a line in order, the first `count` of them numbered, where there are not many more keys from the lowest
    /// to the highest than elements: they are counted in a table. NaN has no number in it.
    fn counted<T: Sortable>(count: usize, line: &[T]) -> Option<Self> {
        let (least, most) = sorting::ends(line);
        let size = most.checked_sub(least).filter(|range| *range < line.len() as u64)? as usize + 1;
        if line.iter().any(|element| element.is_unordered()) {
            return None;
        }
        let key = |element: &T| (element.key() - least) as usize;
        let (mut first, mut number) = (vec![0; size], vec![0i64; size]);
        for (place, element) in line.iter().enumerate() {
            let key = key(element);
            if number[key] == 0 {
                first[key] = place;
            }
            number[key] += 1;
        }
        let (mut firsts, mut counts) = (Vec::new(), Vec::new());
        for (first, number) in first.into_iter().zip(&mut number).filter(|(_, number)| **number > 0) {
            firsts.push(first);
            counts.push(*number);
            // From here on that of the group.
            *number = counts.len() as i64 - 1;
        }
        let inverse = line[..count].iter().map(|element| number[key(element)]).collect();
        Some(Self { firsts, inverse, counts })
    }

    /// Groups neighbors in an order; the first `count` elements are numbered.
    fn new(
        count: usize,
        order: impl Iterator<Item = usize>,
        is_equal: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let (mut firsts, mut inverse, mut counts) = (Vec::new(), vec![0; count], Vec::<i64>::new());
        let mut before = None;
        for place in order {
            match counts.last_mut() {
                Some(count) if before.is_some_and(|before| is_equal(before, place)) => *count += 1,
                _ => {
                    firsts.push(place);
                    counts.push(1);
                }
            }
            if let Some(number) = inverse.get_mut(place) {
                *number = counts.len() as i64 - 1;
            }
            before = Some(place);
        }
        Self { firsts, inverse, counts }
    }
}

/// A geometry of rows: dimension `dim` first, the others behind it.
///
/// # Errors
///
/// A dimension out of range.
pub fn rows_first(geometry: &Geometry, dim: usize) -> Result<Geometry> {
    let others = (0..geometry.dims()).filter(|other| *other != dim).map(|other| other as i64);
    geometry.permute(&[dim as i64].into_iter().chain(others).collect::<Vec<_>>())
}
