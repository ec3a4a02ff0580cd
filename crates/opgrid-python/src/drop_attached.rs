//! Values with Python objects that Rust owns, and may drop on a thread that has not the interpreter's lock.
//!
//! PyO3 puts an object that is dropped so into a list of its own. The lock of that list cannot be taken from outside, so that a
//! thread that has it while another one forks leaves it taken in the child, forever. Here the list is ours, and its lock is held
//! at forks. What waits in it is dropped by the next thread that gets the interpreter's lock in [`collector`](crate::collector).
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use opgrid::dispatch::fork::{Holding, Locks, Order};
use pyo3::ffi;
use pyo3::prelude::*;

/// What was dropped without the interpreter's lock.
static WAITING: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());

/// Whether something waits, told without the lock.
static IS_ANY_WAITING: AtomicBool = AtomicBool::new(false);

static LOCKS: Locks = Locks::new(&[(Order::Leaves, &Holding(|held| held.lock(&WAITING)))]);

/// Owns a value with Python objects, which is dropped by a thread that has the interpreter's lock.
pub(crate) struct DropAttached<T: Send + 'static>(ManuallyDrop<T>);

impl<T: Send> DropAttached<T> {
    /// Owns a value. The lock is made known to forks here and not at the drop, whose thread may hold others.
    pub(crate) fn new(value: T) -> Self {
        LOCKS.prepare();
        Self(ManuallyDrop::new(value))
    }

    /// The value, which the caller drops.
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped and not used again.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T: Send> Drop for DropAttached<T> {
    fn drop(&mut self) {
        // SAFETY: the value is not used again: this is its owner's destructor.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: the function may be called on any thread, and before and after the time of the interpreter.
        if unsafe { ffi::PyGILState_Check() } == 1 {
            return drop(value);
        }
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(value));
        IS_ANY_WAITING.store(true, Ordering::Release);
    }
}

/// Drops what waits for a thread with the interpreter's lock.
#[inline]
pub(crate) fn drop_waiting(py: Python<'_>) {
    if IS_ANY_WAITING.load(Ordering::Relaxed) {
        drop_all(py);
    }
}

#[cold]
fn drop_all(_py: Python<'_>) {
    IS_ANY_WAITING.store(false, Ordering::Relaxed);
    // Destructors may run code in Python, which may come here again.
    let waiting = std::mem::take(&mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner));
    drop(waiting);
}

impl<T: Send> Deref for DropAttached<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send> DerefMut for DropAttached<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for DropAttached<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Send + fmt::Display> fmt::Display for DropAttached<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Send + std::error::Error> std::error::Error for DropAttached<T> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        (**self).source()
    }
}
