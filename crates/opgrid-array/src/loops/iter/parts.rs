//! Hands out the elements of an output in parts of equal size to threads, each part to one thread.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use opgrid_core::Result;

use super::parallel::parallel_for;
use super::{Output, places};
use crate::error::argument;
use crate::{Element, Geometry};

/// Steps of work that are worth a piece of their own.
const PIECE: usize = 1 << 15;

/// Bytes that are cleared at a time. Of short parts several are: a load waits for stores that are on their way to an address
/// with the same last twelve bits, as zeros of an output are when the input at the same place is read.
const CLEARED: usize = 1 << 14;

/// The parts of a row-major output.
///
/// Invariant: the elements from `start` to `count * size` are those of an `Output` or of a mutable slice, borrowed for `'a`, which
/// nobody else uses.
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
        let count = count_of_parts(span.geometry(), size)?;
        Ok(Self { start: span.first().cast(), size, count, elements: PhantomData })
    }

    /// How many parts there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Where a part begins; not to be used where there is none.
    fn at(&self, part: usize) -> *mut T {
        self.start.wrapping_add(part * self.size)
    }

    /// Some parts beside each other, as far as they are there, which are cleared first.
    ///
    /// # Safety
    ///
    /// Nobody else uses one of these parts while the slice lives.
    #[expect(clippy::mut_from_ref, reason = "the caller promises that parts are used once")]
    unsafe fn parts(&self, range: Range<usize>) -> &mut [T] {
        let range = range.start..range.end.min(self.count);
        if range.is_empty() {
            return &mut [];
        }
        let start = self.at(range.start);
        let elements = range.len() * self.size;
        // SAFETY: by the invariant elements of the output; nobody else uses them, as the caller promises.
        let places = unsafe { places(start, elements) };
        places.fill(MaybeUninit::new(T::default()));
        // SAFETY: all were written by the line above.
        unsafe { std::slice::from_raw_parts_mut(start, elements) }
    }
}

/// How many parts of a size fill a row-major output.
///
/// # Errors
///
/// As `Parts::new`.
fn count_of_parts(geometry: &Geometry, size: usize) -> Result<usize> {
    let all = geometry.numel() as usize;
    if !geometry.is_contiguous() || (all > 0 && all.checked_rem(size) != Some(0)) {
        return Err(argument(format!("expected a row-major output of parts of {size}, found {geometry:?}")));
    }
    Ok(all / size.max(1))
}

/// Lets `f` write all parts of an output, each of which is zero before; `work` says how many steps a part takes.
///
/// # Errors
///
/// As `Parts::new`.
pub fn produce<T: Element>(
    out: Output<'_, T>,
    size: usize,
    work: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let none: Option<Output<'_, u8>> = None;
    produce_with((out, none), [size, 1], work, || (), |(), part, out, _| f(part, out))
}

/// Lets `f` write all parts of two outputs with equally many parts.
///
/// # Errors
///
/// As `Parts::new`; other numbers of parts.
pub fn produce_two<A: Element, B: Element>(
    (first, second): (Output<'_, A>, Output<'_, B>),
    size: usize,
    work: usize,
    f: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<()> {
    let counts = [first.span().geometry().numel(), second.span().geometry().numel()];
    if counts[0] != counts[1] {
        let message =
            format!("expected outputs of one shape, found {} and {} elements", counts[0], counts[1]);
        return Err(argument(message));
    }
    produce_with((first, Some(second)), [size, size], work, || (), |(), part, a, b| f(part, a, b))
}

/// Lets `f` write all parts of one or two outputs whose parts have sizes of their own. If one has fewer parts, `f`
/// gets empty ones; each thread has its own `scratch` for the parts that it takes at a time.
///
/// # Errors
///
/// As `Parts::new`.
pub fn produce_with<A: Element, B: Element, S>(
    (first, second): (Output<'_, A>, Option<Output<'_, B>>),
    sizes: [usize; 2],
    work: usize,
    scratch: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, &mut [A], &mut [B]) + Sync,
) -> Result<()> {
    let none: Option<Output<'_, u8>> = None;
    let outs = (first, second, none);
    produce_three(outs, [sizes[0], sizes[1], 1], work, scratch, |scratch, part, a, b, _| {
        f(scratch, part, a, b)
    })
}

/// As [`produce_with`], for up to three outputs.
///
/// # Errors
///
/// As `Parts::new`.
pub fn produce_three<A: Element, B: Element, C: Element, S>(
    (first, second, third): (Output<'_, A>, Option<Output<'_, B>>, Option<Output<'_, C>>),
    sizes: [usize; 3],
    work: usize,
    scratch: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize, &mut [A], &mut [B], &mut [C]) + Sync,
) -> Result<()> {
    let one = Parts::new(&first, sizes[0])?;
    let two = second.as_ref().map(|second| Parts::new(second, sizes[1])).transpose()?;
    let three = third.as_ref().map(|third| Parts::new(third, sizes[2])).transpose()?;
    let counts = [one.count(), two.as_ref().map_or(0, Parts::count), three.as_ref().map_or(0, Parts::count)];
    let count = counts.into_iter().max().unwrap_or(0);
    // Without elements parts may be of any size.
    let bytes = [sizes[0].saturating_mul(size_of::<A>()), sizes[1].saturating_mul(size_of::<B>())];
    let bytes = bytes.into_iter().fold(sizes[2].saturating_mul(size_of::<C>()), usize::saturating_add);
    let together = (CLEARED / bytes.max(1)).max(1);
    parallel_for(count, PIECE / work.max(1), &|range| {
        let mut scratch = scratch();
        for first in range.clone().step_by(together) {
            let few = first..range.end.min(first + together);
            // SAFETY: `parallel_for` gives out each number once, and the steps of its ranges have none in common.
            let (mut a, mut b, mut c) = unsafe {
                (
                    one.parts(few.clone()),
                    two.as_ref().map_or(&mut [][..], |two| two.parts(few.clone())),
                    three.as_ref().map_or(&mut [][..], |three| three.parts(few.clone())),
                )
            };
            for part in few {
                let a = a.split_off_mut(..sizes[0]).unwrap_or_default();
                let b = b.split_off_mut(..sizes[1]).unwrap_or_default();
                let c = c.split_off_mut(..sizes[2]).unwrap_or_default();
                f(&mut scratch, part, a, b, c);
            }
        }
    });
    // SAFETY: every part was cleared.
    unsafe { first.complete() };
    if let Some(second) = second {
        // SAFETY: every part of the second output was cleared, too.
        unsafe { second.complete() };
    }
    if let Some(third) = third {
        // SAFETY: every part of the third output was cleared by `Parts::parts`, which the loop calls for all of them.
        unsafe { third.complete() };
    }
    Ok(())
}

/// Calls `f` with chunks of `length` elements, the last one perhaps shorter, and where each begins, on several threads where
/// there are some.
pub(crate) fn for_each_chunk<T: Element>(
    elements: &mut [T],
    length: usize,
    f: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let parts = Parts { start: elements.as_mut_ptr(), size: 1, count: elements.len(), elements: PhantomData };
    parallel_for(parts.count, length, &|range| {
        // SAFETY:
        // - `parallel_for` gives ranges below the number of elements, which have none in common.
        // - the slice is borrowed mutably by `parts`.
        let chunk = unsafe { std::slice::from_raw_parts_mut(parts.at(range.start), range.len()) };
        f(range.start, chunk);
    });
}
