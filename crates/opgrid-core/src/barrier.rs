//! A barrier of which one side costs nothing: for those who look seldom at what others write often.
//!
//! A thread that announces something by a plain store, passes the [light](light_barrier) half and then reads, and one that
//! writes, passes the [heavy](heavy_barrier) half and then looks for announcements: at least one of the two sees the other.
//!
//! ```
//! use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
//! use std::thread;
//!
//! use opgrid_core::barrier::{heavy_barrier, light_barrier};
//!
//! let (busy, closed) = (AtomicBool::new(false), AtomicBool::new(false));
//! thread::scope(|scope| {
//!     let often = scope.spawn(|| {
//!         busy.store(true, Relaxed);
//!         light_barrier();
//!         closed.load(Relaxed)
//!     });
//!     closed.store(true, Relaxed);
//!     if heavy_barrier() {
//!         let is_busy = busy.load(Relaxed);
//!         assert!(is_busy || often.join().unwrap());
//!     }
//! });
//! ```

use std::sync::atomic::{AtomicU8, Ordering, compiler_fence};

use rustix::thread::{MembarrierCommand, membarrier};

/// The half that costs nothing: only the compiler keeps the order, the processor's half is the [`heavy_barrier`] of whoever
/// needs it.
#[inline(always)]
pub fn light_barrier() {
    compiler_fence(Ordering::SeqCst);
}

/// Whether the system has the barrier.
const UNKNOWN: u8 = 0;
const THERE: u8 = 1;
const MISSING: u8 = 2;

/// Runs a barrier on every running thread of the process, by `membarrier` of Linux, which takes microseconds. Returns whether the
/// system can do that. The first call registers the process for it, which takes milliseconds where there are several threads.
pub fn heavy_barrier() -> bool {
    // No lock of a first use: one that another thread holds while the process forks would stay taken in the child. Threads
    // that come first together register the process several times, which changes nothing.
    static REGISTERED: AtomicU8 = AtomicU8::new(UNKNOWN);
    let registered = match REGISTERED.load(Ordering::Relaxed) {
        UNKNOWN => {
            let is_there = membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok();
            REGISTERED.store(if is_there { THERE } else { MISSING }, Ordering::Relaxed);
            is_there
        }
        known => known == THERE,
    };
    registered && membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}
