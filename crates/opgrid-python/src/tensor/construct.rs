//! New tensors: `tensor`, `asarray`, and what `Tensor(...)` means.

use opgrid::{DType, Device, Error, ErrorKind, MemoryFormat, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};

use super::dispatching::Handed;
use super::nested;
use super::object::{tensor_object, tensor_of};
use super::storage::StorageObject;
use crate::errors::{OrRaise, new};
use crate::exchange::buffer;
use crate::values::{default_device, read, size};

/// The tensor that `Tensor(...)` makes: numbers one by one and a `Size` are sizes, anything else is data.
///
/// # Errors
///
/// Arguments of none of the forms.
pub(super) fn legacy(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<Tensor> {
    let py = args.py();
    let mut given: Vec<Bound<'_, PyAny>> = args.iter().collect();
    let mut by_name = None;
    let mut device = None;
    for (name, value) in kwargs.into_iter().flat_map(|kwargs| kwargs.iter()) {
        let name: String = name.extract()?;
        match name.as_str() {
            "device" => device = Some(value),
            "cdata" => {
                let message = "new(): a tensor cannot be created from a bare pointer (`cdata`); \
                     exchange memory by DLPack (from_dlpack)";
                return Err(new(py, ErrorKind::NotImplemented, message));
            }
            "size" | "data" | "other" | "storage" if given.is_empty() && by_name.is_none() => {
                by_name = Some(name);
                given.push(value);
            }
            "size" | "data" | "other" | "storage" => {
                return Err(PyTypeError::new_err(format!("new() got multiple values for argument '{name}'")));
            }
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "new() got an unexpected keyword argument '{name}'"
                )));
            }
        }
    }
    check_device(device.as_ref())?;
    let sizes =
        |sizes: &[i64]| Tensor::empty(sizes, opgrid::tensor::default_dtype(), Device::CPU).or_raise(py);
    let [only] = given.as_slice() else {
        if given.is_empty() {
            return sizes(&[0]);
        }
        let numbers: Option<Vec<i64>> = given.iter().map(whole).collect();
        return match numbers {
            Some(numbers) => sizes(&numbers),
            None => {
                let found: Vec<String> = given
                    .iter()
                    .map(|object| Ok(object.get_type().name()?.to_string()))
                    .collect::<PyResult<_>>()?;
                let message = format!(
                    "new() received an invalid combination of arguments - got ({}), but expected sizes, a list of numbers, \
                     a tensor or a storage",
                    found.join(", ")
                );
                Err(PyTypeError::new_err(message))
            }
        };
    };
    if let Ok(handed) = only.cast_exact::<Handed>() {
        return Ok(handed.get().0.clone());
    }
    if let Ok(storage) = only.cast::<StorageObject>() {
        return storage.get().view(py);
    }
    if let Some(other) = tensor_of(only) {
        if device.is_some() {
            let message = "Legacy tensor constructor of the form Tensor(tensor, device=device) is not supported. Use \
                           opgrid.asarray(...) or tensor.to(...) instead";
            return Err(PyRuntimeError::new_err(message));
        }
        // Gradients pass, as in torch.
        return opgrid::ops::Alias.call(other).or_raise(py);
    }
    if let Some(number) = whole(only) {
        return sizes(&[number]);
    }
    if by_name.as_deref() == Some("size") || size::is_size(only)? {
        return sizes(&only.extract::<Vec<i64>>()?);
    }
    if only.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("new(): invalid data type 'str'"));
    }
    if only.len().is_err() {
        let found = only.get_type().name()?;
        return Err(PyTypeError::new_err(format!("new(): data must be a sequence (got {found})")));
    }
    nested::tensor(only, Some(opgrid::tensor::default_dtype()))
}

fn whole(object: &Bound<'_, PyAny>) -> Option<i64> {
    let is_number = object.is_instance_of::<PyInt>() && !object.is_instance_of::<pyo3::types::PyBool>();
    if is_number { object.extract().ok() } else { None }
}

fn check_device(device: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(device) = device.filter(|device| !device.is_none()) else { return Ok(()) };
    let Some(device) = read::device(device)? else {
        let found = device.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "new(): argument 'device' must be opgrid.device, not {found}"
        )));
    };
    if device.kind() == opgrid::dispatch::DeviceType::Cpu {
        return Ok(());
    }
    let message =
        format!("legacy constructor expects device type: cpu but device type: {} was passed", device.kind());
    Err(PyRuntimeError::new_err(message))
}

