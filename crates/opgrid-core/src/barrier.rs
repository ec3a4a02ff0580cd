//! A barrier of which one side costs nothing: for those who look seldom at what others write often.
//!
//! A thread that announces something by a plain store, passes the [light](light_barrier) half and then reads, and one that
//! writes, passes the [heavy](heavy_barrier) half and then looks for announcements: at least one of the two sees the other.

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

use rustix::thread::{MembarrierCommand, membarrier};

/// The half that costs nothing: only the compiler keeps the order, the processor's half is the [`heavy_barrier`] of whoever
/// needs it.
#[inline(always)]
pub fn light_barrier() {
    compiler_fence(Ordering::SeqCst);
}

/// Runs a barrier on every running thread of the process: some microseconds. Returns whether the system can do that; it is
/// asked for leave the first time, which takes milliseconds in a process of several threads.
pub fn heavy_barrier() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok())
        && membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}
