//! The number of each thread, and what the storages that it makes begin with: see [`borrows`](super::borrows).
//!
//! Taking a storage away from its maker costs a barrier. Threads that pass what they make on to others would pay it for
//! each, so the next storages of every thread are everybody's from the start after one was taken away.

use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

use super::borrows::{FREE, TAKEN, Thread};
use super::sync::heavy_barrier;

/// How many storages a thread makes shared after one was taken away: a barrier takes as long as some dozen.
const SHARED: u32 = 1000;

/// What a thread knows of itself.
struct Own {
    /// Its number, once it has one.
    thread: Cell<Option<Thread>>,
    /// The count of [`TAKEN`] for which it makes storages of its own.
    trusted: Cell<usize>,
    /// The count that it saw last, and how many storages it still makes shared.
    seen: Cell<usize>,
    shared: Cell<u32>,
}

thread_local! {
    static OWN: Own = const {
        Own {
            thread: Cell::new(None),
            trusted: Cell::new(usize::MAX),
            seen: Cell::new(0),
            shared: Cell::new(0),
        }
    };
}

/// This thread.
#[inline]
pub(super) fn me() -> Thread {
    // Unlike `with`, it says `inline`.
    OWN.try_with(Own::thread).expect("a thread-local without a destructor stays until its thread ends")
}

/// What a storage begins with that this thread makes.
#[inline]
pub(super) fn first_state() -> isize {
    OWN.with(|own| match own.thread.get() {
        Some(thread) if own.trusted.get() == TAKEN.load(Relaxed) => thread.state(),
        _ => own.first_state(),
    })
}

impl Own {
    #[inline]
    fn thread(&self) -> Thread {
        self.thread.get().unwrap_or_else(|| self.number())
    }

    #[cold]
    #[inline(never)]
    fn number(&self) -> Thread {
        static THREADS: AtomicIsize = AtomicIsize::new(0);
        let thread = Thread::new(THREADS.fetch_add(1, Relaxed));
        self.thread.set(Some(thread));
        thread
    }

    #[cold]
    #[inline(never)]
    fn first_state(&self) -> isize {
        let taken = TAKEN.load(Relaxed);
        if self.seen.replace(taken) != taken {
            self.shared.set(SHARED);
        }
        match self.shared.get().checked_sub(1) {
            Some(left) => {
                self.shared.set(left);
                FREE
            }
            None if heavy_barrier() => {
                self.trusted.set(taken);
                self.thread().state()
            }
            // The system has none, so that nothing could be taken away.
            None => FREE,
        }
    }
}