/// A new tensor of these numbers, in lists of lists; of the dtype that holds them all where none is given.
#[pyfunction]
#[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false))]
pub(crate) fn tensor(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    requires_grad: bool,
) -> PyResult<Py<PyAny>> {
    let (dtype, device) = options(dtype, device)?;
    let made = match tensor_of(data) {
        Some(tensor) => copied(py, tensor, dtype.or(Some(tensor.dtype())), device)?,
        None => match super::super::exchange::shared(data, None)? {
            Some(tensor) => copied(py, &tensor, dtype.or(Some(tensor.dtype())), device)?,
            None => moved(py, nested::tensor(data, dtype)?, device)?,
        },
    };
    if requires_grad {
        // A copy of a tensor that requires a gradient is a leaf, as torch has it.
        let made = made.detach().or_raise(py)?;
        made.requires_grad_(true).or_raise(py)?;
        return tensor_object(py, made);
    }
    tensor_object(py, made)
}

/// Data as a tensor: the very tensor, an array's or another library's memory, or a new tensor of numbers.
#[pyfunction]
#[pyo3(signature = (data, *, dtype=None, device=None, copy=None, requires_grad=false))]
pub(crate) fn asarray(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
    copy: Option<bool>,
    requires_grad: bool,
) -> PyResult<Py<PyAny>> {
    if requires_grad {
        let made = asarray(py, data, dtype, device, copy, false)?;
        crate::tensor::object::expect_tensor(made.bind(py))?.requires_grad_(true).or_raise(py)?;
        return Ok(made);
    }
    let (wanted, place) = options(dtype, device)?;
    let shared = match tensor_of(data) {
        Some(tensor) => Some(tensor.clone()),
        None => {
            match super::super::exchange::shared(data, copy).map_err(|raised| forbidden(py, copy, raised))? {
                None => buffer::tensor_of(data, wanted, copy != Some(false))?,
                shared => shared,
            }
        }
    };
    let Some(tensor) = shared else {
        if copy == Some(false) {
            let message = "asarray(): can't alias arbitrary sequence into a tensor; omit copy=False";
            return Err(pyo3::exceptions::PyValueError::new_err(message));
        }
        return tensor_object(py, moved(py, nested::tensor(data, wanted)?, place)?);
    };
    let same = wanted.is_none_or(|dtype| dtype == tensor.dtype())
        && place.is_none_or(|place| place == tensor.device());
    match (copy, same) {
        (Some(true), _) | (None, false) => tensor_object(py, copied(py, &tensor, wanted, place)?),
        (_, true) => tensor_object(py, tensor),
        (Some(false), false) => {
            let message = "asarray(): cannot return another dtype or device without a copy; omit copy=False";
            Err(pyo3::exceptions::PyValueError::new_err(message))
        }
    }
}

/// A copy that `copy=False` forbids is a `ValueError` of every kind of data.
fn forbidden(py: Python<'_>, copy: Option<bool>, raised: PyErr) -> PyErr {
    if copy == Some(false) && raised.is_instance_of::<pyo3::exceptions::PyBufferError>(py) {
        return pyo3::exceptions::PyValueError::new_err(format!("asarray(): {}", raised.value(py)));
    }
    raised
}

fn options(
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Option<DType>, Option<Device>)> {
    let refused = |name: &str, object: &Bound<'_, PyAny>| {
        let found = object.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!("argument '{name}' must be opgrid.{name}, not {found}"))
    };
    let dtype = match dtype.filter(|object| !object.is_none()) {
        Some(object) => Some(read::dtype(object).ok_or_else(|| refused("dtype", object))?),
        None => None,
    };
    let device = match device.filter(|object| !object.is_none()) {
        Some(object) => Some(read::device(object)?.ok_or_else(|| refused("device", object))?),
        None => default_device::chosen(),
    };
    Ok((dtype, device))
}

/// A copy with this dtype, on this device.
fn copied(py: Python<'_>, tensor: &Tensor, dtype: Option<DType>, device: Option<Device>) -> PyResult<Tensor> {
    opgrid::ops::ToCopy.call(tensor, dtype, None, device, None, false, None).or_raise(py)
}

fn moved(py: Python<'_>, tensor: Tensor, device: Option<Device>) -> PyResult<Tensor> {
    match device.filter(|device| *device != tensor.device()) {
        Some(device) => copied(py, &tensor, None, Some(device)),
        None => Ok(tensor),
    }
}

/// The tensor with another dtype, on another device, in another order in memory, or itself where nothing changes.
pub(super) fn converted(
    tensor: &Tensor,
    dtype: Option<DType>,
    device: Option<Device>,
    copy: bool,
    non_blocking: bool,
    format: Option<MemoryFormat>,
) -> Result<Tensor, Error> {
    let is_there = |device| opgrid::devices::is_on(tensor.device(), device);
    // As torch has it: one channel lies in either order, and is copied for the strides.
    let is_ordered =
        |format| format == MemoryFormat::Preserve || tensor.geometry().suggested_format() == format;
    let is_as_asked = dtype.is_none_or(|dtype| dtype == tensor.dtype())
        && device.is_none_or(is_there)
        && format.is_none_or(is_ordered);
    if is_as_asked && !copy {
        return Ok(tensor.clone());
    }
    opgrid::ops::ToCopy.call(tensor, dtype, None, device, None, non_blocking, format)
}
