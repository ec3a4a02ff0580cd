//! Places for tensors in one block, planned before they are made: a program that knows the sizes and the lives of its values lets those
//! share memory that do not live at the same time.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opgrid_core::{Error, ErrorKind, Result};

use super::cache::ALIGNMENT;
use super::memory::Allocation;

/// Tensors of at most so many bytes are not offered a place: the cache gives them memory in less time.
pub const SMALLEST: usize = 64 << 10;

/// A block of memory with places in it.
///
/// A tensor that is made while a place of its size is [offered](Self::offer) lies there, unless a tensor that lives uses a part of that
/// place: then its memory comes from elsewhere, as if no place had been offered. The block lives as long as the tensors in it. The thread
/// that has the arena is the only one that offers its places; tensors may be dropped on any.
///
/// # Examples
///
/// ```
/// use opgrid_array::{Arena, Storage};
///
/// let arena = Arena::new(vec![0..100_000, 50_048..150_048])?;
/// assert_eq!(arena.bytes(), 150_048);
/// let first = {
///     let _offer = arena.offer(&[0]);
///     Storage::cpu(100_000)?
/// };
/// assert!(arena.is_used(0));
/// let _offer = arena.offer(&[1]);
/// assert!(Storage::cpu(100_000).is_ok() && !arena.is_used(1), "the first one lives");
/// drop(first);
/// let second = Storage::cpu(100_000)?;
/// assert!(arena.is_used(1));
/// # drop(second);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct Arena {
    block: Arc<Block>,
    /// For each place the others that it shares bytes with.
    rivals: Box<[Box<[usize]>]>,
    /// Only one thread at a time may take places.
    one_thread: PhantomData<Cell<()>>,
}

/// The memory.
///
/// Invariants: every place lies in `memory`, at a multiple of [`ALIGNMENT`]. A place that is in `used` belongs to one allocation, and
/// no other place in `used` has a byte of it.
struct Block {
    memory: Allocation,
    places: Box<[Range<usize>]>,
    used: Box<[AtomicBool]>,
}

/// A place that is offered.
struct Offer {
    block: Arc<Block>,
    place: usize,
    rivals: *const [usize],
}

thread_local! {
    /// What is offered on this thread.
    ///
    /// Invariant: `rivals` of each leads to a slice of an arena that the guard of the offer borrows.
    static OFFERS: RefCell<Vec<Offer>> = const { RefCell::new(Vec::new()) };
}

/// As long as it lives the places are offered on its thread, and what was offered before is not.
#[must_use = "the offer ends when this is dropped"]
pub struct Offered<'a> {
    before: Vec<Offer>,
    arena: PhantomData<&'a Arena>,
    this_thread: PhantomData<*const ()>,
}

impl Arena {
    /// Memory with these places, in bytes from its start. Some may share bytes.
    ///
    /// # Errors
    ///
    /// A place that does not begin at a multiple of [`ALIGNMENT`], or ends before it begins; there is no such memory.
    pub fn new(places: Vec<Range<usize>>) -> Result<Self> {
        let is_wrong =
            |place: &&Range<usize>| !place.start.is_multiple_of(ALIGNMENT) || place.end < place.start;
        if let Some(place) = places.iter().find(is_wrong) {
            let message = format!(
                "found the place {place:?}, expected a start that is a multiple of {ALIGNMENT} before its end"
            );
            return Err(Error::new(ErrorKind::Value, message));
        }
        let bytes = places.iter().map(|place| place.end).max().unwrap_or(0);
        let memory = Allocation::system(bytes).ok_or_else(|| super::no_memory(bytes))?;
        let share = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        let rivals = places.iter().enumerate().map(|(index, place)| {
            let others = places.iter().enumerate();
            others
                .filter(|(other, rival)| *other != index && share(place, rival))
                .map(|(other, _)| other)
                .collect()
        });
        let rivals = rivals.collect();
        let used = places.iter().map(|_| AtomicBool::new(false)).collect();
        let block = Arc::new(Block { memory, places: places.into(), used });
        Ok(Self { block, rivals, one_thread: PhantomData })
    }

    /// The bytes of the block.
    pub fn bytes(&self) -> usize {
        self.block.memory.bytes()
    }

    /// Whether a tensor that lives uses a place.
    ///
    /// # Panics
    ///
    /// There is no such place.
    pub fn is_used(&self, place: usize) -> bool {
        self.block.used[place].load(Ordering::Acquire)
    }

    /// Offers places to the tensors of the CPU that this thread makes, each to the first one of its size.
    ///
    /// # Panics
    ///
    /// There is no such place.
    pub fn offer(&self, places: &[usize]) -> Offered<'_> {
        let one = |place: &usize| Offer {
            block: Arc::clone(&self.block),
            place: *place,
            rivals: &raw const *self.rivals[*place],
        };
        let offers = places.iter().map(one).collect();
        let before = OFFERS.with(|now| now.replace(offers));
        Offered { before, arena: PhantomData, this_thread: PhantomData }
    }
}

impl Drop for Offered<'_> {
    fn drop(&mut self) {
        OFFERS.with(|now| drop(now.replace(std::mem::take(&mut self.before))));
    }
}

