//! Sizes of tensors: a tuple of integers with a class of its own, which is written in Python (`opgrid/_size.py`).
#![allow(unsafe_code)]

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

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
    let class = class(py)?;
    // SAFETY: the class is ours and derives from `tuple` without places of its own, so that this is a tuple with so many gaps,
    // or null with an exception set.
    let tuple = unsafe {
        let places = sizes.len() as ffi::Py_ssize_t;
        Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class.as_type_ptr(), places))
    }?;
    for (place, size) in sizes.iter().enumerate() {
        let size = size.into_pyobject(py)?.into_ptr();
        // SAFETY: nobody else has seen the tuple, and the place, one of those that it has, is a gap; it takes the reference.
        unsafe { ffi::PyTuple_SET_ITEM(tuple.as_ptr(), place as ffi::Py_ssize_t, size) };
    }
    Ok(tuple)
}
