//! Hands out the rows of one or two outputs, or the chunks of a slice, to threads, each to one thread.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use opgrid_core::Result;

use super::parallel::parallel_for;
use super::{Output, places};
use crate::error::argument;
use crate::tensor::Element;

/// A row-major output as rows of the same length.
pub(crate) struct Rows<'a, T> {
    output: Output<'a, T>,
    length: usize,
    count: usize,
}

impl<'a, T: Element> Rows<'a, T> {
    /// The last dimension of `output` as rows.
    ///
    /// # Errors
    ///
    /// An output that is not row-major, or has no dimensions.
    pub(crate) fn new(output: Output<'a, T>) -> Result<Self> {
        let geometry = output.span().geometry();
        let Some((&length, outer)) = geometry.sizes().split_last().filter(|_| geometry.is_contiguous())
        else {
            return Err(argument(format!("expected row-major rows, found {geometry:?}")));
        };
        // Where there is no element there may be more rows than there are numbers; nothing is written to them.
        let count = if geometry.numel() == 0 { 0 } else { outer.iter().product::<i64>() as usize };
        Ok(Self { output, length: length as usize, count })
    }
}

/// Where rows of a [`Rows`] begin.
struct Start<T> {
    first: *mut T,
    length: usize,
    count: usize,
}

// SAFETY: elements are `Send`; `row` asks its callers that no two threads have the same row.
unsafe impl<T: Send> Sync for Start<T> {}

impl<T: Element> Start<T> {
    /// Where a row begins; not to be used where there is none.
    fn at(&self, row: usize) -> *mut T {
        self.first.wrapping_add(row * self.length)
    }

    fn of(rows: &Rows<'_, T>) -> Self {
        Self { first: rows.output.span().first().cast(), length: rows.length, count: rows.count }
    }

    /// A row, cleared; an empty one where there are fewer.
    ///
    /// # Safety
    ///
    /// The rows that this was made of are alive, and nobody else has this one.
    #[inline]
    unsafe fn row<'a>(&self, row: usize) -> &'a mut [T] {
        if row >= self.count {
            return &mut [];
        }
        // SAFETY:
        // - `Rows::new` has asked for a row-major output with `count` rows of `length` elements, and `row` is below that.
        // - an `Output` is made of a `Target`, whose elements nobody else uses, with the size and alignment of `T`; the
        //   caller promises that nobody else has the row.
        let places = unsafe { places(self.at(row), self.length) };
        places.fill(MaybeUninit::new(T::default()));
        // SAFETY: each place was written one line above.
        unsafe { places.assume_init_mut() }
    }
}

/// Calls `f` with each row's number and the row itself of both outputs, of which the second may have none; rows that `f`
/// does not write are cleared. Each thread takes `grain` rows at a time, with `scratch` made anew.
pub(crate) fn fill_rows<A: Element, B: Element, S>(
    first: &Rows<'_, A>,
    second: Option<&Rows<'_, B>>,
    grain: usize,
    scratch: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, &mut [A], &mut [B]) + Sync,
) {
    let count = first.count.max(second.map_or(0, |rows| rows.count));
    let (one, other) = (Start::of(first), second.map(Start::of));
    parallel_for(count, grain, &|range| {
        let mut scratch = scratch();
        for row in range {
            // SAFETY: the rows are borrowed until the end of this function; `parallel_for` visits each number once.
            let (a, b) =
                unsafe { (one.row(row), other.as_ref().map_or(&mut [][..], |other| other.row(row))) };
            f(&mut scratch, row, a, b);
        }
    });
    // SAFETY: all rows were cleared at least.
    unsafe { first.output.complete() };
    if let Some(second) = second {
        // SAFETY: as above.
        unsafe { second.output.complete() };
    }
}

/// Calls `f` with chunks of `length` elements, the last one perhaps shorter, and where each begins, on several threads where
/// there are some.
pub(crate) fn for_each_chunk<T: Element>(
    elements: &mut [T],
    length: usize,
    f: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let chunks = Start { first: elements.as_mut_ptr(), length: 1, count: elements.len() };
    parallel_for(elements.len(), length, &|range| {
        // SAFETY:
        // - `parallel_for` gives ranges below the number of elements, which have none in common.
        // - the slice is borrowed mutably until the end of this function.
        let chunk = unsafe { std::slice::from_raw_parts_mut(chunks.at(range.start), range.len()) };
        f(range.start, chunk);
    });
}
