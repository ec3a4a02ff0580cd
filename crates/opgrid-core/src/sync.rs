//! What the protocol of retirement is made of: atomics, locks and the two halves of the asymmetric barrier.
//!
//! [`retire::protocol`](crate::retire) names nothing else, so that the model in `tests/loom.rs` compiles it as it is
//! with a module of this name of its own.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::sync::{Mutex, MutexGuard};

use std::sync::PoisonError;

pub(crate) use crate::barrier::{heavy_barrier, light_barrier};

/// A lock whose holder cannot leave it half-changed, so that a panic elsewhere does not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
