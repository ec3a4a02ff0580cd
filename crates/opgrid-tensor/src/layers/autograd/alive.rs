//! How many recorded calls are in memory.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// Threads count apart, so that they do not wait for one another.
const COUNTS: usize = 32;

/// A count on cache lines of its own, two because processors fetch them in pairs.
#[repr(align(128))]
struct Count(AtomicI64);

static ALIVE: [Count; COUNTS] = [const { Count(AtomicI64::new(0)) }; COUNTS];

/// How many threads have counted.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Where this thread counts, plus one; 0 before it has.
    static PLACE: Cell<usize> = const { Cell::new(0) };
}

fn own_count() -> &'static AtomicI64 {
    let place = match PLACE.get() {
        0 => {
            let place = 1 + THREADS.fetch_add(1, Ordering::Relaxed) % COUNTS;
            PLACE.set(place);
            place
        }
        place => place,
    };
    &ALIVE[place - 1].0
}

/// Counts a recorded call as long as it is there.
pub(super) struct Counted(());

impl Counted {
    pub(super) fn new() -> Self {
        own_count().fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        own_count().fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many recorded calls are kept in memory, in the whole process. While threads record, or drop what they recorded, the
/// number is of no single moment.
pub fn nodes_alive() -> u64 {
    let sum: i64 = ALIVE.iter().map(|count| count.0.load(Ordering::Relaxed)).sum();
    sum.max(0) as u64
}
