//! Keeps the memory of records that were dropped, for the next ones of this thread.
//!
//! Every operator makes a record for its result, and most are dropped soon after. A list per size, without a lock or an
//! atomic operation, is several times faster than the system's allocator. A thread that ends gives its memory back.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// Sizes are rounded up to a multiple of this, in bytes; also the alignment.
const STEP: usize = 64;
/// Larger records than this many steps come from the system each time.
const STEPS: usize = 8;
/// How many records of one size a thread keeps.
const KEPT: usize = 256;

/// Memory that nobody uses.
struct Free {
    next: *mut Free,
}

struct Lists([List; STEPS]);

struct List {
    first: Cell<*mut Free>,
    count: Cell<usize>,
}

thread_local! {
    static LISTS: Lists = const {
        Lists([const { List { first: Cell::new(ptr::null_mut()), count: Cell::new(0) } }; STEPS])
    };
}

impl Drop for Lists {
    fn drop(&mut self) {
        for (steps, list) in self.0.iter().enumerate() {
            while let Some(block) = list.take() {
                // SAFETY: blocks of this list have that layout, and this one was taken out of it.
                unsafe { dealloc(block.as_ptr(), layout_of(steps + 1)) }
            }
        }
    }
}

impl List {
    #[inline]
    fn take(&self) -> Option<NonNull<u8>> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: only `give` puts blocks on the list, after it has written them, and its caller gave them up; the list is its
        // thread's.
        self.first.set(unsafe { first.as_ref() }.next);
        self.count.set(self.count.get() - 1);
        Some(first.cast())
    }

    /// Keeps a block, unless there are enough.
    ///
    /// # Safety
    ///
    /// Nobody uses the block; it has the size of this list.
    #[inline]
    unsafe fn give(&self, block: NonNull<u8>) -> bool {
        if self.count.get() == KEPT {
            return false;
        }
        // SAFETY: guaranteed by the caller, see `# Safety`; every block has room for a pointer and is aligned to `STEP`.
        unsafe { block.cast::<Free>().write(Free { next: self.first.get() }) };
        self.first.set(block.cast().as_ptr());
        self.count.set(self.count.get() + 1);
        true
    }
}

const fn layout_of(steps: usize) -> Layout {
    match Layout::from_size_align(steps * STEP, STEP) {
        Ok(layout) => layout,
        Err(_) => panic!("a few steps are no size that overflows"),
    }
}

/// How many steps a record of that layout takes, if its memory is kept.
const fn steps(layout: Layout) -> Option<usize> {
    let steps = layout.size().div_ceil(STEP);
    if steps == 0 || steps > STEPS || layout.align() > STEP { None } else { Some(steps) }
}

/// Memory for a `T` that is being made; it is given back should that panic.
pub(super) struct Room<T>(NonNull<T>);

impl<T> Room<T> {
    #[inline]
    pub(super) fn new() -> Self {
        Self(allocate())
    }

    #[inline]
    pub(super) fn memory(&self) -> NonNull<T> {
        self.0
    }

    /// The memory, which is a `T` from here on.
    #[inline]
    pub(super) fn filled(self) -> NonNull<T> {
        ManuallyDrop::new(self).0
    }
}

impl<T> Drop for Room<T> {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it, and `filled` has not given it away.
        unsafe { release(self.0) }
    }
}

/// Memory for a `T`.
#[inline]
fn allocate<T>() -> NonNull<T> {
    let layout = const {
        assert!(size_of::<T>() > 0, "a record has a head");
        match steps(Layout::new::<T>()) {
            Some(steps) => layout_of(steps),
            None => Layout::new::<T>(),
        }
    };
    if let Some(steps) = const { steps(Layout::new::<T>()) }
        && let Ok(Some(block)) = LISTS.try_with(|lists| lists.0[steps - 1].take())
    {
        return block.cast();
    }
    // SAFETY: the size is above zero, as was asserted.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout)).cast()
}

/// Gives memory back.
///
/// # Safety
///
/// It came from [`allocate`] for the same type, and nobody uses it.
#[inline]
pub(super) unsafe fn release<T>(memory: NonNull<T>) {
    let layout = match const { steps(Layout::new::<T>()) } {
        Some(steps) => {
            // SAFETY: guaranteed by the caller, see `# Safety`; `allocate` takes blocks of as many steps.
            let kept = LISTS.try_with(|lists| unsafe { lists.0[steps - 1].give(memory.cast()) });
            if kept.is_ok_and(|kept| kept) {
                return;
            }
            layout_of(steps)
        }
        None => Layout::new::<T>(),
    };
    // SAFETY: `allocate` used this layout.
    unsafe { dealloc(memory.cast().as_ptr(), layout) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_to_the_thread_that_gave_it() {
        let first = allocate::<[u64; 20]>();
        // SAFETY: just allocated.
        unsafe { release(first) };
        let second = allocate::<[u64; 24]>();
        assert_eq!(first.cast::<u8>(), second.cast());
        assert!(second.is_aligned());
        // SAFETY: just allocated.
        unsafe { release(second) };
        let large = allocate::<[u8; 4096]>();
        std::thread::scope(|scope| {
            let block = allocate::<[u64; 20]>().addr().get();
            scope.spawn(move || {
                let memory = NonNull::<[u64; 20]>::with_exposed_provenance(block.try_into().unwrap());
                // SAFETY: allocated above, and used by nobody.
                unsafe { release(memory) };
            });
        });
        // SAFETY: just allocated.
        unsafe { release(large) };
    }
}
