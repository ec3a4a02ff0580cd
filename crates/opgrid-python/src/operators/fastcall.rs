//! Functions of Python whose calls come here without a tuple and a dict being made for their arguments.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use smallvec::SmallVec;

use super::arguments::{Arguments, Object};
use super::functions::Caller;
use crate::errors::guarded;

unsafe extern "C" {
    /// A function bound to an object. (The interpreter's, which pyo3 leaves out.)
    fn PyMethod_New(function: *mut ffi::PyObject, object: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

/// A function that calls `caller`.
///
/// # Errors
///
/// No memory for it; a text with a zero in it.
pub(super) fn function<'py>(caller: &Bound<'py, Caller>, doc: &str) -> PyResult<Bound<'py, PyAny>> {
    let definition = definition(caller.get().name(), doc)?;
    // SAFETY: the definition is never freed; the function keeps `caller`, which is what `enter` takes it for.
    let function = unsafe { ffi::PyCFunction_NewEx(definition, caller.as_ptr(), std::ptr::null_mut()) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(caller.py(), function) }
}

/// The function bound to an object, as its first argument.
///
/// # Errors
///
/// No memory for it.
pub(super) fn bound<'py>(
    function: &Bound<'py, PyAny>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: any callable and any object are taken, and kept.
    let method = unsafe { PyMethod_New(function.as_ptr(), object.as_ptr()) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), method) }
}

/// A definition of a function: one for each name and text, kept for as long as the process runs, because functions
/// lead to it.
fn definition(name: &str, doc: &str) -> PyResult<*mut ffi::PyMethodDef> {
    pub struct Kept(*mut ffi::PyMethodDef);
    // SAFETY: what it leads to is never changed.
    unsafe impl Send for Kept {}
    static DEFINITIONS: Mutex<Option<HashMap<(CString, CString), Kept>>> = Mutex::new(None);

    let key = (CString::new(name)?, CString::new(doc)?);
    let mut definitions = DEFINITIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = definitions.get_or_insert_default().entry(key).or_insert_with_key(|(name, doc)| {
        let definition = ffi::PyMethodDef {
            ml_name: Box::leak(name.clone().into_boxed_c_str()).as_ptr(),
            ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: enter },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: Box::leak(doc.clone().into_boxed_c_str()).as_ptr(),
        };
        Kept(Box::into_raw(Box::new(definition)))
    });
    Ok(kept.0)
}

/// What the interpreter calls.
///
/// # Safety
///
/// As the interpreter calls functions of this kind: `caller` is the object that the function was made with, `args` leads
/// to `count` objects and then one for each name in the tuple `names`, which may be null; all stay until this returns.
unsafe extern "C" fn enter(
    caller: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    crate::collector::attached(|py| {
        // SAFETY: guaranteed by the caller, see `# Safety`; `function` alone makes such functions, with a `Caller`.
        let caller = unsafe { Borrowed::from_ptr(py, caller).cast_unchecked::<Caller>() };
        let count = count as usize;
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let object = |index: usize| unsafe { Object::from_ptr(py, *args.add(index)) };
        let positional = (0..count).map(object).collect();
        let mut keyword = SmallVec::new();
        if !names.is_null() {
            // SAFETY: guaranteed by the caller, see `# Safety`: a tuple of strings.
            let names = unsafe { Borrowed::from_ptr(py, names).cast_unchecked::<PyTuple>() };
            for index in 0..names.len() {
                // SAFETY: the index is below the tuple's length, and the tuple keeps its items.
                let name =
                    unsafe { Borrowed::from_ptr(py, ffi::PyTuple_GetItem(names.as_ptr(), index as isize)) };
                // SAFETY: names of keywords are strings, which the interpreter checks.
                keyword.push((unsafe { name.cast_unchecked::<PyString>() }, object(count + index)));
            }
        }
        match guarded(py, || caller.get().call(py, &Arguments { positional, keyword })) {
            Ok(result) => result.into_ptr(),
            Err(raised) => {
                raised.restore(py);
                std::ptr::null_mut()
            }
        }
    })
}
