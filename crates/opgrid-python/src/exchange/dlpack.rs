//! DLPack: memory that libraries lend each other, in both of its forms.
//!
//! What is lent stays with its owner. A capsule of ours keeps the tensor until the borrower calls its deleter; a tensor on
//! somebody else's memory calls theirs when the last view of it is gone. Either side may write while the other looks:
//! the borrow state of our storages does not see what others do, as no library's does. Who shares memory between threads
//! keeps them apart.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};

use opgrid::tensor::{Allocation, Geometry};
use opgrid::{Array, DType, Device, DeviceType, ErrorKind, Storage, Tensor, TensorSpec};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::errors::{OrRaise, new};
use crate::tensor::object::{TensorBase, expect_tensor, of};

#[repr(C)]
#[derive(Clone, Copy)]
struct DlDevice {
    kind: i32,
    index: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DlType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    dims: i32,
    dtype: DlType,
    sizes: *mut i64,
    /// Null for row-major tensors.
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

const NAME: &CStr = c"dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const CPU: i32 = 1;
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

/// The dtypes that both sides have, by code and bits.
const TYPES: [(DType, u8, u8); 17] = [
    (DType::I8, 0, 8),
    (DType::I16, 0, 16),
    (DType::I32, 0, 32),
    (DType::I64, 0, 64),
    (DType::U8, 1, 8),
    (DType::U16, 1, 16),
    (DType::U32, 1, 32),
    (DType::U64, 1, 64),
    (DType::F8E4M3, 10, 8),
    (DType::F8E5M2, 12, 8),
    (DType::F16, 2, 16),
    (DType::F32, 2, 32),
    (DType::F64, 2, 64),
    (DType::BF16, 4, 16),
    (DType::Complex64, 5, 64),
    (DType::Complex128, 5, 128),
    (DType::Bool, 6, 8),
];

/// What a capsule of ours keeps.
struct Lent {
    sizes: Vec<i64>,
    strides: Vec<i64>,
    _tensor: Tensor,
}

/// What is lent of a tensor, and what keeps it.
fn lend(py: Python<'_>, tensor: &Tensor) -> PyResult<(DlTensor, Box<Lent>)> {
    let array = tensor.array().or_raise(py)?;
    let found = TYPES.iter().find(|(dtype, ..)| *dtype == array.dtype());
    let Some(&(_, code, bits)) = found else {
        return Err(PyBufferError::new_err(format!(
            "DLPack has no dtype like {}; convert the tensor first",
            array.dtype()
        )));
    };
    if array.device().kind() != DeviceType::Cpu {
        return Err(PyBufferError::new_err(format!(
            "memory of device {} is not lent, only that of the cpu",
            array.device()
        )));
    }
    // Reading clears memory that nobody has written.
    drop(array.storage().read().or_raise(py)?);
    let start = array.storage().address().map_or(ptr::null_mut(), NonNull::as_ptr);
    let offset = array.geometry().offset() as usize * array.dtype().size_in_bytes();
    let mut lent = Box::new(Lent {
        sizes: array.sizes().to_vec(),
        strides: array.geometry().strides().to_vec(),
        _tensor: tensor.clone(),
    });
    let described = DlTensor {
        data: start.wrapping_add(offset).cast(),
        device: DlDevice { kind: CPU, index: 0 },
        dims: lent.sizes.len() as i32,
        dtype: DlType { code, bits, lanes: 1 },
        sizes: lent.sizes.as_mut_ptr(),
        strides: lent.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    Ok((described, lent))
}

/// # Safety
///
/// `managed` comes from `export`, and this is the only call for it.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: guaranteed by the caller, see `# Safety`: `export` made it with `Box::into_raw`.
    let managed = unsafe { Box::from_raw(managed) };
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(managed.context.cast::<Lent>()) });
}

/// # Safety
///
/// As of [`delete`].
unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: guaranteed by the caller, see `# Safety`: `export` made it with `Box::into_raw`.
    let managed = unsafe { Box::from_raw(managed) };
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(managed.context.cast::<Lent>()) });
}

/// What the interpreter calls for a capsule that goes: nobody has taken what is in it if it still has its first name.
///
/// # Safety
///
/// `capsule` is a capsule that `export` made.
unsafe extern "C" fn end_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: guaranteed by the caller, see `# Safety`; both functions take any capsule and name.
    let found = unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) != 0 {
            (ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()), false)
        } else if ffi::PyCapsule_IsValid(capsule, NAME_VERSIONED.as_ptr()) != 0 {
            (ffi::PyCapsule_GetPointer(capsule, NAME_VERSIONED.as_ptr()), true)
        } else {
            return;
        }
    };
    match found {
        // SAFETY: the name says that nobody has taken it, so that it is ours to delete.
        (managed, false) => unsafe { delete(managed.cast()) },
        // SAFETY: as above.
        (managed, true) => unsafe { delete_versioned(managed.cast()) },
    }
}

