//! Moves elements from and to positions that are computed from indices.
//!
//! Indexing replaces some neighbouring dimensions of a tensor by others. The element at `[b, k, a]` of the result
//! lies at the position of `b` in the dimensions before, plus the `k`-th offset, plus the position of `a` in the
//! dimensions after:
//!
//! ```text
//! sizes      2 3 │ 4 5 │ 6       before │ indexed │ after
//! positions  b   + offsets[k] + a
//! ```
//!
//! Elements are moved as what has their size, so that loops are compiled for six types instead of twelve.

use opgrid_core::{DType, Device, Error, ErrorKind, Result};
use smallvec::SmallVec;

use crate::sequence;
use opgrid_array::array::{positions, positions_from};
use opgrid_array::error::out_of_range;
use opgrid_array::loops::access::{self, Aliasing, Distinct};
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::copy;
use opgrid_array::loops::iter::produce::Indices;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Output, Target};
use opgrid_array::loops::simd::vectorised;
use opgrid_array::with_dtype;
use opgrid_array::{Array, Dims, Element, Geometry, ReadGuard, TensorSpec};

/// The positions of a tensor's elements that indices name, in the order of the result.
///
/// Invariant: every sum of positions is one of the geometry that it was made for.
pub struct Lookup {
    before: Geometry,
    /// A list of int64.
    offsets: Array,
    after: Geometry,
}

impl Lookup {
    /// Positions of `geometry`, whose `indexed` dimensions are replaced by `offsets`, from [`offsets`].
    ///
    /// # Errors
    ///
    /// An offset that does not come from indices of these dimensions.
    pub fn new(geometry: &Geometry, indexed: std::ops::Range<usize>, offsets: Array) -> Result<Self> {
        let sizes = geometry.sizes();
        let steps: Dims = (0..sizes.len()).map(|dim| geometry.step(dim) as i64).collect();
        let (start, end) = (indexed.start, indexed.end);
        let before = Geometry::strided(&sizes[..start], &steps[..start], geometry.start() as i64)?;
        let after = Geometry::strided(&sizes[end..], &steps[end..], 0)?;
        Ok(Self { before, offsets, after })
    }

    /// Calls `f` with the starts of runs of elements that follow one another in memory, and how many those are. Starts
    /// are a list of offsets and what to add to them.
    ///
    /// # Errors
    ///
    /// Somebody writes the offsets.
    fn for_each_run(&self, mut f: impl FnMut(usize, &[i64], usize)) -> Result<()> {
        let guard = self.offsets.storage().read()?;
        let offsets = elements::<i64>(&self.offsets, &guard)?;
        if offsets.is_empty() || self.after.numel() == 0 {
            // There may be no end of dimensions before without elements.
            return Ok(());
        }
        if self.after.is_contiguous() {
            let run = self.after.numel() as usize;
            for before in positions(&self.before) {
                f(before, offsets, run);
            }
            return Ok(());
        }
        let within = self.within();
        for before in positions(&self.before) {
            for &offset in offsets {
                f(before + offset as usize, &within, 1);
            }
        }
        Ok(())
    }

    /// Writes the elements of `input` that are found, in order.
    ///
    /// # Errors
    ///
    /// As [`for_each_run`](Self::for_each_run); elements beyond the end of `input`.
    fn read<T: Element>(&self, out: Output<'_, T>, input: &[T]) -> Result<()> {
        let guard = self.offsets.storage().read()?;
        let offsets = elements::<i64>(&self.offsets, &guard)?;
        if offsets.is_empty() || self.after.numel() == 0 || self.before.numel() == 0 {
            return out.produce(|_| Ok(()));
        }
        let beyond = || Error::new(ErrorKind::Internal, "an offset leads beyond the elements");
        // Where one offset leads to one element, rows are read at once.
        let bound = input.len().saturating_sub(self.before.start() + self.before.reach());
        let single = match self.after.numel() {
            1 => Some(Indices::below(bound, offsets).ok_or_else(beyond)?),
            _ => None,
        };
        let within = if self.after.is_contiguous() { Vec::new() } else { self.within() };
        let within = Indices::below(self.after.reach() + 1, &within).ok_or_else(beyond)?;
        let run = self.after.numel() as usize;
        out.produce_parts(self.before.numel() as usize * offsets.len(), |range, sequence| {
            let (mut first, mut left) = (range.start % offsets.len(), range.len());
            for before in positions_from(&self.before, range.start / offsets.len()) {
                let input = input.get(before..).unwrap_or_default();
                let here = first..offsets.len().min(first + left);
                (first, left) = (0, left - here.len());
                match single {
                    Some(offsets) => sequence.extend_from_indices(input, offsets.part(here), 0, 1),
                    None => offsets[here].iter().for_each(|&offset| {
                        let input = input.get(offset as usize..).unwrap_or_default();
                        match within.len() {
                            0 => sequence.extend_from_slice(&input[..run]),
                            _ => sequence.extend_from_indices(input, within, 0, 1),
                        }
                    }),
                }
                if left == 0 {
                    break;
                }
            }
            Ok(())
        })
    }

