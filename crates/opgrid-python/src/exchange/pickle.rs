//! Tensors as bytes, for pickles: the elements in row-major order. What else a pickle keeps, `python/opgrid/_copies.py` says.

use opgrid::array::{Array, Geometry, TensorSpec};
use opgrid::layers::autograd::no_grad;
use opgrid::{DType, Device, Result, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::collector;
use crate::errors::OrRaise;
use crate::tensor::attributes::own;
use crate::tensor::object::{TensorBase, tensor_object};
use crate::values::names::{DTypeObject, DeviceObject};

/// The elements in row-major order.
fn bytes_of(tensor: &Tensor) -> Result<Vec<u8>> {
    let whole =
        opgrid::ops::ToCopy.call(tensor, None, None, Some(Device::CPU), None, false, None)?.contiguous()?;
    let array = whole.array()?;
    let guard = array.storage().read()?;
    let size = array.dtype().size_in_bytes();
    let start = array.geometry().offset() as usize * size;
    Ok(guard.bytes()[start..start + whole.numel() as usize * size].to_vec())
}

fn tensor_of(bytes: &[u8], dtype: DType, device: Device, sizes: &[i64], strides: &[i64]) -> Result<Tensor> {
    let spec = TensorSpec::contiguous(sizes, dtype, Device::CPU)?;
    if spec.bytes()? != bytes.len() {
        let message =
            format!("found {} bytes for a tensor of {} bytes, expected as many", bytes.len(), spec.bytes()?);
        return Err(opgrid::Error::new(opgrid::ErrorKind::Value, message));
    }
    let array = Array::empty(spec)?;
    array.storage().write()?.bytes()[..bytes.len()].copy_from_slice(bytes);
    let whole = Tensor::from_array(array)?;
    let geometry = Geometry::strided(sizes, strides, 0)?;
    let whole = if geometry.is_contiguous() || geometry.overlaps_itself() != Some(false) {
        whole
    } else {
        let laid =
            opgrid::ops::EmptyStrided.call(sizes, strides, Some(dtype), None, Some(Device::CPU), None)?;
        laid.copy_(&whole)?;
        laid
    };
    if device == Device::CPU {
        return Ok(whole);
    }
    opgrid::ops::ToCopy.call(&whole, None, None, Some(device), None, false, None)
}

/// What pickles call to make a tensor anew.
#[pyfunction]
#[pyo3(signature = (bytes, dtype, device, sizes, strides, requires_grad=false))]
pub(crate) fn _rebuild(
    py: Python<'_>,
    bytes: &[u8],
    dtype: &Bound<'_, DTypeObject>,
    device: &Bound<'_, DeviceObject>,
    sizes: Vec<i64>,
    strides: Vec<i64>,
    requires_grad: bool,
) -> PyResult<Py<PyAny>> {
    if sizes.len() != strides.len() {
        return Err(PyValueError::new_err("found sizes and strides of different lengths in a pickle"));
    }
    let tensor = tensor_of(bytes, dtype.get().0, device.get().0, &sizes, &strides).or_raise(py)?;
    if requires_grad {
        tensor.requires_grad_(true).or_raise(py)?;
    }
    tensor_object(py, tensor)
}

/// The elements of a tensor in row-major order, as bytes.
#[pyfunction]
pub(crate) fn _bytes<'py>(tensor: &Bound<'py, TensorBase>) -> PyResult<Bound<'py, PyBytes>> {
    let py = tensor.py();
    let tensor = own(tensor)?;
    let bytes = collector::detached(py, || no_grad(|| bytes_of(tensor)));
    Ok(PyBytes::new(py, &bytes.or_raise(py)?))
}
