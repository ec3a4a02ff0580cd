//! Writes the elements of an output in parts of equal size, which threads share.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use opgrid_core::Result;

use super::parallel::parallel_for;
use super::{Output, places};
use crate::error::argument;
use crate::tensor::Element;

/// Steps of work that are worth a piece of their own.
const PIECE: usize = 1 << 15;

/// The parts of a row-major output.
///
/// Invariant: the elements from `start` to `count * size` are those of an `Output`, which nobody else uses.
pub(crate) struct Parts<'a, T> {
    start: *mut T,
    size: usize,
    count: usize,
    elements: PhantomData<&'a mut T>,
}

// SAFETY: different threads use different parts, as `part` asks of its callers.
unsafe impl<T: Send> Sync for Parts<'_, T> {}

impl<'a, T: Element> Parts<'a, T> {
    /// # Errors
    ///
    /// An output that is not row-major, or that the parts do not fill.
    pub(crate) fn new(out: &'a Output<'_, T>, size: usize) -> Result<Self> {
        let span = out.span();
        let geometry = span.geometry();
        let all = geometry.numel() as usize;
        if !geometry.is_contiguous() || (all > 0 && !all.is_multiple_of(size.max(1))) {
            return Err(argument(format!(
                "expected a row-major output of parts of {size}, found {geometry:?}"
            )));
        }
        Ok(Self { start: span.first().cast(), size, count: all / size.max(1), elements: PhantomData })
    }

    /// How many parts there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Some parts beside each other, which are cleared first.
    ///
    /// # Safety
    ///
    /// Nobody else uses one of these parts while the slice lives.
    #[expect(clippy::mut_from_ref, reason = "the caller promises that parts are used once")]
    pub(crate) unsafe fn parts(&self, first: usize, count: usize) -> &mut [T] {
        assert!(first + count <= self.count, "the parts are there");
        let start = self.start.wrapping_add(first * self.size);
        // SAFETY: by the invariant elements of the output; nobody else uses them, as the caller promises.
        let places = unsafe { places(start, count * self.size) };
        places.fill(MaybeUninit::new(T::default()));
        // SAFETY: all were written by the line above.
        unsafe { std::slice::from_raw_parts_mut(start, count * self.size) }
    }
}

/// Lets `f` write all parts of an output, each of which is zero before; `work` says how many steps a part takes.
///
/// # Errors
///
/// As [`Parts::new`].
pub(crate) fn produce<T: Element>(
    out: Output<'_, T>,
    size: usize,
    work: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let parts = Parts::new(&out, size)?;
    parallel_for(parts.count(), PIECE / work.max(1), &|range| {
        for part in range {
            // SAFETY: `parallel_for` gives out each number once.
            f(part, unsafe { parts.parts(part, 1) });
        }
    });
    // SAFETY: every part was cleared.
    unsafe { out.complete() };
    Ok(())
}

/// The same for two outputs with as many parts.
///
/// # Errors
///
/// As [`Parts::new`]; other numbers of parts.
pub(crate) fn produce_two<A: Element, B: Element>(
    outs: (Output<'_, A>, Output<'_, B>),
    size: usize,
    work: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<()> {
    let (first, second) = (Parts::new(&outs.0, size)?, Parts::new(&outs.1, size)?);
    if first.count() != second.count() {
        let message =
            format!("expected outputs of one shape, found {} and {} parts", first.count(), second.count());
        return Err(argument(message));
    }
    parallel_for(first.count(), PIECE / work.max(1), &|range| {
        for part in range {
            // SAFETY: `parallel_for` gives out each number once.
            f(part, unsafe { first.parts(part, 1) }, unsafe { second.parts(part, 1) });
        }
    });
    // SAFETY: every part was cleared.
    unsafe { outs.0.complete() };
    // SAFETY: as above.
    unsafe { outs.1.complete() };
    Ok(())
}
