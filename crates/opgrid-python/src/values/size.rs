//! Sizes of tensors: a tuple of integers with a class of its own, which is written in Python (`opgrid/_size.py`).
#![allow(unsafe_code)]

use crate::once::OncePlace;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// The class, as it was when the package was imported: what somebody puts in its place later is not looked at.
static CLASS: OncePlace<Py<PyType>> = OncePlace::new();

/// Takes the class from the module that has it.
///
/// # Errors
///
/// It is no class of tuples.
pub(crate) fn find_class(py: Python<'_>) -> PyResult<()> {
    class(py).map(drop)
}

fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    let class = CLASS.get_or_make(py, || {
        let class = py.import("opgrid._size")?.getattr("Size")?.cast_into::<PyType>()?;
        // Invariant: what is kept here derives from `tuple`, for `from_sizes`.
        if !class.is_subclass_of::<PyTuple>()? {
            let message = format!("opgrid._size.Size: found {class}, expected a class derived from tuple");
            return Err(PyTypeError::new_err(message));
        }
        Ok(class.unbind())
    })?;
    Ok(class.bind(py))
}

/// Whether the object is a `Size`.
pub(crate) fn is_size(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.is_instance(class(object.py())?)
}

/// A new `Size`.
pub(crate) fn from_sizes<'py>(py: Python<'py>, sizes: &[i64]) -> PyResult<Bound<'py, PyAny>> {
    let class = class(py)?;
    // SAFETY: `class` checks that it derives from `tuple`, whose layout the interpreter has derived classes keep, so that this
    // is a tuple with so many gaps, or null with an exception set.
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
