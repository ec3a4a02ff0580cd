//! Values that are made once, when they are first needed, without a lock.
//!
//! The interpreter's lock keeps threads apart already. A lock of the place's own would be held while the interpreter's is
//! let go, as that of `PyOnceLock` is: a thread that forks at that moment leaves it taken in the child, forever.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyString;

/// A place for a value that is made once.
#[derive(Debug)]
pub(crate) struct OncePlace<T>(OnceLock<T>);

impl<T> OncePlace<T> {
    /// One without a value.
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value, once there is one.
    #[inline]
    pub(crate) fn get(&self, _py: Python<'_>) -> Option<&T> {
        self.0.get()
    }

    /// Puts a value here; gives it back where there is one.
    ///
    /// # Errors
    ///
    /// The value, where there is another one already.
    pub(crate) fn set(&self, _py: Python<'_>, value: T) -> Result<(), T> {
        self.0.set(value)
    }

    /// The value; what `make` gives where there is none. Threads that come first together may all make it, and one of them is
    /// kept: nothing is locked while `make` runs, which may run code of users and let other threads go on.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    #[inline]
    pub(crate) fn get_or_make(&self, py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        match self.0.get() {
            Some(known) => Ok(known),
            None => self.make(py, make),
        }
    }

    #[cold]
    fn make(&self, _py: Python<'_>, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        let made = make()?;
        // Somebody may have been faster. With the interpreter's lock, nobody forks while the value is moved.
        Ok(self.0.get_or_init(|| made))
    }
}

/// A text of the module's own as an object, made once.
pub(crate) struct Name(OnceLock<Py<PyString>>, &'static str);

impl Name {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self(OnceLock::new(), text)
    }

    #[inline]
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        self.0.get().unwrap_or_else(|| self.make(py)).bind(py)
    }

    #[cold]
    fn make(&self, py: Python<'_>) -> &Py<PyString> {
        let made = PyString::intern(py, self.1).unbind();
        self.0.get_or_init(|| made)
    }
}

/// As `pyo3::intern`, without a lock.
macro_rules! intern {
    ($py:expr, $text:expr) => {{
        static NAME: $crate::once::Name = $crate::once::Name::new($text);
        NAME.get($py)
    }};
}

pub(crate) use intern;
