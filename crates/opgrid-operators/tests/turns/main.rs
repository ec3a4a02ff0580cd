//! Tests that take turns, because each changes what holds for the process, or measures it: the default dtype, the stream of random
//! numbers, the number of threads, the memory in use.

use opgrid_operators as _;

use std::sync::{Mutex, MutexGuard, PoisonError};

mod cache;
mod checkpoint;
mod promotion;
mod random;
mod training;

/// The process for one test: every test of this program begins with it.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
