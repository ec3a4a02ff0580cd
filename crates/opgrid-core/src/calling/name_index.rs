//! Operators by name: found without a lock, entered and removed under that of the registry.
//!
//! Names stand in an open-addressed table of pointers to entries, which never move while the table is published; a larger table
//! takes its place when it is half full. Whoever looks a name up marks its thread, as calls do, so that limbo keeps what the pointers
//! lead to.
#![allow(unsafe_code)]

use std::hash::{BuildHasher, Hasher};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use foldhash::fast::RandomState;

use crate::calling::operator::{Entry, OperatorHandle};
use crate::calling::retirement::{self, Published, Retired, marked};

/// What stands where a name was removed: the names behind it are still found.
const REMOVED: *mut u8 = std::ptr::without_provenance_mut(1);

/// A power of two of slots, each for a pointer to an [`Entry`]; null where no name was ever entered.
pub(crate) struct Slots(Box<[Published]>);

impl Slots {
    fn new(size: usize) -> Self {
        Self((0..size).map(|_| Published::new()).collect())
    }

    /// The slots in which a name of that hash may stand, in their order.
    fn with_hash(&self, hash: u64) -> impl Iterator<Item = &Published> {
        let mask = self.0.len() - 1;
        (0..self.0.len()).map(move |step| &self.0[(hash as usize).wrapping_add(step) & mask])
    }

    /// The slot of a name, and the entry that it leads to.
    ///
    /// # Safety
    ///
    /// Entries that slots lead to live for `'e`.
    unsafe fn find<'e>(&self, hash: u64, base: &str, overload: &str) -> Option<(&Published, &'e Entry)> {
        for slot in self.with_hash(hash) {
            let pointer = slot.read();
            if pointer.is_null() {
                return None;
            }
            if pointer == REMOVED {
                continue;
            }
            // SAFETY: guaranteed by the caller, see `# Safety`; `NameIndex` alone publishes to slots, and only entries.
            let entry = unsafe { &*pointer.cast::<Entry>() };
            if entry.hash == hash && entry.name.name == base && entry.name.overload == overload {
                return Some((slot, entry));
            }
        }
        None
    }

    /// Enters an operator whose name does not stand here, and says whether its slot was never used.
    fn enter(&self, entry: &Arc<Entry>) -> bool {
        let free = self.with_hash(entry.hash).find(|slot| slot.read().is_null() || slot.read() == REMOVED);
        let free = free.expect("`OperatorRecords::reserve` keeps half of the slots free");
        let is_new = free.read().is_null();
        free.publish(Arc::as_ptr(entry).cast::<u8>().cast_mut());
        is_new
    }
}

/// Where names are looked up.
///
/// Invariant: `slots` is null or leads to the [`Slots`] of the [`NameIndex`] that shares this, which limbo keeps when they
/// are replaced.
pub(crate) struct NameLookup {
    slots: Published,
    hasher: RandomState,
}

impl NameLookup {
    /// The hash of a name.
    pub(crate) fn hash(&self, base: &str, overload: &str) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(base.as_bytes());
        hasher.write(overload.as_bytes());
        hasher.finish()
    }

    /// The operator of that name, if its definition is there and the library that brought it is finished.
    ///
    /// A name that is moved to another slot while it is looked up may be missed; it was gone at a moment in between.
    pub(crate) fn find(&self, base: &str, overload: &str) -> Option<OperatorHandle> {
        let hash = self.hash(base, overload);
        marked(|| {
            // SAFETY: the invariant of `NameLookup`; `marked` marked the thread before the pointer is read here, so that limbo
            // keeps what it leads to until the mark ends.
            let slots = unsafe { self.slots.read().cast::<Slots>().as_ref() }?;
            // SAFETY: `OperatorRecords::remove` gives each entry that it takes out to who puts it into limbo,
            // which keeps it until the mark ends.
            let (_, entry) = unsafe { slots.find(hash, base, overload) }?;
            entry.is_found.load(Ordering::Acquire).then(|| {
                let entry = NonNull::from(entry).as_ptr();
                // SAFETY: the pointer is that of an `Arc` (`Slots::enter`), of which the registry's record or limbo holds a count
                // until the mark ends.
                unsafe {
                    Arc::increment_strong_count(entry);
                    OperatorHandle(Arc::from_raw(entry))
                }
            })
        })
    }
}

/// The names of a registry's operators, behind its lock.
///
/// Invariant: every entry in the slots is that of a handle in the registry's records; whoever takes a record out removes its
/// name first, and puts the handle into limbo.
pub(crate) struct NameIndex {
    shared: Arc<NameLookup>,
    slots: Arc<Slots>,
    /// How many slots are not null.
    used: usize,
}

impl Default for NameIndex {
    fn default() -> Self {
        let shared = NameLookup { slots: Published::new(), hasher: RandomState::default() };
        Self { shared: Arc::new(shared), slots: Arc::new(Slots::new(1)), used: 0 }
    }
}

impl NameIndex {
    /// What looks names up without the registry's lock.
    pub(crate) fn lookup(&self) -> &Arc<NameLookup> {
        &self.shared
    }

    /// The hash of a name.
    pub(crate) fn hash(&self, base: &str, overload: &str) -> u64 {
        self.shared.hash(base, overload)
    }

    fn find(&self, hash: u64, base: &str, overload: &str) -> Option<(&Published, &Entry)> {
        // SAFETY: the invariant of `NameIndex`; `OperatorRecords`, which owns it together with the records, is borrowed with it.
        unsafe { self.slots.find(hash, base, overload) }
    }

    /// The number of the operator of that name, defined or not.
    pub(crate) fn number(&self, base: &str, overload: &str) -> Option<u32> {
        let (_, entry) = self.find(self.hash(base, overload), base, overload)?;
        Some(entry.number)
    }

    /// Enters an operator whose name is not here yet, and for which there is room.
    pub(crate) fn insert(&mut self, operator: &OperatorHandle) {
        self.used += usize::from(self.slots.enter(&operator.0));
    }

    /// Removes an operator. Look-ups that have begun may find it for as long as they run.
    pub(crate) fn remove(&mut self, operator: &OperatorHandle) {
        let name = operator.name();
        if let Some((slot, _)) = self.find(operator.0.hash, &name.name, &name.overload) {
            slot.publish(REMOVED);
        }
    }

    /// Whether there is room for more names in half of the slots.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        2 * (self.used + more) <= self.slots.0.len()
    }

    /// Replaces the slots by others that have room for `count` names, and enters those of `operators`, which are all that are here.
    pub(crate) fn grow<'o>(&mut self, operators: impl Iterator<Item = &'o OperatorHandle>, count: usize) {
        // A third at most, so that half is not reached at once.
        let slots = Arc::new(Slots::new((3 * count).next_power_of_two()));
        self.used = operators.filter(|operator| slots.enter(&operator.0)).count();
        self.shared.slots.publish(Arc::as_ptr(&slots).cast::<u8>().cast_mut());
        let before = std::mem::replace(&mut self.slots, slots);
        retirement::retire(|| vec![Retired::Names(before)]);
    }
}