    /// What to add to the start of each element that is found, for all its dimensions behind.
    fn within(&self) -> Vec<i64> {
        positions(&self.after).map(|at| at as i64).collect()
    }

    /// Calls `f` with each position.
    ///
    /// # Errors
    ///
    /// As [`for_each_run`](Self::for_each_run).
    fn for_each(&self, mut f: impl FnMut(usize)) -> Result<()> {
        self.for_each_run(|before, offsets, run| {
            for &offset in offsets {
                for at in 0..run {
                    f(before + offset as usize + at);
                }
            }
        })
    }
}

/// A dimension that indices are for.
#[derive(Clone, Copy)]
pub struct Indexed {
    /// Its number, for errors.
    pub dim: usize,
    /// How many elements it has.
    pub size: i64,
    /// Elements between two of its indices.
    pub stride: i64,
    /// Whether negative indices count from the end.
    pub from_end: bool,
}

impl Indexed {
    /// # Errors
    ///
    /// An index out of range.
    pub(super) fn check(&self, indices: &[i64]) -> Result<()> {
        let Self { dim, size, from_end, .. } = *self;
        let least = if from_end { -size } else { 0 };
        let count = size.wrapping_sub(least) as u64;
        let all_fit = vectorised(move || {
            indices.iter().fold(true, |fit, index| fit & ((index.wrapping_sub(least) as u64) < count))
        });
        match indices.iter().find(|index| !all_fit && !(least..size).contains(index)) {
            Some(index) => Err(out_of_range(format!(
                "index {index} is out of bounds for dimension {dim} with size {size}"
            ))),
            None => Ok(()),
        }
    }

    /// How far from the start of the dimension the element of an index lies. Where there is no element, the stride may
    /// be of any size, so that the number wraps around; nobody looks there.
    #[inline(always)]
    fn offset(&self, index: i64) -> i64 {
        (index + if index < 0 { self.size } else { 0 }).wrapping_mul(self.stride)
    }
}

/// The sums of the offsets that lists of indices, of `shape` each, mean in their dimensions.
///
/// # Errors
///
/// An index out of range, a dtype other than int32 and int64, no data, no memory.
pub fn offsets<'a>(shape: &[i64], lists: impl IntoIterator<Item = (Indexed, &'a Array)>) -> Result<Array> {
    let sums = Array::empty(TensorSpec::contiguous(shape, DType::I64, Device::CPU)?)?;
    let mut lists = lists.into_iter();
    let Some((indexed, first)) = lists.next() else {
        sequence::numbered(&sums, |_| 0i64)?;
        return Ok(sums);
    };
    let first = row_major(first)?;
    let reader = first.storage().read()?;
    let indices = elements::<i64>(&first, &reader)?;
    indexed.check(indices)?;
    sequence::numbered(&sums, move |i| indexed.offset(indices[i as usize]))?;
    for (indexed, list) in lists {
        let list = row_major(list)?;
        let reader = list.storage().read()?;
        let indices = elements::<i64>(&list, &reader)?;
        indexed.check(indices)?;
        let mut writer = sums.storage().write()?;
        let pairs = writer.slice::<i64>()?.iter_mut().zip(indices);
        pairs.for_each(|(sum, index)| *sum = sum.wrapping_add(indexed.offset(*index)));
    }
    Ok(sums)
}

/// Indices as row-major int64.
///
/// # Errors
///
/// No data, no memory.
pub(super) fn row_major(indices: &Array) -> Result<Array> {
    if indices.dtype() == DType::I64 && indices.geometry().is_contiguous() {
        return Ok(indices.clone());
    }
    let result = Array::empty(TensorSpec::contiguous(indices.sizes(), DType::I64, indices.device())?)?;
    copy::copy(&result, indices)?;
    Ok(result)
}

/// The elements of a row-major array of that type.
pub(super) fn elements<'a, T: Element>(array: &Array, reader: &'a ReadGuard<'_>) -> Result<&'a [T]> {
    array.expect_dtype(T::DTYPE)?;
    raw_elements(array, reader)
}

