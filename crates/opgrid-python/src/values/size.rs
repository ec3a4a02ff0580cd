//! Sizes of tensors: a tuple of integers with a class of its own, which is written in Python (`opgrid/_size.py`).

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "opgrid._size", "Size")
}

/// Whether the object is a `Size`.
pub(crate) fn is_size(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.is_instance(class(object.py())?)
}

/// A new `Size`.
pub(crate) fn of<'py>(py: Python<'py>, sizes: &[i64]) -> PyResult<Bound<'py, PyAny>> {
    static NEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let new = NEW.get_or_try_init(py, || py.get_type::<PyTuple>().getattr("__new__").map(Bound::unbind))?;
    new.bind(py).call1((class(py)?, PyTuple::new(py, sizes)?))
}
