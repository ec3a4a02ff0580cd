//! numpy's arrays: they are looked at through DLPack, and numpy is loaded only when somebody uses it.

use opgrid::Tensor;
use opgrid::layers::autograd;
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::dlpack;
use crate::errors::OrRaise;
use crate::once::{OncePlace, intern};
use crate::tensor::object::{TensorBase, expect_tensor, tensor_object};

/// The tensor on an array's memory, if the object is an array of numpy; of one that may not be written, or lies at addresses
/// that elements of tensors do not have, a copy.
///
/// # Errors
///
/// As [`lend`]; a copy if `copy` forbids one.
pub(crate) fn array_of(object: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Option<Tensor>> {
    let py = object.py();
    if is_array(object)? {
        let lent = lend(object)?;
        lent.check_copy(copy)?;
        let _base = base_of(object, &lent)?;
        return lent.into_checked_tensor(py).map(Some);
    }
    if !object.hasattr(intern!(py, "__array_interface__"))? || !object.hasattr(intern!(py, "__dlpack__"))? {
        return Ok(None);
    }
    dlpack::import(object, copy.filter(|copy| !copy)).map(Some)
}

/// The memory of an array.
///
/// # Errors
///
/// What torch refuses as well: elements that tensors do not have (`TypeError`); another byte order, or distances between
/// elements that are no multiple of their size (`ValueError`).
fn lend(array: &Bound<'_, PyAny>) -> PyResult<dlpack::Lent> {
    let py = array.py();
    dlpack::ask(array).map_err(|raised| {
        if raised.is_instance_of::<PyBufferError>(py) { why_not(array).unwrap_or(raised) } else { raised }
    })
}

#[cold]
fn why_not(array: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let size: i64 = dtype.getattr("itemsize")?.extract()?;
    let is_known = match kind.as_str() {
        "b" | "i" | "u" => true,
        "f" => size <= 8,
        "c" => matches!(size, 8 | 16),
        _ => false,
    };
    if !is_known {
        let message =
            format!("can't convert an array of {dtype} to a tensor; convert it with `.astype` first");
        return Ok(PyTypeError::new_err(message));
    }
    if !dtype.getattr("isnative")?.is_truthy()? {
        return Ok(PyValueError::new_err(format!(
            "the array of {dtype} has another byte order than this machine, expected the native one; convert it with \
             `.astype(array.dtype.newbyteorder('='))`"
        )));
    }
    let strides: Vec<i64> = array.getattr("strides")?.extract()?;
    if strides.iter().any(|stride| stride % size != 0) {
        return Ok(PyValueError::new_err(format!(
            "the array has strides of {strides:?} bytes, expected multiples of the {size} bytes of its elements, as in an array \
             that is no field of another; copy it with `.copy()` first"
        )));
    }
    Ok(PyTypeError::new_err(format!(
        "can't convert an array of {dtype} to a tensor; convert it with `.astype` first"
    )))
}

/// Whether the object is an array of numpy, also of a derived class.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if is_plain_array(object)? {
        return Ok(true);
    }
    Ok(ARRAY
        .get(object.py())
        .is_some_and(|class| object.is_instance(class.bind(object.py())).unwrap_or(false)))
}

/// `numpy.ndarray`, once an array was seen.
static ARRAY: OncePlace<Py<PyType>> = OncePlace::new();

/// Whether the object is of the class `numpy.ndarray` itself, whose memory is on the CPU. Numpy is not imported for that.
fn is_plain_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let class = object.get_type();
    if let Some(known) = ARRAY.get(py) {
        return Ok(class.is(known));
    }
    let is_array = class.name()? == "ndarray" && class.module()? == "numpy";
    if is_array {
        // Somebody may have been faster.
        let _ = ARRAY.set(py, class.unbind());
    }
    Ok(is_array)
}

/// A tensor on the memory of an array of numpy: writing one writes the other. Where the memory cannot be shared, the tensor is
/// a copy, with a warning.
#[pyfunction]
pub(crate) fn from_numpy(array: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = array.py();
    if !is_plain_array(array)? && !array.hasattr(intern!(py, "__array_interface__"))? {
        let found = array.get_type().name()?;
        return Err(PyTypeError::new_err(format!("expected np.ndarray (got {found})")));
    }
    let lent = lend(array)?;
    let why = match (lent.is_read_only(), lent.is_misaligned()) {
        (true, _) => Some(c"from_numpy(): the array is read-only, so that the tensor is a copy"),
        (false, true) => Some(
            c"from_numpy(): the array is at an address that is no multiple of the size of its elements, \
                 so that the tensor is a copy",
        ),
        (false, false) => None,
    };
    if let Some(message) = why {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), message, 1)?;
    }
    let _base = base_of(array, &lent)?;
    tensor_object(py, lent.into_checked_tensor(py)?)
}

