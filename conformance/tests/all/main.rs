//! The tests that need no process of their own, as one program, so that there is one to link.

use std::sync::{Mutex, MutexGuard, PoisonError};

mod differences;
mod tensors;

/// Lets one test at a time call operators: the default dtype and the stream of random numbers belong to the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
