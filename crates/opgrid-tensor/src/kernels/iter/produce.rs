//! Writes the elements of an output one behind the other, without a look at what was there before.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use opgrid_core::Result;

use super::{Output, places};
use crate::error::argument;
use crate::kernels::simd::{self, VectorLoop};
use crate::tensor::Element;

/// The elements of a row-major output, of which the first `done` are written.
pub(crate) struct Sequence<'a, T> {
    places: &'a mut [MaybeUninit<T>],
    done: usize,
}

impl<T: Element> Sequence<'_, T> {
    /// Writes the next `n` elements: `f(0)` to `f(n - 1)`. What `f` has captured by value stays in registers.
    #[inline(always)]
    pub(crate) fn extend_with(&mut self, n: usize, f: impl FnMut(usize) -> T) {
        (f, &mut self.places[self.done..self.done + n]).vectorised();
        self.done += n;
    }

    /// Writes the next elements: those of a slice.
    #[inline]
    pub(crate) fn extend_from_slice(&mut self, elements: &[T]) {
        simd::copy(&mut self.places[self.done..self.done + elements.len()], elements);
        self.done += elements.len();
    }

    /// Writes the next elements: those of a slice, from the last one on.
    #[inline]
    pub(crate) fn extend_from_reversed(&mut self, elements: &[T]) {
        let places = &mut self.places[self.done..self.done + elements.len()];
        Reversed(elements, places).vectorised();
        self.done += elements.len();
    }

    /// How many elements are still to be written.
    pub(crate) fn rest(&self) -> usize {
        self.places.len() - self.done
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

impl<T: Element> Output<'_, T> {
    /// Lets `f` write all elements in order.
    ///
    /// # Errors
    ///
    /// An output that is not row-major, or of which `f` has left elements out; that of `f`.
    pub(crate) fn produce(self, f: impl FnOnce(&mut Sequence<'_, T>) -> Result<()>) -> Result<()> {
        let span = self.span();
        let geometry = span.geometry();
        if !geometry.is_contiguous() {
            return Err(argument(format!("expected a row-major output, found {geometry:?}")));
        }
        // SAFETY:
        // - an `Output` is made of a `Target`, whose elements nobody else uses, with the size and alignment of `T`.
        // - a row-major geometry has no gaps, as asked above.
        let places = unsafe { places(span.first().cast::<T>(), geometry.numel() as usize) };
        let mut sequence = Sequence { places, done: 0 };
        f(&mut sequence)?;
        match sequence.rest() {
            0 => {
                // SAFETY: a sequence writes its places one after the other, and none is left.
                unsafe { self.complete() };
                Ok(())
            }
            rest => Err(argument(format!("{rest} elements of the output were not written"))),
        }
    }
}
