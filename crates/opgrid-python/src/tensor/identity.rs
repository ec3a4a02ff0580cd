//! One Python object for each tensor: where it is, and when it goes.
//!
//! A tensor's record has a word for its object ([`Tensor::binding_object`]). It leads to the object while that is there; the
//! object keeps the tensor, not the other way round. Everything here happens while the thread is attached to the
//! interpreter, whose lock the module needs (it does not declare itself free of it).
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use opgrid::Tensor;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The tensor's object, if it has one.
#[inline]
pub(super) fn known<'py>(py: Python<'py>, tensor: &Tensor) -> Option<Bound<'py, PyAny>> {
    let object: *mut ffi::PyObject = tensor.binding_object().load(Ordering::Acquire).cast();
    if object.is_null() {
        return None;
    }
    // SAFETY: only `note` writes the word, a pointer to an object that calls `forget` before its memory is freed; the token
    // says that no other thread does that now.
    let count = unsafe { ffi::Py_REFCNT(object) };
    // An object whose last reference is gone runs the callbacks of weak references before it forgets its tensor.
    if count == 0 {
        return None;
    }
    // SAFETY: `note` wrote the word, and the object calls `forget` before its memory is freed, which no other thread does
    // while the token is held; by its count somebody holds a reference.
    Some(unsafe { Bound::from_borrowed_ptr(py, object) })
}

/// Says that this is the tensor's object.
#[inline]
pub(super) fn note(tensor: &Tensor, object: &Bound<'_, PyAny>) {
    tensor.binding_object().store(object.as_ptr().cast(), Ordering::Release);
}

/// Looks an attribute up as objects without a way of their own do.
pub(super) fn attribute<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: an object and a text, both held by the caller; what is given is a new reference, or null with an exception.
    unsafe {
        let found = ffi::PyObject_GenericGetAttr(object.as_ptr(), name.as_ptr());
        Bound::from_owned_ptr_or_err(object.py(), found)
    }
}

/// Sets or deletes an attribute as objects without a way of their own do.
pub(super) fn set_attribute(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let value = value.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // SAFETY: an object, a text, and an object or null for deletion, all held by the caller.
    match unsafe { ffi::PyObject_GenericSetAttr(object.as_ptr(), name.as_ptr(), value) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(object.py())),
    }
}

/// Says that the object is going, unless the tensor has another one by now.
#[inline]
pub(super) fn forget(tensor: &Tensor, object: *mut ()) {
    let word = tensor.binding_object();
    if word.load(Ordering::Acquire) == object {
        word.store(std::ptr::null_mut(), Ordering::Release);
    }
}
