//! Tells apart those who listen or observe, though they may be one object twice.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number of its own for each object that listens or observes: one object may do so twice, and stop once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Ticket {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
