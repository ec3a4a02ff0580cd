//! A block of memory and how to give it back: what allocators hand out.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use super::cache::{self, ALIGNMENT, Class};

/// A block of memory and how to give it back.
///
/// Invariant: `bytes` bytes from `start` are valid for reads and writes until it is dropped, and nobody else uses
/// them. They may be uninitialised.
pub struct Allocation {
    pub(super) start: NonNull<u8>,
    pub(super) bytes: usize,
    owner: Owner,
    released: Option<Box<dyn FnOnce(usize) + Send + Sync>>,
}

enum Owner {
    Nobody,
    Cache(Class),
    Foreign(Option<Box<dyn FnOnce() + Send + Sync>>),
}

// SAFETY:
// - the memory belongs to the allocation alone (its invariant), and both closures are `Send` and `Sync`.
unsafe impl Send for Allocation {}
// SAFETY:
// - a shared reference gives out nothing but the address and the length.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Memory of the process with any content, aligned to [`ALIGNMENT`]; `None` where there is none.
    pub fn system(bytes: usize) -> Option<Self> {
        let (start, owner) = match bytes {
            // An aligned address that is never read.
            0 => (NonNull::without_provenance(std::num::NonZero::new(ALIGNMENT)?), Owner::Nobody),
            _ => cache::take(bytes).map(|(start, class)| (start, Owner::Cache(class)))?,
        };
        Some(Self { start, bytes, owner, released: None })
    }

    /// Memory that somebody else allocated; `release` gives it back.
    ///
    /// # Safety
    ///
    /// `bytes` bytes from `start` are valid for reads and writes, and used by nobody else, until `release` is called.
    /// They may be uninitialised. `release` may be called on any thread.
    pub unsafe fn foreign(
        start: NonNull<u8>,
        bytes: usize,
        release: impl FnOnce() + Send + Sync + 'static,
    ) -> Self {
        Self { start, bytes, owner: Owner::Foreign(Some(Box::new(release))), released: None }
    }

    /// The same memory; `released` is told its number of bytes after it was given back.
    #[must_use]
    pub fn when_released(mut self, released: impl FnOnce(usize) + Send + Sync + 'static) -> Self {
        self.released = Some(Box::new(released));
        self
    }

    /// The number of bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        match &mut self.owner {
            Owner::Nobody => {}
            Owner::Cache(class) => {
                // SAFETY:
                // - the block came from `take` with this class, and this is the only owner.
                unsafe { cache::give(self.start, *class) }
            }
            Owner::Foreign(release) => {
                if let Some(release) = release.take() {
                    release();
                }
            }
        }
        if let Some(released) = self.released.take() {
            released(self.bytes);
        }
    }
}
