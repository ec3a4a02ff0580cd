//! Writes the elements of an output one after another, without a look at what was there before.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use opgrid_core::{Error, Result};

use super::parallel::parallel_for_of;
use super::pool::Amount;
use super::{Output, places};
use crate::error::argument;
use crate::loops::simd::{self, VectorLoop, vectorised};
use crate::{Element, Geometry};

/// The elements of a row-major output, of which the first `done` are written.
pub struct Sequence<'a, T> {
    places: &'a mut [MaybeUninit<T>],
    done: usize,
}

impl<T: Element> Sequence<'_, T> {
    /// Writes the next `n` elements: `f(0)` to `f(n - 1)`. What `f` has captured by value stays in registers.
    #[inline(always)]
    pub fn extend_with(&mut self, n: usize, f: impl FnMut(usize) -> T) {
        (f, &mut self.places[self.done..self.done + n]).vectorised();
        self.done += n;
    }

    /// Writes the next elements: those of a slice.
    #[inline]
    pub fn extend_from_slice(&mut self, elements: &[T]) {
        simd::copy(&mut self.places[self.done..self.done + elements.len()], elements);
        self.done += elements.len();
    }

    /// Writes the next elements: those of a slice, from the last one on.
    #[inline]
    pub fn extend_from_reversed(&mut self, elements: &[T]) {
        let places = &mut self.places[self.done..self.done + elements.len()];
        Reversed(elements, places).vectorised();
        self.done += elements.len();
    }

    /// Writes the next elements: `from[along * k + stride * index]` for the `k`-th index. Looked at once, they need not be
    /// compared with the end of `from` one by one, which takes as long as reading the elements.
    ///
    /// # Panics
    ///
    /// `from` is not so long that all indices below the bound lie within.
    pub fn extend_from_indices(&mut self, from: &[T], indices: Indices<'_>, along: usize, stride: usize) {
        let Indices { indices, bound } = indices;
        let n = indices.len();
        let places = &mut self.places[self.done..self.done + n];
        let Some(last) = n.checked_sub(1) else { return };
        let farthest = last.checked_mul(along).zip((bound - 1).checked_mul(stride));
        let farthest = farthest.and_then(|(along, index)| along.checked_add(index));
        assert!(
            farthest.is_some_and(|farthest| farthest < from.len()),
            "all indices lie within the elements"
        );
        match (along, stride) {
            // A loop of its own, without a multiplication, in which a third of the time is left.
            (0, 1) => {
                for k in 0..n {
                    // SAFETY:
                    // - `k` is below the number of indices, and of places.
                    // - the index is below the bound, by the invariant of `Indices`, and `from` at least as long.
                    unsafe {
                        let index = *indices.get_unchecked(k) as usize;
                        places.get_unchecked_mut(k).write(*from.get_unchecked(index));
                    }
                }
            }
            _ => {
                for k in 0..n {
                    // SAFETY: `k` is below the number of indices, and of places. The index is below the
                    // bound, by the invariant of `Indices`, so that the sum is at most that of the last
                    // place and the largest index, which was compared with the end of `from` and does not
                    // wrap.
                    unsafe {
                        let index = *indices.get_unchecked(k) as usize;
                        let at = k.wrapping_mul(along).wrapping_add(index.wrapping_mul(stride));
                        places.get_unchecked_mut(k).write(*from.get_unchecked(at));
                    }
                }
            }
        }
        self.done += n;
    }

    /// How many elements are still to be written.
    pub fn rest(&self) -> usize {
        self.places.len() - self.done
    }

    /// # Errors
    ///
    /// Elements that are still to be written.
    fn finish(&self) -> Result<()> {
        match self.rest() {
            0 => Ok(()),
            rest => Err(left_out(rest)),
        }
    }
}

#[cold]
#[inline(never)]
fn left_out(rest: usize) -> Error {
    argument(format!("{rest} elements of the output were not written"))
}

#[cold]
#[inline(never)]
fn not_row_major(geometry: &Geometry) -> Error {
    argument(format!("expected a row-major output, found {geometry:?}"))
}

/// Indices that were looked at.
///
/// Invariant: none is negative, or `bound` or above; without indices the bound may be anything.
#[derive(Clone, Copy)]
pub struct Indices<'a> {
    indices: &'a [i64],
    bound: usize,
}

