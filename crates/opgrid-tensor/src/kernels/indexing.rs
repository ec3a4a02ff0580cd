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

use opgrid_core::{DType, Result};
use smallvec::SmallVec;

use super::access::{self, Aliasing};
use super::arithmetic::Arithmetic;
use super::copy;
use crate::error::argument;
use crate::tensor::array::positions;
use crate::tensor::{Array, Element, Geometry, TensorSpec};
use crate::with_dtype;

/// The positions of a tensor's elements that indices name, in the order of the result.
///
/// Invariant: every sum of positions is one of the geometry that it was made for.
pub(crate) struct Lookup {
    before: Geometry,
    offsets: Vec<usize>,
    after: Geometry,
}

impl Lookup {
    /// Positions of `geometry`, whose `indexed` dimensions are replaced by `offsets`.
    ///
    /// # Errors
    ///
    /// An offset that does not come from indices of these dimensions.
    pub(crate) fn new(
        geometry: &Geometry,
        indexed: std::ops::Range<usize>,
        offsets: Vec<usize>,
    ) -> Result<Self> {
        let (sizes, strides) = (geometry.sizes(), geometry.strides());
        let part = Geometry::strided(&sizes[indexed.clone()], &strides[indexed.clone()], 0)?;
        debug_assert!(offsets.iter().all(|&offset| (offset as i64) < part.end().max(1)));
        let (start, end) = (indexed.start, indexed.end);
        let before = Geometry::strided(&sizes[..start], &strides[..start], geometry.offset())?;
        let after = Geometry::strided(&sizes[end..], &strides[end..], 0)?;
        Ok(Self { before, offsets, after })
    }

    /// The number of elements that follow one another in memory, at least.
    fn run(&self) -> usize {
        match self.after.is_contiguous() {
            true => self.after.numel() as usize,
            false => 1,
        }
    }

    /// Calls `f` with the start of each run.
    fn for_each_run(&self, mut f: impl FnMut(usize)) {
        let within = match self.after.is_contiguous() {
            true => vec![0],
            false => positions(&self.after).collect(),
        };
        for before in positions(&self.before) {
            for offset in &self.offsets {
                within.iter().for_each(|at| f(before + offset + at));
            }
        }
    }

    /// Calls `f` with each position.
    fn for_each(&self, mut f: impl FnMut(usize)) {
        let run = self.run();
        self.for_each_run(|start| (start..start + run).for_each(&mut f));
    }
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
            8 if $dtype == DType::Complex64 => {
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

/// Writes the elements of `input` that `lookup` names to `out`, in row-major order.
///
/// # Errors
///
/// Other sizes or another dtype, overlap, tensors without data or used by others.
pub(crate) fn read(out: &Array, input: &Array, lookup: &Lookup) -> Result<()> {
    check_apart(out, input)?;
    if out.storage().is_same(input.storage()) || out.dtype() != input.dtype() {
        // A block of its own, because guards are for whole storages.
        let apart = TensorSpec::contiguous(out.sizes(), input.dtype(), input.device())?;
        let apart = Array::empty(apart)?;
        read(&apart, input, lookup)?;
        return copy::copy(out, &apart);
    }
    let reader = input.storage().read()?;
    let mut writer = out.storage().write()?;
    with_size_of!(out.dtype(), T => {
        read_as::<T>(writer.slice()?, out.geometry(), reader.slice()?, lookup);
        Ok(())
    })
}

fn read_as<T: Element>(out: &mut [T], geometry: &Geometry, input: &[T], lookup: &Lookup) {
    let run = lookup.run();
    if geometry.is_contiguous() && run > 1 {
        let mut places = out[geometry.offset() as usize..].chunks_exact_mut(run);
        lookup.for_each_run(|start| {
            if let Some(place) = places.next() {
                place.copy_from_slice(&input[start..start + run]);
            }
        });
        return;
    }
    let mut places = positions(geometry);
    lookup.for_each(|from| {
        if let Some(at) = places.next() {
            out[at] = input[from];
        }
    });
}

/// # Errors
///
/// Elements of `input` that lie where `out` has some.
pub(crate) fn check_apart(out: &Array, input: &Array) -> Result<()> {
    access::check_written(out.geometry())?;
    access::check(out, input, Aliasing::Never)
}

/// Writes `values`, one for each element that `lookup` names, to `out`; of those that meet in one element the last
/// one stays.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn write(out: &Array, values: &Array, lookup: &Lookup) -> Result<()> {
    let reader = values.storage().read()?;
    let mut writer = out.storage().write()?;
    with_size_of!(out.dtype(), T => {
        let (out, values) = (writer.slice::<T>()?, (reader.slice()?, values.geometry()));
        combine(out, values, lookup, |_, value| value);
        Ok(())
    })
}

/// Adds `values`, one for each element that `lookup` names, to `out`.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn accumulate(out: &Array, values: &Array, lookup: &Lookup) -> Result<()> {
    let reader = values.storage().read()?;
    let mut writer = out.storage().write()?;
    with_dtype!(out.dtype(), T => {
        let (out, values) = (writer.slice::<T>()?, (reader.slice()?, values.geometry()));
        combine(out, values, lookup, |sum: T, value: T| T::narrow(sum.widen().plus(value.widen())));
        Ok(())
    })
}

fn combine<T: Element>(
    out: &mut [T],
    (values, geometry): (&[T], &Geometry),
    lookup: &Lookup,
    f: impl Fn(T, T) -> T,
) {
    let mut given = positions(geometry);
    lookup.for_each(|at| {
        if let Some(from) = given.next() {
            out[at] = f(out[at], values[from]);
        }
    });
}

/// The elements of an array of indices, in row-major order.
///
/// # Errors
///
/// A dtype other than int32 and int64; no data.
pub(crate) fn indices(array: &Array) -> Result<Vec<i64>> {
    match array.dtype() {
        DType::I32 => Ok(array.to_vec::<i32>()?.into_iter().map(i64::from).collect()),
        _ => array.to_vec::<i64>(),
    }
}

/// The place of `index` in a dimension of `size` elements; negative ones count from the end where that is `allowed`.
///
/// # Errors
///
/// An index out of range.
#[inline]
pub(crate) fn place(index: i64, size: i64, dim: usize, allowed: bool) -> Result<i64> {
    let least = if allowed { -size } else { 0 };
    if !(least..size).contains(&index) {
        return Err(argument(format!("index {index} is out of bounds for dimension {dim} with size {size}")));
    }
    Ok(if index < 0 { index + size } else { index })
}

/// The indices of elements that are not zero: for each dimension a column.
///
/// # Errors
///
/// No data.
pub(crate) fn columns(mask: &Array) -> Result<SmallVec<[Vec<i64>; 4]>> {
    let sizes = mask.sizes();
    let mut columns: SmallVec<[Vec<i64>; 4]> = sizes.iter().map(|_| Vec::new()).collect();
    let chosen: Vec<bool> = match mask.dtype() {
        DType::U8 => mask.to_vec::<u8>()?.into_iter().map(|byte| byte != 0).collect(),
        _ => mask.to_vec::<crate::Bool>()?.into_iter().map(bool::from).collect(),
    };
    for at in (0i64..).zip(chosen).filter_map(|(at, chosen)| chosen.then_some(at)) {
        let mut rest = at;
        for (column, size) in columns.iter_mut().zip(sizes).rev() {
            column.push(rest % size);
            rest /= size;
        }
    }
    Ok(columns)
}