/// A tensor on all the memory of the array that this one is a view of, for as long as a tensor is made of the view: so
/// tensors on overlapping views share one storage, which knows of writes through any of them. `None` of arrays that are no
/// views, of memory that tensors know already, and where tensors cannot have the whole array.
pub(super) fn base_of(array: &Bound<'_, PyAny>, lent: &dlpack::Lent) -> PyResult<Option<Tensor>> {
    if lent.is_read_only() || !is_plain_array(array)? {
        return Ok(None);
    }
    let py = array.py();
    let base = |array: &Bound<'_, PyAny>| {
        let base = array.getattr(intern!(py, "base"))?;
        PyResult::Ok(if base.is_none() || !is_plain_array(&base)? { None } else { Some(base.unbind()) })
    };
    let Some(first) = base(array)? else { return Ok(None) };
    if lent.is_known() {
        return Ok(None);
    }
    let mut whole = first.into_bound(py);
    while let Some(next) = base(&whole)? {
        whole = next.into_bound(py);
    }
    // Arrays of other dtypes, or that may not be written, are left to themselves.
    let Ok(all) = dlpack::ask(&whole) else { return Ok(None) };
    if all.is_read_only() || all.is_misaligned() {
        return Ok(None);
    }
    Ok(all.into_checked_tensor(py).ok())
}

#[pymethods]
impl TensorBase {
    /// An array of numpy on the tensor's memory; `force` copies from other devices first.
    #[pyo3(signature = (*, force=false))]
    fn numpy<'py>(slf: &Bound<'py, Self>, force: bool) -> PyResult<Bound<'py, PyAny>> {
        let tensor = expect_tensor(slf.as_any())?;
        if force && tensor.requires_grad() {
            let py = slf.py();
            let detached = tensor_object(py, tensor.detach().or_raise(py)?)?;
            return Self::numpy(detached.bind(py).cast::<Self>()?, force);
        }
        check_detached(tensor, "numpy()")?;
        if tensor.requires_grad() {
            // Without recording, as in torch.
            let py = slf.py();
            return view(tensor_object(py, tensor.detach().or_raise(py)?)?.bind(py));
        }
        if tensor.device().kind() != opgrid::dispatch::DeviceType::Cpu && force {
            let py = slf.py();
            let copy =
                opgrid::ops::ToCopy.call(tensor, None, None, Some(opgrid::Device::CPU), None, false, None);
            return view(tensor_object(py, copy.or_raise(py)?)?.bind(py));
        }
        view(slf.as_any())
    }

    /// What `numpy.asarray` calls.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = Self::numpy(slf, false)?;
        let array = match dtype {
            Some(dtype) if !array.getattr("dtype")?.eq(&dtype)? => {
                if copy == Some(false) {
                    let message = "cannot return an array of another dtype without a copy; omit copy=False";
                    return Err(PyValueError::new_err(message));
                }
                return array.call_method1("astype", (dtype,));
            }
            _ => array,
        };
        if copy == Some(true) { array.call_method0("copy") } else { Ok(array) }
    }

    /// What numpy calls with the result of a function of its own that was given a tensor: truth values become bytes, as in
    /// torch.
    #[pyo3(signature = (array, context=None, return_scalar=false))]
    fn __array_wrap__<'py>(
        _slf: &Bound<'py, Self>,
        array: &Bound<'py, PyAny>,
        context: Option<&Bound<'py, PyAny>>,
        return_scalar: bool,
    ) -> PyResult<Py<PyAny>> {
        let _ = (context, return_scalar);
        if array.getattr("dtype")?.getattr("kind")?.eq("b")? {
            return from_numpy(&array.call_method1("astype", ("uint8",))?);
        }
        from_numpy(array)
    }

    /// Tensors are asked before arrays what `array + tensor` is.
    #[classattr]
    fn __array_priority__() -> i32 {
        1000
    }
}

/// An array on the memory of a tensor.
fn view<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let found = expect_tensor(tensor)?;
    if found.dtype() == opgrid::DType::BF16 {
        return Err(PyTypeError::new_err(
            "Got unsupported ScalarType BFloat16; numpy has no such dtype, convert it with `.float()`",
        ));
    }
    if found.device().kind() != opgrid::dispatch::DeviceType::Cpu {
        let message = format!(
            "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first",
            found.device()
        );
        return Err(PyTypeError::new_err(message));
    }
    static FROM_DLPACK: OncePlace<Py<PyAny>> = OncePlace::new();
    let py = tensor.py();
    let find = || Ok(py.import("numpy")?.getattr("from_dlpack")?.unbind());
    FROM_DLPACK.get_or_make(py, find)?.bind(py).call1((tensor,))
}

/// # Errors
///
/// A tensor that requires a gradient, on a thread that records: what is done to the memory would not be recorded.
fn check_detached(tensor: &Tensor, what: &str) -> PyResult<()> {
    if tensor.requires_grad() && autograd::is_grad_enabled() {
        Err(PyRuntimeError::new_err(format!(
            "Can't call {what} on a tensor that requires grad. Use tensor.detach().{what} instead"
        )))
    } else {
        Ok(())
    }
}