impl<'a> Indices<'a> {
    /// Indices below `bound`; `None` if one of them is not.
    pub fn below(bound: usize, indices: &'a [i64]) -> Option<Self> {
        // As unsigned numbers negative ones are above every bound of signed ones.
        let end = bound.min(i64::MAX as usize) as u64;
        let all_fit =
            vectorised(move || indices.iter().fold(true, |fit, index| fit & ((*index as u64) < end)));
        all_fit.then_some(Self { indices, bound })
    }

    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "callers compare lengths")]
    pub fn len(self) -> usize {
        self.indices.len()
    }

    /// Some of them.
    pub fn part(self, range: Range<usize>) -> Self {
        Self { indices: &self.indices[range], ..self }
    }
}

/// What is written in reverse order, and where to.
struct Reversed<'a, T>(&'a [T], &'a mut [MaybeUninit<T>]);

impl<T: Copy> VectorLoop for Reversed<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (place, element) in self.1.iter_mut().zip(self.0.iter().rev()) {
            place.write(*element);
        }
    }
}

/// What is written, and where to.
impl<T, F: FnMut(usize) -> T> VectorLoop for (F, &mut [MaybeUninit<T>]) {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (mut f, places) = self;
        for (i, place) in places.iter_mut().enumerate() {
            place.write(f(i));
        }
    }
}

/// Where threads write, each its own part.
struct Shared<T>(*mut T);

// SAFETY: `produce_parts` lets each thread use other elements.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn at(&self, element: usize) -> *mut T {
        self.0.wrapping_add(element)
    }
}

/// Elements that are moved one by one, of which a thread takes a piece, and from how many on they are work for threads.
const GRAIN: usize = 1 << 14;
const PARALLEL: usize = 1 << 16;
const PARALLEL_AWAKE: usize = 1 << 15;

impl<T: Element> Output<'_, T> {
    /// Lets `f` write `count` parts, of as many elements each: it gets numbers of parts, and writes those in order. Many
    /// elements are shared out between threads.
    ///
    /// # Errors
    ///
    /// As [`produce`](Self::produce); parts that do not make up the output.
    pub fn produce_parts(
        self,
        count: usize,
        f: impl Fn(Range<usize>, &mut Sequence<'_, T>) -> Result<()> + Sync,
    ) -> Result<()> {
        let span = self.span();
        let geometry = span.geometry();
        let numel = geometry.numel() as usize;
        if !geometry.is_contiguous() || (numel > 0 && numel.checked_rem(count) != Some(0)) {
            return Err(argument(format!(
                "expected a row-major output of {count} parts, found {geometry:?}"
            )));
        }
        if numel == 0 {
            // SAFETY: there is no element.
            unsafe { self.complete() };
            return Ok(());
        }
        let size = numel / count;
        let (amount, grain) = match numel {
            PARALLEL.. => (Amount::Much, GRAIN.div_ceil(size)),
            PARALLEL_AWAKE.. => (Amount::Little, GRAIN.div_ceil(size)),
            _ => (Amount::Little, count),
        };
        let start = Shared(span.first().cast::<T>());
        let failed = Mutex::new(None);
        parallel_for_of(amount, count, grain, &|range| {
            // SAFETY:
            // - an `Output` is made of a `Target`, whose elements nobody else uses, with the size and alignment of `T`.
            // - a row-major geometry has no gaps, as asked above; `parallel_for_of` gives out each number below `count` once.
            let places = unsafe { places(start.at(range.start * size), range.len() * size) };
            let mut sequence = Sequence { places, done: 0 };
            let written = f(range, &mut sequence).and_then(|()| sequence.finish());
            if let Err(error) = written {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => {
                // SAFETY: all parts were written to their ends, or there was an error.
                unsafe { self.complete() };
                Ok(())
            }
        }
    }

    /// Lets `f` write all elements in order.
    ///
    /// # Errors
    ///
    /// An output that is not row-major, or of which `f` has left elements out; that of `f`.
    pub fn produce(self, f: impl FnOnce(&mut Sequence<'_, T>) -> Result<()>) -> Result<()> {
        let span = self.span();
        let geometry = span.geometry();
        if !geometry.is_contiguous() {
            return Err(not_row_major(geometry));
        }
        // SAFETY:
        // - an `Output` is made of a `Target`, whose elements nobody else uses, with the size and alignment of `T`.
        // - a row-major geometry has no gaps, as asked above.
        let places = unsafe { places(span.first().cast::<T>(), geometry.numel() as usize) };
        let mut sequence = Sequence { places, done: 0 };
        f(&mut sequence)?;
        sequence.finish()?;
        // SAFETY: a sequence writes its places one after the other, and none is left.
        unsafe { self.complete() };
        Ok(())
    }
}
