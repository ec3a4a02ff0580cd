//! The host's threads, lent to plugins, so that a process has one pool of them.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use opgrid_abi::{OpgridError, OpgridRangeFn};
use opgrid_array::loops;
use opgrid_core::{Error, Result};

use super::errors::{answer, outcome, quietly};
use super::{libraries, refused};

/// What a plugin does with each range.
struct Work {
    function: unsafe extern "C" fn(*mut c_void, usize, usize, *mut *mut OpgridError) -> i32,
    context: *mut c_void,
}

// SAFETY: the plugin guarantees that the function may run on several threads at a time with its context (`OpgridRangeFn`).
unsafe impl Sync for Work {}

impl Work {
    fn run(&self, range: Range<usize>) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the plugin gave the function of this type with the context.
        let status = unsafe { (self.function)(self.context, range.start, range.end, &raw mut error) };
        outcome(status, error, || "a plugin's function for `parallel_for`".into())
    }
}

pub(super) unsafe extern "C" fn parallel_for(
    n: usize,
    grain: usize,
    work: OpgridRangeFn,
    context: *mut c_void,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        let function =
            work.ok_or_else(|| refused("the function for `parallel_for` is null, expected one for ranges"))?;
        let work = Work { function, context };
        // The threads of the pool run the plugin's code for the kernel that this one runs.
        let library = libraries::current();
        let (has_failed, first) = (AtomicBool::new(false), Mutex::new(None));
        loops::parallel_for(n, grain, &|range| {
            if has_failed.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = libraries::running(library, || work.run(range)) {
                has_failed.store(true, Ordering::Relaxed);
                keep_first(&first, error);
            }
        });
        match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    };
    // SAFETY: the plugin guarantees that the address of the error is null or can be written.
    unsafe { answer(error, body) }
}

/// Keeps an error where there is none yet. Another one is dropped without the lock, because it may run code of users.
fn keep_first(first: &Mutex<Option<Error>>, error: Error) {
    let mut held = first.lock().unwrap_or_else(PoisonError::into_inner);
    let late = match *held {
        Some(_) => Some(error),
        None => held.replace(error),
    };
    drop(held);
    drop(late);
}

pub(super) unsafe extern "C" fn num_threads() -> usize {
    quietly(1, loops::num_threads)
}
