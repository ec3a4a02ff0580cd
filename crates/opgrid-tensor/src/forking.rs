//! What a fork does with this library: the locks of first uses, which register operators, are held meanwhile.

use opgrid_core::fork::{Holding, Locks, Order};

use crate::ops;

static LOCKS: Locks = Locks::new(&[(Order::Registering, &Holding(ops::hold_at_fork))]);

/// Has the locks of this library held at forks, from the first call on. The caller holds none of them.
#[inline]
pub(crate) fn prepare() {
    LOCKS.prepare();
    opgrid_array::forking::prepare();
}
