//! The locks of plugins, held while the process forks.

use std::sync::Once;

use opgrid_core::fork::{AtFork, Held, Order, at_fork};

use crate::abi;

struct Plugins;

impl AtFork for Plugins {
    fn hold(&self, held: &mut Held) {
        abi::hold_at_fork(held);
    }
}

/// Has the locks held at forks, from the first call on.
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| at_fork(Order::Leaves, &Plugins));
}
