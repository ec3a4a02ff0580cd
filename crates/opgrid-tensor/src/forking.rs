//! What a fork does with this library: the locks of first uses, which register operators, are held meanwhile.

use std::sync::Once;

use opgrid_core::fork::{AtFork, Held, Order, at_fork};

use crate::ops;

/// First uses, which register operators.
struct FirstUses;

impl AtFork for FirstUses {
    fn hold(&self, held: &mut Held) {
        ops::hold_at_fork(held);
    }
}

/// Has the locks of this library held at forks, from the first call on. The caller holds none of them.
#[inline]
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| at_fork(Order::Registering, &FirstUses));
    opgrid_array::forking::prepare();
}
