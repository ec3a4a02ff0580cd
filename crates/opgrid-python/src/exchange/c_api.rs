//! DLPack's table of C functions, by which other libraries take and give tensors without calling Python.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use opgrid::Tensor;
use opgrid::dlpack::{CPU, DlTensor, Loan, Versioned};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use super::dlpack::buffer_error;
use crate::errors::{OrRaise, guarded};
use crate::tensor::object::{TensorBase, tensor_object, tensor_of};

type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPI` of version 1.3.
#[repr(C)]
struct ExchangeApi {
    major: u32,
    minor: u32,
    /// A table of an older version; there is none.
    before: *const c_void,
    allocate:
        unsafe extern "C" fn(*const DlTensor, *mut *mut Versioned, *mut c_void, Option<SetError>) -> c_int,
    lend: unsafe extern "C" fn(*mut ffi::PyObject, *mut *mut Versioned) -> c_int,
    borrow: unsafe extern "C" fn(*mut Versioned, *mut *mut ffi::PyObject) -> c_int,
    describe: unsafe extern "C" fn(*mut ffi::PyObject, *mut DlTensor) -> c_int,
    stream: unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int,
}

// SAFETY: numbers, functions and a null pointer, which nobody changes.
unsafe impl Sync for ExchangeApi {}

static API: ExchangeApi =
    ExchangeApi { major: 1, minor: 3, before: ptr::null(), allocate, lend, borrow, describe, stream };

/// Runs the body of a function whose callers hold the interpreter; what it raises is left for them.
fn answer(body: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    crate::collector::attached(|py| match guarded(py, || body(py)) {
        Ok(()) => 0,
        Err(raised) => {
            raised.restore(py);
            -1
        }
    })
}

/// # Safety
///
/// `object` is null or a Python object.
unsafe fn expect<'py>(py: Python<'py>, object: *mut ffi::PyObject) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let object = unsafe { Bound::from_borrowed_ptr_or_opt(py, object) };
    object.ok_or_else(|| PyTypeError::new_err("found no object, expected a tensor"))
}

fn tensor_in<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a Tensor> {
    tensor_of(object).ok_or_else(|| match object.get_type().name() {
        Ok(class) => PyTypeError::new_err(format!("found an object of class {class}, expected a tensor")),
        Err(raised) => raised,
    })
}

/// A new tensor like a description, on loan. It may be called without the interpreter.
///
/// # Safety
///
/// As DLPack says: `prototype` leads to a description, `out` to a place for a pointer, and `set_error` takes `context`.
unsafe extern "C" fn allocate(
    prototype: *const DlTensor,
    out: *mut *mut Versioned,
    context: *mut c_void,
    set_error: Option<SetError>,
) -> c_int {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let spec = unsafe { (*prototype).spec() };
    let made =
        spec.and_then(Tensor::allocate).and_then(|tensor| Loan::<Versioned>::from_tensor(&tensor, false));
    match made {
        Ok(loan) => {
            // SAFETY: guaranteed by the caller, see `# Safety`: `out` is a place for a pointer.
            unsafe { out.write(loan.into_raw().as_ptr()) };
            0
        }
        Err(error) => {
            let message = CString::new(error.message().replace('\0', " ")).unwrap_or_default();
            if let Some(set_error) = set_error {
                // SAFETY: guaranteed by the caller, see `# Safety`: the function takes `context`; both strings
                // are there until it returns.
                unsafe { set_error(context, c"BufferError".as_ptr(), message.as_ptr()) };
            }
            -1
        }
    }
}

/// A tensor's memory, on loan.
///
/// # Safety
///
/// As DLPack says: the interpreter is held, `object` is a Python object, `out` a place for a pointer.
unsafe extern "C" fn lend(object: *mut ffi::PyObject, out: *mut *mut Versioned) -> c_int {
    answer(|py| {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let object = unsafe { expect(py, object) }?;
        let loan = Loan::<Versioned>::from_tensor(tensor_in(&object)?, false).map_err(buffer_error)?;
        // SAFETY: guaranteed by the caller, see `# Safety`: `out` is a place for a pointer.
        unsafe { out.write(loan.into_raw().as_ptr()) };
        Ok(())
    })
}

/// A tensor on memory that another library lends.
///
/// # Safety
///
/// As DLPack says: the interpreter is held, `managed` leads to a structure that is given away, `out` to a place for an object.
unsafe extern "C" fn borrow(managed: *mut Versioned, out: *mut *mut ffi::PyObject) -> c_int {
    answer(|py| {
        let managed = NonNull::new(managed);
        let managed = managed.ok_or_else(|| PyBufferError::new_err("found no DLPack structure"))?;
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let loan = unsafe { Loan::from_raw(managed) };
        let tensor = loan.and_then(Loan::into_tensor).or_raise(py)?;
        let object = tensor_object(py, tensor)?;
        // SAFETY: guaranteed by the caller, see `# Safety`: `out` is a place for an object.
        unsafe { out.write(object.into_ptr()) };
        Ok(())
    })
}

/// A description of a tensor, which holds as long as the tensor does.
///
/// # Safety
///
/// As DLPack says: the interpreter is held, `object` is a Python object, `out` a place for a description.
unsafe extern "C" fn describe(object: *mut ffi::PyObject, out: *mut DlTensor) -> c_int {
    answer(|py| {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let object = unsafe { expect(py, object) }?;
        let described = DlTensor::from_tensor(tensor_in(&object)?).map_err(buffer_error)?;
        // SAFETY: guaranteed by the caller, see `# Safety`: `out` is a place for a description.
        unsafe { out.write(described) };
        Ok(())
    })
}

/// The stream that work is put on: the CPU has none.
///
/// # Safety
///
/// As DLPack says: the interpreter is held, `out` leads to a place for a pointer.
unsafe extern "C" fn stream(kind: i32, _index: i32, out: *mut *mut c_void) -> c_int {
    answer(|_| {
        if kind != CPU {
            let message =
                format!("found DLPack's device {kind}, expected the cpu ({CPU}), which has no streams");
            return Err(PyBufferError::new_err(message));
        }
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { out.write(ptr::null_mut()) };
        Ok(())
    })
}

/// Lets the class of tensors name the table, in a capsule.
pub(crate) fn give_table(py: Python<'_>) -> PyResult<()> {
    let table = ptr::from_ref(&API).cast_mut().cast();
    // SAFETY: the pointer is not null; it and the name are static.
    let capsule = unsafe { ffi::PyCapsule_New(table, c"dlpack_exchange_api".as_ptr(), None) };
    // SAFETY: a new reference, or null with an exception set.
    let capsule = unsafe { Bound::from_owned_ptr_or_err(py, capsule) }?;
    py.get_type::<TensorBase>().setattr("__dlpack_c_exchange_api__", capsule)
}
