//! What a fork does with this library: its locks are held meanwhile, and the child starts helper threads of its own.
//!
//! Not held is who uses the memory of tensors: what another thread reads or writes at the moment of a fork stays in use in the
//! child, where its guards never end. Random numbers go on alike in both processes.

use std::sync::Once;

use opgrid_core::fork::{AtFork, Held, Order, at_fork};

use crate::kernels::{forget_helpers, hold_generator_at_fork, hold_helpers_at_fork};
#[cfg(not(test))]
use crate::ops;
use crate::{devices, tensor};

/// First uses, which register operators. The unit tests are of the crate without them.
#[cfg(not(test))]
struct FirstUses;

#[cfg(not(test))]
impl AtFork for FirstUses {
    fn hold(&self, held: &mut Held) {
        ops::hold_at_fork(held);
    }
}

/// The process's generator of random numbers, which whoever has it may share with helpers.
struct Generator;

impl AtFork for Generator {
    fn hold(&self, held: &mut Held) {
        hold_generator_at_fork(held);
    }
}

/// The queue of the helper threads.
struct Helpers;

impl AtFork for Helpers {
    fn hold(&self, held: &mut Held) {
        hold_helpers_at_fork(held);
    }

    fn in_child(&self) {
        forget_helpers();
    }
}

/// What all devices and tensors share.
struct Tensors;

impl AtFork for Tensors {
    fn hold(&self, held: &mut Held) {
        devices::hold_at_fork(held);
        tensor::hold_at_fork(held);
    }
}

/// Has the locks of this library held at forks, from the first call on. The caller holds none of them.
#[inline]
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        #[cfg(not(test))]
        at_fork(Order::Registering, &FirstUses);
        at_fork(Order::Watching, &Generator);
        at_fork(Order::Leaves, &Helpers);
        at_fork(Order::Leaves, &Tensors);
    });
}
