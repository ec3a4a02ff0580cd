//! Modes with handlers in Python, and what asks classes of tensors where there is no mode.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opgrid::Result;
use opgrid::dispatch::BoxedCall;
use opgrid::layers::modes::{self, Entry, Mode};
use pyo3::prelude::*;

use crate::drop_attached::DropAttached;
use crate::errors::OrRaise;
use crate::operators::candidates::dispatcher;
use crate::registration::kernel::hand_over;

/// A mode whose handler is a function of Python that gets the mode, the operator and the arguments.
struct PythonMode {
    mode: DropAttached<Py<PyAny>>,
    handle: DropAttached<Py<PyAny>>,
}

impl Mode for PythonMode {
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        crate::collector::attached(|py| hand_over(self.handle.bind(py), call, Some(self.mode.clone_ref(py))))
    }
}

/// A mode that a thread has entered.
#[pyclass(module = "opgrid", frozen)]
pub(crate) struct EnteredMode(Arc<Entry>);

#[pymethods]
impl EnteredMode {
    /// Leaves the mode, if it is the one that this thread has entered last.
    fn leave(&self) -> bool {
        modes::end(&self.0).is_ok()
    }
}

/// Registers the layer, once: `otherwise` gets the operator and the arguments of calls without a mode.
///
/// # Errors
///
/// Somebody else has a fallback for the key.
#[pyfunction]
pub(crate) fn _install_modes(py: Python<'_>, otherwise: Py<PyAny>) -> PyResult<()> {
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    // No lock: who hears of registrations may be in Python, and other threads would wait for it with the interpreter's lock.
    if IS_INSTALLED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    let otherwise = DropAttached::new(otherwise);
    let otherwise = move |call: &mut BoxedCall<'_>| {
        crate::collector::attached(|py| hand_over(otherwise.bind(py), call, None))
    };
    match dispatcher().and_then(|dispatcher| modes::install_with(dispatcher, otherwise)) {
        Ok(registration) => {
            registration.keep();
            Ok(())
        }
        failed => {
            IS_INSTALLED.store(false, Ordering::Release);
            failed.map(drop).or_raise(py)
        }
    }
}

/// Enters a mode on this thread.
///
/// # Errors
///
/// The layer is not there.
#[pyfunction]
pub(crate) fn _enter_mode(py: Python<'_>, mode: Py<PyAny>, handle: Py<PyAny>) -> PyResult<EnteredMode> {
    let (mode, handle) = (DropAttached::new(mode), DropAttached::new(handle));
    modes::push(Arc::new(PythonMode { mode, handle })).map(EnteredMode).or_raise(py)
}

/// The innermost mode of this thread, if its handler is in Python.
#[pyfunction]
pub(crate) fn _current_mode(py: Python<'_>) -> Option<Py<PyAny>> {
    let mode = modes::current()?;
    let mode: &dyn Any = &*mode;
    mode.downcast_ref::<PythonMode>().map(|mode| mode.mode.clone_ref(py))
}
