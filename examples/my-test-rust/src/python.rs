//! The functions for Python. Tensors cross in capsules whose pointer leads to a handle.
#![allow(unsafe_code)]

use std::ffi::CStr;

use opgrid_plugin_sdk::{Error, ErrorKind, Tensor, set_included};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

const TENSOR: &CStr = c"opgrid_tensor";

/// Python's print, so that its lines and ours keep their order.
pub fn print(line: &str) -> Result<(), Error> {
    let print = |py: Python<'_>| -> PyResult<()> {
        py.import("builtins")?.getattr("print")?.call((line,), None::<&Bound<'_, PyDict>>).map(drop)
    };
    Python::attach(print).map_err(|raised| Error::new(ErrorKind::Kernel, raised.to_string()))
}

/// The tensor of an object.
fn tensor_of(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let host = object.py().import("opgrid._opgrid")?;
    let capsule = host.getattr("_tensor_capsule")?.call1((object,))?.cast_into::<PyCapsule>()?;
    let handle = capsule.pointer_checked(Some(TENSOR))?.cast::<*mut opgrid_plugin_sdk::abi::OpgridTensor>();
    // SAFETY: a capsule of this name leads to a handle, which lives as long as the capsule.
    unsafe { Tensor::borrow(*handle.as_ref()) }.map_err(raise)
}

/// The object of a tensor.
fn object_of(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let capsule = PyCapsule::new_with_value(py, tensor, TENSOR)?;
    py.import("opgrid._opgrid")?.getattr("_tensor_of_capsule")?.call1((capsule,))
}

/// The exception of an error, which opgrid raises.
fn raise(error: Error) -> PyErr {
    let message = error.message().to_owned();
    let kind = error.kind() as i32;
    let held = error.into_number();
    let raised = Python::attach(|py| {
        let host = py.import("opgrid._opgrid")?;
        host.getattr("_raise_plugin_error")?.call1((held, kind, message.as_str())).map(drop)
    });
    raised.err().unwrap_or_else(|| PyRuntimeError::new_err(message))
}

#[pymodule]
mod _C {
    use super::*;

    #[pyfunction]
    fn hello_world(n: i64) -> PyResult<String> {
        print(&format!("Hello World! {n}")).map_err(raise)?;
        Ok(n.to_string())
    }

    /// Calls the operator typed.
    #[pyfunction]
    fn add_1<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = tensor_of(x)?;
        object_of(x.py(), crate::Add1.call(&tensor).map_err(raise)?)
    }

    /// Includes the key of the hook on this thread, or stops including it.
    #[pyfunction]
    fn enable_hook(on: bool) {
        set_included(crate::HOOK, on);
    }
}
