//! Tensors in capsules, for extensions that are plugins: the capsule's pointer leads to a handle of the plugin interface.
#![allow(unsafe_code)]

use std::ffi::CStr;

use opgrid::dispatch::AnyTensor;
use opgrid::plugin::foreign;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::errors::{exception, new};
use crate::tensor::object::{expect_tensor, of_any};

const NAME: &CStr = c"opgrid_tensor";

/// What a capsule keeps: a handle, which is nothing but its pointer.
#[repr(transparent)]
pub struct Kept(AnyTensor);

/// A capsule with a handle of a tensor, which it keeps.
#[pyfunction]
#[pyo3(name = "_tensor_capsule")]
pub(crate) fn tensor_capsule<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let kept = Kept(expect_tensor(tensor)?.clone().into());
    PyCapsule::new_with_value(tensor.py(), kept, NAME)
}

/// The tensor that an extension put into a capsule.
#[pyfunction]
#[pyo3(name = "_tensor_of_capsule")]
pub(crate) fn tensor_of_capsule(py: Python<'_>, capsule: &Bound<'_, PyCapsule>) -> PyResult<Py<PyAny>> {
    let pointer = capsule.pointer_checked(Some(NAME))?.cast::<Kept>();
    // SAFETY: a capsule of this name leads to a handle: those of ours do, and extensions guarantee it of theirs. It lives as
    // long as the capsule.
    let kept = unsafe { pointer.as_ref() };
    of_any(py, kept.0.clone())
}

/// Raises the exception of an error that an extension has caught: one that the host holds, else a new one of that kind.
///
/// # Errors
///
/// Always.
#[pyfunction]
#[pyo3(name = "_raise_plugin_error")]
pub(crate) fn raise_plugin_error(py: Python<'_>, held: usize, kind: i32, message: &str) -> PyResult<()> {
    match foreign::take_error(held) {
        Some(error) => Err(exception(py, &error)),
        None => Err(new(py, foreign::kind_of(kind), message)),
    }
}