/// A capsule with the tensor's memory.
fn export<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    versioned: bool,
    copied: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (described, lent) = lend(py, tensor)?;
    let context: *mut c_void = Box::into_raw(lent).cast();
    let (managed, name): (*mut c_void, _) = match versioned {
        true => {
            let flags = if copied { IS_COPIED } else { 0 };
            let managed = ManagedVersioned {
                major: 1,
                minor: 0,
                context,
                deleter: Some(delete_versioned),
                flags,
                tensor: described,
            };
            (Box::into_raw(Box::new(managed)).cast(), NAME_VERSIONED)
        }
        false => {
            let managed = Managed { tensor: described, context, deleter: Some(delete) };
            (Box::into_raw(Box::new(managed)).cast(), NAME)
        }
    };
    // SAFETY: the pointer is not null, the name is static, the destructor takes such capsules.
    let capsule = unsafe { ffi::PyCapsule_New(managed, name.as_ptr(), Some(end_capsule)) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// Gives memory back to the library that has lent it.
struct Borrowed(Owner);

enum Owner {
    Plain(*mut Managed),
    Versioned(*mut ManagedVersioned),
}

// SAFETY: DLPack lets the deleter be called on any thread, and nothing else is done with the pointer.
unsafe impl Send for Borrowed {}
// SAFETY: as above; a shared reference gives nothing out.
unsafe impl Sync for Borrowed {}

impl Drop for Borrowed {
    fn drop(&mut self) {
        match self.0 {
            Owner::Plain(managed) => {
                // SAFETY: taken from a capsule whose name was changed, so that it is ours until we delete it, here.
                if let Some(deleter) = unsafe { (*managed).deleter } {
                    // SAFETY: as above.
                    unsafe { deleter(managed) }
                }
            }
            Owner::Versioned(managed) => {
                // SAFETY: as above.
                if let Some(deleter) = unsafe { (*managed).deleter } {
                    // SAFETY: as above.
                    unsafe { deleter(managed) }
                }
            }
        }
    }
}

/// Takes what is in a capsule, which changes its name.
fn take<'py>(capsule: &Bound<'py, PyAny>) -> PyResult<(Borrowed, *const DlTensor, u64)> {
    let py = capsule.py();
    if !capsule.is_instance_of::<PyCapsule>() {
        let found = capsule.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "__dlpack__ gave an object of class {found}, expected a capsule"
        )));
    }
    let has = |name: &CStr| {
        // SAFETY: it is a capsule, see above.
        unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) != 0 }
    };
    let taken = |name: &CStr, used: &'static CStr| {
        // SAFETY: `has` says that the capsule is of this name.
        let managed = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
        // SAFETY: as above; the new name is static.
        match unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } {
            0 => Ok(managed),
            _ => Err(PyErr::fetch(py)),
        }
    };
    if has(NAME_VERSIONED) {
        let managed: *mut ManagedVersioned = taken(NAME_VERSIONED, USED_VERSIONED)?.cast();
        let borrowed = Borrowed(Owner::Versioned(managed));
        // SAFETY: DLPack guarantees that a capsule of this name leads to such a structure, whose first words never change.
        let (major, minor) = unsafe { ((*managed).major, (*managed).minor) };
        if major != 1 {
            return Err(PyBufferError::new_err(format!("found DLPack version {major}.{minor}, expected 1")));
        }
        // SAFETY: as above, of version 1.
        return Ok((borrowed, unsafe { &raw const (*managed).tensor }, unsafe { (*managed).flags }));
    }
    if has(NAME) {
        let managed: *mut Managed = taken(NAME, USED)?.cast();
        // SAFETY: DLPack guarantees that a capsule of this name leads to such a structure.
        return Ok((Borrowed(Owner::Plain(managed)), unsafe { &raw const (*managed).tensor }, 0));
    }
    Err(PyBufferError::new_err("the capsule holds no tensor, or somebody has taken it; call __dlpack__ anew"))
}

