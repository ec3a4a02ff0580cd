//! What a fork does with arrays: their locks are held meanwhile, and the child starts helper threads of its own.
//!
//! Not held is who uses the memory of arrays: what another thread reads or writes at the moment of a fork stays in use in the
//! child, where its guards never end. Random numbers go on alike in both processes.

use opgrid_core::fork::{AtFork, Held, Holding, Locks, Order};

use crate::loops::iter::pool;
use crate::{allocator, devices, random, storage};

/// The queue of the helper threads.
struct Helpers;

impl AtFork for Helpers {
    fn hold(&self, held: &mut Held) {
        pool::hold_helpers_at_fork(held);
    }

    fn in_child(&self) {
        pool::forget_helpers();
    }
}

/// What all devices and arrays share.
struct Memory;

impl AtFork for Memory {
    fn hold(&self, held: &mut Held) {
        devices::hold_at_fork(held);
        allocator::hold_at_fork(held);
        storage::hold_at_fork(held);
    }
}

static LOCKS: Locks = Locks::new(&[
    (Order::Watching, &Holding(random::hold_generator_at_fork)),
    (Order::Leaves, &Helpers),
    (Order::Leaves, &Memory),
]);

/// Has the locks of this library held at forks, from the first call on. The caller holds none of them.
#[inline]
pub fn prepare() {
    LOCKS.prepare();
}
