//! A place for a Python object that is looked at on every call and seldom replaced.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;

use pyo3::prelude::*;

/// A reference to a Python object, guarded by the interpreter's lock.
pub(crate) struct GilCell<T>(UnsafeCell<Option<Py<T>>>);

// SAFETY: the reference is looked at and replaced in `get` and `set` alone, which take the token of the interpreter's lock
// (the module does not declare that it works without one) and run no other code meanwhile.
unsafe impl<T> Sync for GilCell<T> {}

impl<T> GilCell<T> {
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// What is there.
    #[inline]
    pub(crate) fn get(&self, py: Python<'_>) -> Option<Py<T>> {
        // SAFETY: no other thread is here, see above; counting a reference runs no other code.
        let present = unsafe { &*self.0.get() };
        present.as_ref().map(|object| object.clone_ref(py))
    }

    /// Puts an object there.
    pub(crate) fn set(&self, _py: Python<'_>, object: Py<T>) {
        // SAFETY: no other thread is here, see above; what was there is dropped by the line below, when the place has its new
        // content: dropping may run other code.
        let before = unsafe { (*self.0.get()).replace(object) };
        drop(before);
    }
}