/// A tensor on the memory of another library; of memory that may not be written, or if `copy` says so, a copy.
///
/// # Errors
///
/// Memory of another device, of a dtype that tensors do not have, or with distances that they cannot have.
pub(crate) fn import(object: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = object.py();
    let (kind, _): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
    if kind != CPU {
        let message = format!(
            "found memory of DLPack's device {kind}, expected that of the cpu (1); copy it there first"
        );
        return Err(PyBufferError::new_err(message));
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("max_version", (1, 0))?;
    let capsule = match object.call_method("__dlpack__", (), Some(&kwargs)) {
        // Libraries from before version 1 do not know the argument.
        Err(raised) if raised.is_instance_of::<PyTypeError>(py) => object.call_method0("__dlpack__")?,
        capsule => capsule?,
    };
    let (borrowed, described, flags) = take(&capsule)?;
    // SAFETY: `borrowed` keeps the structure, and what it leads to, until it is dropped.
    let described = unsafe { &*described };
    let read_only = flags & READ_ONLY != 0;
    if read_only && copy == Some(false) {
        return Err(PyBufferError::new_err(
            "the memory is read-only, so that it has to be copied; leave copy=False away",
        ));
    }
    let tensor = tensor_of_memory(py, described, borrowed)?;
    if read_only || copy == Some(true) {
        return opgrid::ops::Clone.call(&tensor, None).or_raise(py);
    }
    Ok(tensor)
}

fn tensor_of_memory(py: Python<'_>, described: &DlTensor, borrowed: Borrowed) -> PyResult<Tensor> {
    let DlType { code, bits, lanes } = described.dtype;
    let known = TYPES.iter().find(|(_, known, size)| (*known, *size, 1) == (code, bits, lanes));
    let Some(&(dtype, ..)) = known else {
        let message = format!(
            "found elements of DLPack's type ({code}, {bits} bits, {lanes} lanes), which tensors do not have; convert them first"
        );
        return Err(PyTypeError::new_err(message));
    };
    let dims = usize::try_from(described.dims)
        .map_err(|_| PyBufferError::new_err("found a negative number of dimensions"))?;
    let numbers = |start: *mut i64| match dims {
        0 => &[][..],
        // SAFETY: DLPack guarantees so many numbers there, as long as the structure is there.
        _ => unsafe { std::slice::from_raw_parts(start, dims) },
    };
    let sizes = numbers(described.sizes);
    if !described.strides.is_null() && numbers(described.strides).iter().any(|stride| *stride < 0) {
        let message =
            "found negative strides, which tensors do not have; copy the array first, as with array.copy()";
        return Err(PyValueError::new_err(message));
    }
    let geometry = match described.strides.is_null() {
        true => Geometry::contiguous(sizes),
        false => Geometry::strided(sizes, numbers(described.strides), 0),
    };
    let geometry = geometry.or_raise(py)?;
    let spec = TensorSpec::new(geometry, dtype, Device::CPU);
    let bytes = usize::try_from(spec.geometry().end()).unwrap_or(0) * dtype.size_in_bytes();
    let start = described.data.cast::<u8>().wrapping_add(described.byte_offset as usize);
    let start = match NonNull::new(start) {
        Some(start) if bytes > 0 => start,
        None if bytes > 0 => {
            return Err(PyBufferError::new_err("found no memory behind a tensor with elements"));
        }
        _ => {
            // Without elements there is nothing to share.
            return Array::empty(spec).and_then(Tensor::from_array).or_raise(py);
        }
    };
    if start.addr().get() % element_alignment(dtype) != 0 {
        let message = format!(
            "found memory at an address that is not a multiple of {}; copy it first",
            element_alignment(dtype)
        );
        return Err(new(py, ErrorKind::Argument, &message));
    }
    // SAFETY: DLPack guarantees the elements from `start` on, of which the last one that the sizes and strides lead to ends
    // at `bytes`, until the deleter is called, by `release`. That others write them meanwhile is in the hands of who
    // shares them, as this module's text says.
    let memory = unsafe { Allocation::foreign(start, bytes, move || drop(borrowed)) };
    // SAFETY: DLPack lends initialised elements.
    let storage = unsafe { Storage::of_written(memory) };
    storage.and_then(|storage| Array::new(spec, storage)).and_then(Tensor::from_array).or_raise(py)
}

fn element_alignment(dtype: DType) -> usize {
    if dtype.is_complex() { dtype.size_in_bytes() / 2 } else { dtype.size_in_bytes() }
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
    of(py, import(object, copy)?)
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
            return Err(PyBufferError::new_err("memory of the cpu has no streams; leave stream away"));
        }
        if let Some((kind, index)) = dl_device.filter(|(kind, _)| *kind != CPU) {
            return Err(PyBufferError::new_err(format!(
                "memory is lent on the cpu, not on device ({kind}, {index})"
            )));
        }
        let versioned = max_version.is_some_and(|(major, _)| major >= 1);
        let tensor = expect_tensor(slf.as_any())?;
        match copy {
            Some(true) => {
                let copied = opgrid::ops::Clone.call(tensor, None).or_raise(py)?;
                export(py, &copied, versioned, true)
            }
            _ => export(py, tensor, versioned, false),
        }
    }

    /// DLPack's kind of device and its number.
    fn __dlpack_device__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let tensor = expect_tensor(slf.as_any())?;
        if tensor.device().kind() != DeviceType::Cpu {
            let message = format!("memory of device {} is not lent, only that of the cpu", tensor.device());
            return Err(PyBufferError::new_err(message));
        }
        PyTuple::new(slf.py(), [CPU, 0])
    }
}
