//! The tests that need no process of their own, as one program, so that there is one to link.

use std::sync::{Mutex, MutexGuard, PoisonError};

mod exported;
mod suite;
mod vectors;

/// Lets one test at a time give the global dispatcher the operators.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