/// The elements of a row-major array, as what has their size.
pub(super) fn raw_elements<'a, T: Element>(array: &Array, reader: &'a ReadGuard<'_>) -> Result<&'a [T]> {
    let start = array.geometry().start();
    let elements = reader.slice::<T>()?.get(start..).unwrap_or_default();
    Ok(&elements[..array.spec().numel() as usize])
}

/// Runs a body with a type that has the size and alignment of a dtype's elements, whatever they mean.
macro_rules! with_size_of {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype.size_in_bytes() {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = i16;
                $body
            }
            4 => {
                type $T = i32;
                $body
            }
            // A complex number is less aligned than an integer of its size.
            8 if $dtype == opgrid_core::DType::Complex64 => {
                type $T = num_complex::Complex<f32>;
                $body
            }
            8 => {
                type $T = i64;
                $body
            }
            _ => {
                type $T = num_complex::Complex<f64>;
                $body
            }
        }
    };
}

pub(super) use with_size_of;

/// Writes the elements of `input` that `lookup` names to `out`, in row-major order.
///
/// # Errors
///
/// Other sizes or another dtype, overlap, tensors without data or used by others.
pub fn read(out: &Array, input: &Array, lookup: &Lookup) -> Result<()> {
    check_apart(out, input)?;
    if out.storage().is_same(input.storage()) || out.dtype() != input.dtype() {
        // A block of its own, because guards are for whole storages.
        let apart = TensorSpec::contiguous(out.sizes(), input.dtype(), input.device())?;
        let apart = Array::empty(apart)?;
        read(&apart, input, lookup)?;
        return copy::copy(out, &apart);
    }
    if !out.geometry().is_contiguous() {
        let row_major = Array::empty(TensorSpec::contiguous(out.sizes(), out.dtype(), out.device())?)?;
        read(&row_major, input, lookup)?;
        return copy::copy(out, &row_major);
    }
    let reader = input.storage().read()?;
    let (distinct, mut writer) = (Distinct::new(out)?, out.storage().write()?);
    with_size_of!(out.dtype(), T => {
        let input = reader.slice::<T>()?;
        lookup.read(Output::of_size(Target::new(&mut writer, distinct, Overlap::Apart))?, input)
    })
}

/// Writes `input[…, index[…], …]` to `out`, which has the sizes of `index`: elsewhere than in dimension `dim` an
/// element comes from its own place.
///
/// # Errors
///
/// An index out of range; as [`read`].
pub fn pick(out: &Array, input: &Array, dim: usize, index: &Array) -> Result<()> {
    check_apart(out, index)?;
    check_apart(out, input)?;
    let direct = out.geometry().is_contiguous()
        && out.dtype() == input.dtype()
        && !out.storage().is_same(input.storage());
    if !direct {
        let apart = TensorSpec::contiguous(out.sizes(), input.dtype(), input.device())?;
        let apart = Array::empty(apart)?;
        pick(&apart, input, dim, index)?;
        return copy::copy(out, &apart);
    }
    let index = row_major(&copy::apart_from(out, index)?)?;
    let (reader, index_reader) = (input.storage().read()?, index.storage().read()?);
    let chosen = elements::<i64>(&index, &index_reader)?;
    let (distinct, mut writer) = (Distinct::new(out)?, out.storage().write()?);
    with_size_of!(out.dtype(), T => {
        let input = (reader.slice::<T>()?, input.geometry());
        let out = Output::of_size(Target::new(&mut writer, distinct, Overlap::Apart))?;
        pick_rows(out, input, dim, index.sizes(), chosen)
    })
}

fn pick_rows<T: Element>(
    out: Output<'_, T>,
    (input, geometry): (&[T], &Geometry),
    dim: usize,
    sizes: &[i64],
    chosen: &[i64],
) -> Result<()> {
    // Without dimensions there is one element, which a vector may index.
    let (size, stride) = geometry.sizes().get(dim).map_or((1, 0), |&size| (size, geometry.step(dim) as i64));
    let Some(chosen) = Indices::below(size as usize, chosen) else {
        return Indexed { dim, size, stride, from_end: false }.check(chosen);
    };
    // Positions apart from dimension `dim`.
    let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(0, sizes.len());
    for (dim, stride) in strides.iter_mut().enumerate().take(geometry.dims()) {
        *stride = geometry.step(dim) as i64;
    }
    strides.get_mut(dim).into_iter().for_each(|stride| *stride = 0);
    let (row, outer) = match sizes.split_last() {
        Some((&row, outer)) => (row as usize, outer),
        None => (1, sizes),
    };
    let along = strides.get(outer.len()).map_or(0, |stride| *stride as usize);
    let rows = Geometry::strided(outer, &strides[..outer.len()], geometry.start() as i64)?;
    let stride = stride as usize;
    out.produce_parts(rows.numel() as usize, |range, to| {
        for (number, start) in range.clone().zip(positions_from(&rows, range.start)) {
            let from = input.get(start..).unwrap_or_default();
            to.extend_from_indices(from, chosen.part(number * row..(number + 1) * row), along, stride);
        }
        Ok(())
    })
}

