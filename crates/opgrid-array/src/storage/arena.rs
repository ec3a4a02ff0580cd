//! Places for tensors in one block, planned before they are made: a program that knows the sizes and the lives of its values lets those
//! share memory that do not live at the same time.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opgrid_core::{Error, ErrorKind, Result};

use super::allocator;
use super::cache::ALIGNMENT;
use super::memory::Allocation;

/// Tensors of at most so many bytes are not offered a place: the cache gives them memory in less time.
pub const SMALLEST: usize = 64 << 10;

/// A block of memory with places in it, from the allocator that was [set](crate::devices::set_allocator) for the CPU, if one was.
///
/// A tensor that is made while a place of its size is [offered](Self::offer) lies there, unless a tensor that lives uses a part of that
/// place: then its memory comes from elsewhere, as if no place had been offered. The block lives as long as the tensors in it and the
/// offers. Any thread may offer places and drop tensors.
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
pub struct Arena(Arc<Block>);

/// The memory.
///
/// Invariants: every place lies in `memory`, at a multiple of [`ALIGNMENT`]; `rivals` of a place are all others that share a byte with
/// it. A place that is used belongs to one allocation, and none of its rivals is used: a place becomes used only by who has `taking`.
struct Block {
    memory: Allocation,
    places: Box<[Place]>,
    /// Whether a thread is looking for free places.
    taking: AtomicBool,
}

struct Place {
    bytes: Range<usize>,
    rivals: Box<[usize]>,
    used: AtomicBool,
}

/// A place that is offered.
struct Offer {
    block: Arc<Block>,
    place: usize,
}

thread_local! {
    /// What is offered on this thread.
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
        let memory = match allocator::of_cpu() {
            Some(allocator) => super::allocated_for_cpu(&*allocator, bytes)?,
            None => Allocation::system(bytes).ok_or_else(|| super::no_memory(bytes))?,
        };
        let share = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        let one = |(index, bytes): (usize, &Range<usize>)| {
            let others = places.iter().enumerate();
            let rivals = others.filter(|(other, rival)| *other != index && share(bytes, rival));
            let rivals = rivals.map(|(other, _)| other).collect();
            Place { bytes: bytes.clone(), rivals, used: AtomicBool::new(false) }
        };
        let places = places.iter().enumerate().map(one).collect();
        Ok(Self(Arc::new(Block { memory, places, taking: AtomicBool::new(false) })))
    }

    /// The bytes of the block.
    pub fn bytes(&self) -> usize {
        self.0.memory.bytes()
    }

    /// Whether a tensor that lives uses a place.
    ///
    /// # Panics
    ///
    /// There is no such place.
    pub fn is_used(&self, place: usize) -> bool {
        self.0.places[place].used.load(Ordering::Acquire)
    }

    /// Offers places to the tensors of the CPU that this thread makes, each to the first one of its size.
    ///
    /// # Panics
    ///
    /// There is no such place.
    pub fn offer(&self, places: &[usize]) -> Offered<'_> {
        let one = |place: &usize| {
            assert!(*place < self.0.places.len(), "there is no place {place}");
            Offer { block: Arc::clone(&self.0), place: *place }
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
    let found = OFFERS.try_with(|offers| {
        let mut offers = offers.borrow_mut();
        let of_that_size = |offer: &Offer| offer.block.places[offer.place].bytes.len() == bytes;
        let (index, memory) = offers.iter().enumerate().find_map(|(index, offer)| {
            let memory = if of_that_size(offer) { offer.block.take(offer.place) } else { None };
            Some((index, memory?))
        })?;
        offers.swap_remove(index);
        Some(memory)
    });
    found.ok().flatten()
}

impl Block {
    /// Takes a place, unless a byte of it is used. Another thread that takes one meanwhile, even one that a fork left behind, is not
    /// waited for.
    fn take(self: &Arc<Self>, place: usize) -> Option<Allocation> {
        if self.taking.swap(true, Ordering::Acquire) {
            return None;
        }
        let Place { bytes, rivals, used } = &self.places[place];
        let is_used = |other: &usize| self.places[*other].used.load(Ordering::Acquire);
        let is_free = !is_used(&place) && !rivals.iter().any(is_used);
        if is_free {
            used.store(true, Ordering::Relaxed);
        }
        self.taking.store(false, Ordering::Release);
        if !is_free {
            return None;
        }
        // SAFETY: by the invariant the place lies in the block's memory.
        let address = unsafe { self.memory.start?.add(bytes.start) };
        let block = Arc::clone(self);
        let release = move || block.places[place].used.store(false, Ordering::Release);
        // SAFETY:
        // - the bytes are those of the block's memory, which `release` keeps alive until it has run.
        // - nobody else uses them: the invariant of `Block`, which `taking` enforces among threads: the place and its rivals were free
        //   when this one became used, and stay so until `release` has run. Nothing but places gives out the block's memory.
        Some(unsafe { Allocation::foreign(address, bytes.len(), release) })
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arena of {} bytes with {} places", self.bytes(), self.0.places.len())
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
    fn offers_that_are_never_taken_back_outlive_the_arena() {
        let arena = with_one_place();
        std::mem::forget(arena.offer(&[0]));
        drop(arena);
        let storage = Storage::cpu(BYTES).unwrap();
        storage.write().unwrap().slice::<u8>().unwrap().fill(5);
        assert!(storage.read().unwrap().slice::<u8>().unwrap().iter().all(|byte| *byte == 5));
    }

    #[test]
    fn no_two_tensors_of_several_threads_share_bytes() {
        let places: Vec<_> = (0..4).map(|place| place * BYTES..(place + 2) * BYTES).collect();
        let arena = Arena::new(places).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let arena = &arena;
                scope.spawn(move || {
                    let places: Vec<usize> = (0..4).map(|place| (place + usize::from(thread)) % 4).collect();
                    for _ in 0..100 {
                        let _offer = arena.offer(&places);
                        let storages = [(); 2].map(|()| Storage::cpu(2 * BYTES).unwrap());
                        for storage in &storages {
                            storage.write().unwrap().slice::<u8>().unwrap().fill(thread);
                        }
                        std::thread::yield_now();
                        for storage in &storages {
                            let guard = storage.read().unwrap();
                            assert!(guard.slice::<u8>().unwrap().iter().all(|byte| *byte == thread));
                        }
                    }
                });
            }
        });
        assert!((0..4).all(|place| !arena.is_used(place)));
    }

    #[test]
    fn places_that_are_none_are_refused() {
        for (start, end) in [(8, 100), (128, 64)] {
            assert!(Arena::new(std::iter::once(start..end).collect()).is_err());
        }
    }
}
