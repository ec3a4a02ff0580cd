//! What a fork does with arrays: their locks are held meanwhile, and the child starts helper threads of its own.
//!
//! Not held is who uses the memory of arrays: what another thread reads or writes at the moment of a fork stays in use in the
//! child, where its guards never end. Random numbers go on alike in both processes.

use std::sync::Once;

use opgrid_core::fork::{AtFork, Held, Order, at_fork};

use crate::loops::iter::pool;
use crate::{allocator, devices, random, storage};

/// The process's generator of random numbers, which whoever has it may share with helpers.
struct Generator;

impl AtFork for Generator {
    fn hold(&self, held: &mut Held) {
        random::hold_generator_at_fork(held);
    }
}

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

/// Has the locks of this library held at forks, from the first call on. The caller holds none of them.
#[inline]
pub fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        at_fork(Order::Watching, &Generator);
        at_fork(Order::Leaves, &Helpers);
        at_fork(Order::Leaves, &Memory);
    });
}