/// The place that is offered to a tensor of so many bytes, if one is and it is free.
#[cold]
#[inline(never)]
pub(super) fn claim(bytes: usize) -> Option<Allocation> {
    OFFERS
        .try_with(|offers| {
            let mut offers = offers.borrow_mut();
            let is_meant = |offer: &Offer| {
                let place = &offer.block.places[offer.place];
                place.end - place.start == bytes && offer.is_free()
            };
            let index = offers.iter().position(is_meant)?;
            offers.swap_remove(index).take()
        })
        .ok()
        .flatten()
}

impl Offer {
    fn is_free(&self) -> bool {
        // SAFETY: the invariant of `OFFERS`.
        let rivals = unsafe { &*self.rivals };
        let used = |place: &usize| self.block.used[*place].load(Ordering::Acquire);
        !used(&self.place) && !rivals.iter().any(used)
    }

    /// Takes the place, which is free.
    fn take(self) -> Option<Allocation> {
        let Self { block, place, .. } = self;
        let Range { start, end } = block.places[place];
        block.used[place].store(true, Ordering::Relaxed);
        // SAFETY: the place lies in the block's memory.
        let address = unsafe { block.memory.start?.add(start) };
        let release = move || block.used[place].store(false, Ordering::Release);
        // SAFETY:
        // - the bytes are those of the block's memory, which `release` keeps alive until it has run.
        // - nobody else uses them: the place and all that share bytes with it were free, and only this thread takes places of the arena,
        //   which is not `Sync` and is borrowed as long as places are offered; that the place is used is said before anything else
        //   can be taken.
        Some(unsafe { Allocation::foreign(address, end - start, release) })
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arena of {} bytes with {} places", self.bytes(), self.rivals.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Storage;

    const BYTES: usize = SMALLEST + ALIGNMENT;

    fn with_one_place() -> Arena {
        Arena::new(std::iter::once(0..BYTES).collect()).unwrap()
    }

    fn made(arena: &Arena, place: usize) -> Storage {
        let _offer = arena.offer(&[place]);
        Storage::cpu(BYTES).unwrap()
    }

    #[test]
    fn a_place_is_given_once_and_again_when_it_is_free() {
        let arena = Arena::new(vec![0..BYTES, BYTES..2 * BYTES, 0..2 * BYTES]).unwrap();
        let (a, b) = (made(&arena, 0), made(&arena, 1));
        assert!(arena.is_used(0) && arena.is_used(1));
        assert_eq!(b.address().unwrap().addr().get() - a.address().unwrap().addr().get(), BYTES);
        let elsewhere = made(&arena, 0);
        assert_ne!(elsewhere.address(), a.address());
        a.write().unwrap().slice::<u8>().unwrap().fill(1);
        b.write().unwrap().slice::<u8>().unwrap().fill(2);
        assert!(a.read().unwrap().slice::<u8>().unwrap().iter().all(|byte| *byte == 1));
        // The third shares bytes with both.
        let large = || {
            let _offer = arena.offer(&[2]);
            Storage::cpu(2 * BYTES).unwrap()
        };
        drop((a, large()));
        assert!(!arena.is_used(2));
        drop(b);
        let third = large();
        assert!(arena.is_used(2));
        assert!(third.is_private());
    }

    #[test]
    fn memory_of_a_place_reads_as_zero_until_it_is_written() {
        let arena = with_one_place();
        made(&arena, 0).write().unwrap().slice::<u8>().unwrap().fill(7);
        let again = made(&arena, 0);
        assert!(arena.is_used(0));
        assert!(again.read().unwrap().slice::<u8>().unwrap().iter().all(|byte| *byte == 0));
    }

    #[test]
    fn tensors_outlive_the_arena_and_end_on_other_threads() {
        let arena = with_one_place();
        let storage = made(&arena, 0);
        std::thread::scope(|scope| {
            scope.spawn(move || storage.write().unwrap().slice::<u8>().unwrap().fill(3));
        });
        assert!(!arena.is_used(0));
        let storage = made(&arena, 0);
        drop(arena);
        storage.write().unwrap().slice::<u8>().unwrap().fill(4);
    }

    #[test]
    fn offers_are_for_their_thread_and_their_time() {
        let arena = with_one_place();
        let offer = arena.offer(&[0]);
        std::thread::scope(|scope| {
            scope.spawn(|| drop(Storage::cpu(BYTES).unwrap()));
        });
        let inner = arena.offer(&[]);
        let other = Storage::cpu(BYTES).unwrap();
        assert!(!arena.is_used(0));
        drop(inner);
        let storage = Storage::cpu(BYTES).unwrap();
        assert!(arena.is_used(0));
        drop((offer, storage, other));
        drop(Storage::cpu(BYTES).unwrap());
        assert!(!arena.is_used(0));
    }

    #[test]
    fn places_that_are_none_are_refused() {
        for (start, end) in [(8, 100), (128, 64)] {
            assert!(Arena::new(std::iter::once(start..end).collect()).is_err());
        }
    }
}
