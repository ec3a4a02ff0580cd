//! DLPack in Python: capsules that hold what [`opgrid::dlpack`] lends and borrows.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr::NonNull;

use opgrid::Tensor;
use opgrid::dispatch::DeviceType;
use opgrid::dlpack::{CPU, Loan, Unversioned, Versioned};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::numpy;
use crate::errors::OrRaise;
use crate::once::{OncePlace, intern};
use crate::tensor::object::{TensorBase, expect_tensor, tensor_object};

const NAME: &CStr = c"dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// A loan in either form.
pub(super) enum Lent {
    Unversioned(Loan<Unversioned>),
    Versioned(Loan<Versioned>),
}

impl Lent {
    pub(super) fn is_read_only(&self) -> bool {
        match self {
            Self::Unversioned(loan) => loan.is_read_only(),
            Self::Versioned(loan) => loan.is_read_only(),
        }
    }

    /// Whether tensors know the memory already.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::Unversioned(loan) => loan.is_known(),
            Self::Versioned(loan) => loan.is_known(),
        }
    }

    /// Whether the elements lie at addresses that elements of tensors do not have.
    pub(super) fn is_misaligned(&self) -> bool {
        match self {
            Self::Unversioned(loan) => loan.is_misaligned(),
            Self::Versioned(loan) => loan.is_misaligned(),
        }
    }

    /// # Errors
    ///
    /// Memory that has to be copied, if `copy` forbids that.
    pub(super) fn check_copy(&self, copy: Option<bool>) -> PyResult<()> {
        if copy != Some(false) {
            return Ok(());
        }
        if self.is_read_only() {
            return Err(PyBufferError::new_err(
                "the memory is read-only, so that it has to be copied; omit copy=False",
            ));
        }
        if self.is_misaligned() {
            return Err(PyBufferError::new_err(
                "the memory is at an address that is no multiple of the size of its elements, so that it \
                 has to be copied; omit copy=False",
            ));
        }
        Ok(())
    }

    fn dtype(&self) -> opgrid::Result<opgrid::DType> {
        match self {
            Self::Unversioned(loan) => loan.dtype(),
            Self::Versioned(loan) => loan.dtype(),
        }
    }

    fn strides(&self) -> Option<&[i64]> {
        match self {
            Self::Unversioned(loan) => loan.strides(),
            Self::Versioned(loan) => loan.strides(),
        }
    }

    /// A tensor on the memory; a copy if nobody may write that.
    ///
    /// # Errors
    ///
    /// Elements of a dtype that tensors do not have (`TypeError`), at distances (`ValueError`) or addresses that they cannot
    /// have.
    pub(super) fn into_checked_tensor(self, py: Python<'_>) -> PyResult<Tensor> {
        self.dtype().map_err(|error| PyTypeError::new_err(error.message().to_owned()))?;
        if self.strides().is_some_and(|strides| strides.iter().any(|stride| *stride < 0)) {
            return Err(PyValueError::new_err(
                "found negative strides, which tensors do not have; copy the array first, as with array.copy()",
            ));
        }
        let tensor = match self {
            Self::Unversioned(loan) => loan.into_tensor(),
            Self::Versioned(loan) => loan.into_tensor(),
        };
        tensor.or_raise(py)
    }
}

/// The exception that DLPack asks for where memory cannot be lent.
pub(super) fn buffer_error(error: opgrid::Error) -> PyErr {
    PyBufferError::new_err(error.message().to_owned())
}

/// What the interpreter calls for a capsule that goes: nobody has taken what is in it if it still has its first name.
///
/// # Safety
///
/// `capsule` is a capsule that `export` made.
unsafe extern "C" fn end_capsule(capsule: *mut ffi::PyObject) {
    let held = |name: &CStr| {
        // SAFETY: guaranteed by the caller, see `# Safety`; both functions take any capsule and name.
        unsafe {
            match ffi::PyCapsule_IsValid(capsule, name.as_ptr()) {
                0 => None,
                _ => NonNull::new(ffi::PyCapsule_GetPointer(capsule, name.as_ptr())),
            }
        }
    };
    if let Some(managed) = held(NAME) {
        // SAFETY: `export` put it there, and the name says that nobody has taken it.
        drop(unsafe { Loan::<Unversioned>::from_raw(managed.cast()) });
    } else if let Some(managed) = held(NAME_VERSIONED) {
        // SAFETY: `export` put it there, with its version, and the name says that nobody has taken it.
        drop(unsafe { Loan::<Versioned>::from_raw(managed.cast()) });
    }
}

/// A capsule with the tensor's memory.
fn export<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    versioned: bool,
    copied: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (managed, name) = if versioned {
        let loan = Loan::<Versioned>::from_tensor(tensor, copied).map_err(buffer_error)?;
        (loan.into_raw().cast(), NAME_VERSIONED)
    } else {
        let loan = Loan::<Unversioned>::from_tensor(tensor, copied).map_err(buffer_error)?;
        (loan.into_raw().cast(), NAME)
    };
    // SAFETY: the pointer is not null, the name is static, the destructor takes such capsules.
    let capsule = unsafe { ffi::PyCapsule_New(managed.as_ptr(), name.as_ptr(), Some(end_capsule)) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// Takes what is in a capsule, which changes its name.
fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Lent> {
    let py = capsule.py();
    if !capsule.is_instance_of::<PyCapsule>() {
        let found = capsule.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "__dlpack__ returned an object of class {found}, expected a capsule"
        )));
    }
    let taken = |name: &CStr, used: &'static CStr| {
        // SAFETY: it is a capsule, see above.
        if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) } == 0 {
            return Ok(None);
        }
        // SAFETY: a capsule of this name.
        let managed = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
        // SAFETY: a capsule, as was asked above; the new name is static.
        match unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } {
            0 => Ok(NonNull::new(managed)),
            _ => Err(PyErr::fetch(py)),
        }
    };
    if let Some(managed) = taken(NAME_VERSIONED, USED_VERSIONED)? {
        // SAFETY: DLPack guarantees that a capsule of this name leads to such a structure, and its new name gives it to us.
        let loan = unsafe { Loan::from_raw(managed.cast()) };
        return loan.map(Lent::Versioned).map_err(buffer_error);
    }
    if let Some(managed) = taken(NAME, USED)? {
        // SAFETY: DLPack guarantees that a capsule of this name leads to a structure without a version, and its new
        // name gives it to us.
        let loan = unsafe { Loan::from_raw(managed.cast()) };
        return loan.map(Lent::Unversioned).map_err(buffer_error);
    }
    Err(PyBufferError::new_err("the capsule holds no tensor, or has been consumed; call __dlpack__ again"))
}

