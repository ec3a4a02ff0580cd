//! Memory of objects with Python's buffer protocol: bytes, memory maps, arrays of the standard library.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};

use opgrid::array::{Array, Storage, TensorSpec};
use opgrid::tensor::Allocation;
use opgrid::{DType, Device, Tensor};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};

use crate::errors::OrRaise;
use crate::tensor::object::{expect_tensor, tensor_object};
use crate::values::read;

/// A tensor on the memory of an object with the buffer protocol: writing one writes the other. Where the memory cannot be
/// shared, the tensor is a copy, with a warning.
#[pyfunction]
#[pyo3(signature = (buffer, *, dtype, count=-1, offset=0, requires_grad=false))]
pub(crate) fn frombuffer(
    py: Python<'_>,
    buffer: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
    count: i64,
    offset: i64,
    requires_grad: bool,
) -> PyResult<Py<PyAny>> {
    let Some(dtype) = read::dtype(dtype) else {
        let found = dtype.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "frombuffer(): argument 'dtype' must be opgrid.dtype, not {found}"
        )));
    };
    let part = Part::from_buffer(buffer, dtype, count, offset)?;
    let why = match (part.buffer.readonly(), part.is_misaligned()) {
        (true, _) => Some(c"frombuffer(): the buffer is read-only, so that the tensor is a copy"),
        (false, true) => Some(
            c"frombuffer(): the elements are at an address that is no multiple of their size, so that \
                 the tensor is a copy",
        ),
        (false, false) => None,
    };
    if let Some(message) = why {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), message, 1)?;
    }
    let tensor = tensor_object(py, part.into_tensor().or_raise(py)?)?;
    if requires_grad {
        expect_tensor(tensor.bind(py))?.requires_grad_(true).or_raise(py)?;
    }
    Ok(tensor)
}

/// The tensor on the memory of bytes, a byte array or a memory view, of that dtype or of the one that the view has; `None` of
/// other objects.
///
/// # Errors
///
/// Bytes that are no whole elements; a copy where `may_copy` says no.
pub(crate) fn tensor_of(
    object: &Bound<'_, PyAny>,
    dtype: Option<DType>,
    may_copy: bool,
) -> PyResult<Option<Tensor>> {
    let is_known = object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
        || object.is_instance_of::<PyMemoryView>();
    if !is_known {
        return Ok(None);
    }
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => dtype_of(&PyUntypedBuffer::get(object)?),
    };
    let part = Part::from_buffer(object, dtype, -1, 0)?;
    if !may_copy && part.has_to_be_copied() {
        return Err(PyValueError::new_err(
            "asarray(): the buffer is read-only, or its elements are at an address that is no multiple \
             of their size, so that it has to be copied; omit copy=False",
        ));
    }
    part.into_tensor().or_raise(object.py()).map(Some)
}

/// The dtype of a buffer's elements by its format; bytes where there is no such dtype.
fn dtype_of(buffer: &PyUntypedBuffer) -> DType {
    let signed = [(1, DType::I8), (2, DType::I16), (4, DType::I32), (8, DType::I64)];
    let of_size = |known: &[(usize, DType)]| {
        known.iter().find(|(size, _)| *size == buffer.item_size()).map_or(DType::U8, |(_, dtype)| *dtype)
    };
    match buffer.format().to_bytes() {
        b"?" => DType::Bool,
        b"b" | b"h" | b"i" | b"l" | b"q" => of_size(&signed),
        b"H" | b"I" | b"L" | b"Q" => of_size(&[(2, DType::U16), (4, DType::U32), (8, DType::U64)]),
        b"e" | b"f" | b"d" => of_size(&[(2, DType::F16), (4, DType::F32), (8, DType::F64)]),
        _ => DType::U8,
    }
}

/// Elements in a buffer.
struct Part {
    buffer: PyUntypedBuffer,
    dtype: DType,
    /// Invariant: so many elements lie in the buffer from `start` on.
    start: *mut u8,
    count: i64,
}

impl Part {
    /// # Errors
    ///
    /// An object without a buffer, or with one that is not contiguous; elements that are not in it.
    fn from_buffer(object: &Bound<'_, PyAny>, dtype: DType, count: i64, offset: i64) -> PyResult<Self> {
        // The view has strides, also where the object leaves them away.
        let view = PyMemoryView::from(object);
        let buffer = view.and_then(|view| PyUntypedBuffer::get(&view)).map_err(|_| {
            let found = object.get_type().to_string();
            PyValueError::new_err(format!(
                "found an object of {found}, expected one that implements Python's buffer protocol"
            ))
        })?;
        let refused = |message: String| Err(PyValueError::new_err(message));
        if !buffer.is_c_contiguous() {
            return refused(
                "found a buffer that is not contiguous; copy it first, as with bytes()".to_owned(),
            );
        }
        let (length, size) = (buffer.len_bytes() as i64, dtype.size_in_bytes() as i64);
        if length == 0 || count == 0 {
            return refused(format!("both buffer length ({length}) and count ({count}) must not be 0"));
        }
        if !(0..length).contains(&offset) {
            return refused(format!(
                "offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
            ));
        }
        let rest = length - offset;
        if count < 0 && rest % size != 0 {
            return refused(format!(
                "buffer length ({rest} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
            ));
        }
        let count = if count < 0 { rest / size } else { count };
        if count > rest / size {
            return refused(format!(
                "requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual \
                 buffer length ({length} bytes)"
            ));
        }
        let start = buffer.buf_ptr().cast::<u8>().wrapping_add(offset as usize);
        Ok(Self { buffer, dtype, start, count })
    }

    fn is_misaligned(&self) -> bool {
        !self.start.addr().is_multiple_of(self.dtype.alignment())
    }

    fn has_to_be_copied(&self) -> bool {
        self.buffer.readonly() || self.is_misaligned()
    }

    fn into_tensor(self) -> opgrid::Result<Tensor> {
        let spec = TensorSpec::contiguous(&[self.count], self.dtype, Device::CPU)?;
        let bytes = spec.bytes()?;
        // Truth values are bytes of which only two are such.
        if self.has_to_be_copied() || self.dtype == DType::Bool {
            let array = Array::empty(spec)?;
            let mut guard = array.storage().write()?;
            let target = &mut guard.bytes()[..bytes];
            // SAFETY: the invariant; the buffer is held until this returns, and the new array's bytes are its own.
            unsafe { ptr::copy_nonoverlapping(self.start, target.as_mut_ptr(), bytes) };
            if self.dtype == DType::Bool {
                target.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
            drop(guard);
            return Tensor::from_array(array);
        }
        let start = NonNull::new(self.start).ok_or_else(|| {
            opgrid::Error::new(opgrid::ErrorKind::Value, "found no memory behind a buffer with elements")
        })?;
        let buffer = self.buffer;
        // SAFETY: the invariant, and the protocol's: the bytes stay where they are and may be written until the buffer is given
        // back. That others write them meanwhile is in the hands of who shares them, as of memory that DLPack lends.
        let memory = unsafe { Allocation::foreign(start, bytes, move || drop(buffer)) };
        // SAFETY: bytes of an object have values.
        let storage: Storage = unsafe { Storage::of_written(memory) }?;
        Tensor::from_array(Array::new(spec, storage)?)
    }
}
