//! numpy's arrays: they are looked at through DLPack, and numpy is loaded only when somebody uses it.

use opgrid::Tensor;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyUserWarning};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use super::dlpack;
use crate::autograd::check_detached;
use crate::errors::OrRaise;
use crate::tensor::object::{TensorBase, expect_tensor, of};

/// The tensor on an array's memory, if the object is an array of numpy; of one that may not be written, a copy.
///
/// # Errors
///
/// An array of a dtype that tensors do not have, or with memory that they cannot address.
pub(crate) fn array_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    let py = object.py();
    if is_plain_array(object)? {
        let lent = dlpack::ask(object)?;
        let _base = base_of(object, &lent)?;
        return lent.into_checked_tensor(py).map(Some);
    }
    if !object.hasattr(intern!(py, "__array_interface__"))? || !object.hasattr(intern!(py, "__dlpack__"))? {
        return Ok(None);
    }
    dlpack::import(object, None).map(Some)
}

/// Whether the object is of the class `numpy.ndarray` itself, whose memory is on the CPU. Numpy is not imported for that.
fn is_plain_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = object.py();
    let class = object.get_type();
    if let Some(known) = CLASS.get(py) {
        return Ok(class.is(known));
    }
    let is_array = class.name()? == "ndarray" && class.module()? == "numpy";
    if is_array {
        // Somebody may have been faster.
        let _ = CLASS.set(py, class.unbind());
    }
    Ok(is_array)
}

/// A tensor on the memory of an array of numpy: writing one writes the other.
#[pyfunction]
pub(crate) fn from_numpy(array: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = array.py();
    if !is_plain_array(array)? && !array.hasattr(intern!(py, "__array_interface__"))? {
        let found = array.get_type().name()?;
        return Err(PyTypeError::new_err(format!("expected np.ndarray (got {found})")));
    }
    let lent = dlpack::ask(array).map_err(|raised| match array.getattr("dtype") {
        Ok(dtype) if raised.is_instance_of::<PyBufferError>(py) => PyTypeError::new_err(format!(
            "can't convert an array of {dtype}: {raised}; convert it with `.astype` first"
        )),
        _ => raised,
    })?;
    if lent.is_read_only() {
        let message = c"from_numpy(): the array is read-only, so that the tensor is a copy";
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), message, 1)?;
    }
    let _base = base_of(array, &lent)?;
    of(py, lent.into_checked_tensor(py)?)
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
    if all.is_read_only() {
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
            let detached = of(py, tensor.detach().or_raise(py)?)?;
            return Self::numpy(detached.bind(py).cast::<Self>()?, force);
        }
        check_detached(tensor, "numpy()")?;
        if tensor.device().kind() != opgrid::DeviceType::Cpu && force {
            let py = slf.py();
            let copy =
                opgrid::ops::ToCopy.call(tensor, None, None, Some(opgrid::Device::CPU), None, false, None);
            return view(of(py, copy.or_raise(py)?)?.bind(py));
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
        check_detached(expect_tensor(slf.as_any())?, "numpy()")?;
        let array = view(slf.as_any())?;
        let array = match dtype {
            Some(dtype) if !array.getattr("dtype")?.eq(&dtype)? => {
                if copy == Some(false) {
                    let message =
                        "cannot give an array of another dtype without a copy; leave copy=False away";
                    return Err(pyo3::exceptions::PyValueError::new_err(message));
                }
                return array.call_method1("astype", (dtype,));
            }
            _ => array,
        };
        if copy == Some(true) { array.call_method0("copy") } else { Ok(array) }
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
    if found.device().kind() != opgrid::DeviceType::Cpu {
        let message = format!(
            "can't convert {} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first",
            found.device()
        );
        return Err(PyTypeError::new_err(message));
    }
    tensor.py().import("numpy")?.call_method1("from_dlpack", (tensor,))
}