/// A tensor on the memory of another library; of memory that may not be written, or lies at addresses that elements of tensors
/// do not have, or if `copy` says so, a copy.
///
/// # Errors
///
/// Memory of another device, of a dtype that tensors do not have, or with distances that they cannot have.
pub(crate) fn import(object: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = object.py();
    let (kind, _): (i32, i32) = object.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
    if kind != CPU {
        let message = format!(
            "found memory of DLPack's device {kind}, expected that of the cpu (1); copy it there first"
        );
        return Err(PyBufferError::new_err(message));
    }
    let lent = ask(object)?;
    lent.check_copy(copy)?;
    let is_copied = lent.is_read_only() || lent.is_misaligned();
    let _base = numpy::base_of(object, &lent)?;
    let tensor = lent.into_checked_tensor(py)?;
    match copy {
        Some(true) if !is_copied => opgrid::ops::CloneTensor.call(&tensor, None).or_raise(py),
        _ => Ok(tensor),
    }
}

/// What an object on the CPU lends.
pub(super) fn ask(object: &Bound<'_, PyAny>) -> PyResult<Lent> {
    let py = object.py();
    let capsule = match ask_for_versioned(object) {
        // Libraries from before version 1 do not know the argument.
        Err(raised) if raised.is_instance_of::<PyTypeError>(py) => object.call_method0("__dlpack__")?,
        capsule => capsule?,
    };
    take(&capsule)
}

/// `object.__dlpack__(max_version=(1, 0))`, without a dictionary for the one argument.
fn ask_for_versioned<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static VERSION: OncePlace<(Py<PyTuple>, Py<PyTuple>)> = OncePlace::new();
    let py = object.py();
    let (names, version) = VERSION.get_or_make(py, || {
        let names = PyTuple::new(py, [intern!(py, "max_version")])?;
        PyResult::Ok((names.unbind(), PyTuple::new(py, [1, 0])?.unbind()))
    })?;
    let method = intern!(py, "__dlpack__").as_ptr();
    let args = [object.as_ptr(), version.as_ptr()];
    // SAFETY: one argument by position, the object, and one for each name in a tuple of texts; the caller and `VERSION` hold them.
    let capsule = unsafe { ffi::PyObject_VectorcallMethod(method, args.as_ptr(), 1, names.as_ptr()) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// A tensor on the memory of an object that lends it by DLPack: writing one writes the other.
#[pyfunction]
#[pyo3(signature = (object, /, *, device=None, copy=None))]
pub(crate) fn from_dlpack(
    object: &Bound<'_, PyAny>,
    device: Option<&Bound<'_, PyAny>>,
    copy: Option<bool>,
) -> PyResult<Py<PyAny>> {
    let py = object.py();
    let wanted = match device {
        Some(device) => crate::values::read::device(device)?,
        None => None,
    };
    if let Some(device) = wanted.filter(|device| device.kind() != DeviceType::Cpu) {
        return Err(PyBufferError::new_err(format!(
            "memory is shared on the cpu, not on {device}; convert the tensor with .to"
        )));
    }
    tensor_object(py, import(object, copy)?)
}

#[pymethods]
impl TensorBase {
    /// The tensor's memory in a capsule, for another library.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if expect_tensor(slf.as_any())?.requires_grad() {
            return Err(PyBufferError::new_err(
                "Can't export tensors that require gradient, use tensor.detach()",
            ));
        }
        if stream.is_some_and(|stream| stream.extract::<i64>().map_or(true, |stream| stream != -1)) {
            return Err(PyBufferError::new_err("memory of the cpu has no streams; omit stream"));
        }
        if let Some((kind, index)) = dl_device.filter(|(kind, _)| *kind != CPU) {
            return Err(PyBufferError::new_err(format!(
                "memory is exported on the cpu, not on device ({kind}, {index})"
            )));
        }
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        let tensor = expect_tensor(slf.as_any())?;
        match copy {
            Some(true) => {
                let copied = opgrid::ops::CloneTensor.call(tensor, None).or_raise(py)?;
                export(py, &copied, versioned, true)
            }
            _ => export(py, tensor, versioned, false),
        }
    }

    /// DLPack's kind of device and its number.
    fn __dlpack_device__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let tensor = expect_tensor(slf.as_any())?;
        if tensor.device().kind() != DeviceType::Cpu {
            let message =
                format!("memory of device {} cannot be exported, only that of the cpu", tensor.device());
            return Err(PyBufferError::new_err(message));
        }
        PyTuple::new(slf.py(), [CPU, 0])
    }
}
