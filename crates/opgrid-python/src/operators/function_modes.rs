//! Modes of functions: handlers in Python that see each function and method of a thread before the classes of its arguments do.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyType;

use super::arguments::Arguments;
use super::functions::Caller;
use super::overriding;
use crate::once::intern;

thread_local! {
    /// The modes that this thread has entered, the innermost last.
    static MODES: RefCell<Vec<Py<PyAny>>> = const { RefCell::new(Vec::new()) };
}

/// A mode that was left while its handler runs, and is entered again when this is dropped.
struct Left(Option<Py<PyAny>>);

impl Drop for Left {
    fn drop(&mut self) {
        MODES.with_borrow_mut(|modes| modes.extend(self.0.take()));
    }
}

/// Enters a mode on this thread.
#[pyfunction]
pub(crate) fn _push_function_mode(mode: Py<PyAny>) {
    MODES.with_borrow_mut(|modes| modes.push(mode));
}

/// Leaves the mode that this thread has entered last, and gives it.
#[pyfunction]
pub(crate) fn _pop_function_mode() -> Option<Py<PyAny>> {
    MODES.with_borrow_mut(Vec::pop)
}

/// Whether a mode sees the calls of this thread.
#[inline]
pub(super) fn is_entered() -> bool {
    MODES.with_borrow(|modes| !modes.is_empty())
}

/// What the innermost mode makes of a call, while it is left; `None` where it has no answer.
///
/// # Errors
///
/// Those of the handler.
#[cold]
pub(super) fn call<'py>(
    py: Python<'py>,
    caller: &Caller,
    classes: &[Bound<'py, PyType>],
    arguments: &Arguments<'_, 'py>,
) -> PyResult<Option<Py<PyAny>>> {
    let left = Left(_pop_function_mode());
    let Some(mode) = &left.0 else { return Ok(None) };
    let given = overriding::handed(py, caller, classes, arguments)?;
    let answer = mode.bind(py).call_method1(intern!(py, "__torch_function__"), given)?;
    Ok(if answer.is(py.NotImplemented()) { None } else { Some(answer.unbind()) })
}