/// Checks that an output and an input share no memory.
///
/// # Errors
///
/// Elements of `input` that lie where `out` has some.
pub fn check_apart(out: &Array, input: &Array) -> Result<()> {
    access::check_written(out.geometry())?;
    access::check(out, input, Aliasing::Never)
}

/// Writes `values`, one for each element that `lookup` names, to `out`; of those that meet in one element the last
/// one stays.
///
/// # Errors
///
/// As [`read`].
pub fn write(out: &Array, values: &Array, lookup: &Lookup) -> Result<()> {
    let values = copy::apart_from(out, values)?;
    let reader = values.storage().read()?;
    let mut writer = out.storage().write()?;
    with_size_of!(out.dtype(), T => {
        let (out, values) = (writer.slice::<T>()?, (reader.slice()?, values.geometry()));
        combine(out, values, lookup, |_, value| value)
    })
}

/// Adds `values`, one for each element that `lookup` names, to `out`.
///
/// # Errors
///
/// As [`read`].
pub fn accumulate(out: &Array, values: &Array, lookup: &Lookup) -> Result<()> {
    let values = copy::apart_from(out, values)?;
    let reader = values.storage().read()?;
    let mut writer = out.storage().write()?;
    with_dtype!(out.dtype(), T: Any by bits => {
        let (out, values) = (writer.slice::<T>()?, (reader.slice()?, values.geometry()));
        combine(out, values, lookup, |sum: T, value: T| T::narrow(sum.widen().plus(value.widen())))
    })
}

fn combine<T: Element>(
    out: &mut [T],
    (values, geometry): (&[T], &Geometry),
    lookup: &Lookup,
    f: impl Fn(T, T) -> T,
) -> Result<()> {
    if geometry.is_contiguous() {
        let mut given = values.get(geometry.start()..).unwrap_or_default().iter();
        return lookup.for_each(|at| {
            if let Some(value) = given.next() {
                out[at] = f(out[at], *value);
            }
        });
    }
    let mut given = positions(geometry);
    lookup.for_each(|at| {
        if let Some(from) = given.next() {
            out[at] = f(out[at], values[from]);
        }
    })
}

/// The indices of a mask's elements that are not zero: a list for each dimension, one after another.
///
/// # Errors
///
/// No data, no memory.
pub fn columns(mask: &Array) -> Result<Array> {
    let rows = if mask.geometry().is_contiguous() {
        mask.clone()
    } else {
        let spec = TensorSpec::contiguous(mask.sizes(), mask.dtype(), mask.device())?;
        let rows = Array::empty(spec)?;
        copy::copy(&rows, mask)?;
        rows
    };
    let reader = rows.storage().read()?;
    let chosen = raw_elements::<u8>(&rows, &reader)?;
    let count = vectorised(|| chosen.iter().map(|byte| usize::from(*byte != 0)).sum::<usize>());
    let sizes = mask.sizes();
    // One column begins where the one before it ends, also where they have no elements.
    let geometry = Geometry::strided(&[sizes.len() as i64, count as i64], &[count as i64, 1], 0)?;
    let list = Array::empty(TensorSpec::new(geometry, DType::I64, Device::CPU))?;
    let Some((&length, outer)) = sizes.split_last().filter(|_| count > 0) else { return Ok(list) };
    {
        let mut writer = list.storage().write()?;
        let (columns, last) = writer.slice::<i64>()?.split_at_mut(outer.len() * count);
        let mut found = 0;
        for (row, chosen) in (0i64..).zip(chosen.chunks(length as usize)) {
            let before = found;
            for (at, chosen) in (0i64..).zip(chosen) {
                // Written where the next one goes, and kept if it counts: without a branch that would be mispredicted.
                if let Some(place) = last.get_mut(found) {
                    *place = at;
                }
                found += usize::from(*chosen != 0);
            }
            let mut rest = row;
            for (column, size) in columns.chunks_exact_mut(count).zip(outer).rev() {
                column[before..found].fill(rest % size);
                rest /= size;
            }
        }
    }
    Ok(list)
}
