//! Finds the storage that has some memory, by its address: memory that was lent to others, or borrowed from them, may come
//! back by another way, and all ways lead to one storage, with one borrow state and one version.
//!
//! A storage is known from when its memory is first lent or borrowed, until its last owner goes. That it is known is a bit
//! of its count, so that others pay nothing: the last owner of a known storage removes it here before its memory is freed.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Shared, Storage};

/// The bit of a count that says that a storage is known.
pub(super) const KNOWN: u32 = 1 << 30;

/// How many storages that begin before an address are looked at. Those that are known seldom overlap, so that the first one
/// is the right one or there is none.
const LOOKED_AT: usize = 64;

/// A storage that is known.
///
/// Invariant: its head is there as long as it is in the map. Whoever drops the last owner of a known storage calls
/// [`forget`], which waits for the map's lock, before the head is freed.
struct Entry {
    head: NonNull<Shared>,
    bytes: usize,
}

// SAFETY: a head is atomics and what never changes.
unsafe impl Send for Entry {}

/// The storages by the address of their memory, and by that of their heads.
type Map = BTreeMap<(usize, usize), Entry>;

static MAP: Mutex<Map> = Mutex::new(BTreeMap::new());

fn map() -> MutexGuard<'static, Map> {
    MAP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.lock(&MAP);
}

fn key(head: NonNull<Shared>, start: NonNull<u8>) -> (usize, usize) {
    (start.addr().get(), head.addr().get())
}

impl Storage {
    /// Lets [`of_memory`](Self::of_memory) find this storage, as long as it has owners. Memory that the CPU cannot address
    /// is not found.
    pub fn make_known(&self) {
        let shared = self.shared();
        let Some(start) = shared.start.filter(|_| shared.bytes != 0) else { return };
        if shared.count.load(Ordering::Relaxed) & KNOWN != 0 {
            return;
        }
        let mut map = map();
        if shared.count.fetch_or(KNOWN, Ordering::Relaxed) & KNOWN == 0 {
            map.insert(key(self.head, start), Entry { head: self.head, bytes: shared.bytes });
        }
    }

    /// The storage that is [known](Self::make_known) to have these bytes, and how many of its bytes lie before them.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_array::Storage;
    ///
    /// let storage = Storage::cpu(16)?;
    /// storage.make_known();
    /// let inside = storage.address().map(|start| unsafe { start.add(4) }).unwrap();
    /// let (found, before) = Storage::of_memory(inside, 8).unwrap();
    /// assert!(found.is_same(&storage) && before == 4);
    /// assert!(Storage::of_memory(inside, 16).is_none(), "the last bytes are not its own");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn of_memory(start: NonNull<u8>, bytes: usize) -> Option<(Self, usize)> {
        find(&map(), start, bytes)
    }

    /// The storage that is known to have the memory of this one, and how many of its bytes lie before it: this one, which is
    /// known from here on, unless somebody was faster.
    pub fn known(self) -> (Self, usize) {
        let Some(start) = self.shared().start.filter(|_| self.shared().bytes != 0) else { return (self, 0) };
        let mut map = map();
        if let Some(earlier) = find(&map, start, self.shared().bytes) {
            // This one goes without the lock: its memory is given back by code of users.
            drop(map);
            return earlier;
        }
        if self.shared().count.fetch_or(KNOWN, Ordering::Relaxed) & KNOWN == 0 {
            map.insert(key(self.head, start), Entry { head: self.head, bytes: self.shared().bytes });
        }
        drop(map);
        (self, 0)
    }
}

fn find(map: &Map, start: NonNull<u8>, bytes: usize) -> Option<(Storage, usize)> {
    let at = start.addr().get();
    for ((first, _), entry) in map.range(..=(at, usize::MAX)).rev().take(LOOKED_AT) {
        let before = at - first;
        if before.checked_add(bytes).is_none_or(|end| end > entry.bytes) {
            continue;
        }
        // SAFETY: the invariant of `Entry`; whoever has the map holds its lock.
        let count = unsafe { &entry.head.as_ref().count };
        // One without owners is on its way out, and waits for the lock.
        let more = |now: u32| (now & !KNOWN != 0).then(|| now + 1);
        match count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            // As where storages are cloned.
            Ok(owners) if owners & (KNOWN - 1) > KNOWN / 2 => std::process::abort(),
            Ok(_) => return Some((Storage { head: entry.head, owns: PhantomData }, before)),
            Err(_) => {}
        }
    }
    None
}

/// Removes a known storage whose last owner is gone.
#[cold]
#[inline(never)]
pub(super) fn forget(head: NonNull<Shared>, start: Option<NonNull<u8>>) {
    let Some(start) = start else { return };
    map().remove(&key(head, start));
}
