//! What the protocol of retirement is made of: atomics, locks and the two halves of the asymmetric barrier.
//!
//! [`retire::protocol`](crate::retire) names nothing else, so that the model in `tests/loom.rs` compiles it as it is
//! with a module of this name of its own.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub(crate) use std::sync::{Mutex, MutexGuard};

use std::sync::atomic::compiler_fence;
use std::sync::{OnceLock, PoisonError};

use rustix::thread::{MembarrierCommand, membarrier};

/// A lock whose holder cannot leave it half-changed, so that a panic elsewhere does not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The half of the barrier that costs nothing: only the compiler keeps the order, the processor's half is the
/// [`heavy_barrier`] of whoever needs it.
#[inline(always)]
pub(crate) fn light_barrier() {
    compiler_fence(Ordering::SeqCst);
}

/// Runs a barrier on every running thread of the process. Returns whether the system can do that.
pub(crate) fn heavy_barrier() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok())
        && membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}
