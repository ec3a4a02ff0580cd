//! The locks of plugins, held while the process forks.

use opgrid_core::fork::{Holding, Locks, Order};

use crate::abi;

/// Prepared before a plugin is loaded.
pub(crate) static LOCKS: Locks = Locks::new(&[(Order::Leaves, &Holding(abi::hold_at_fork))]);
