//! The memory behind tensors, as an object.

use opgrid::array::{Array, Storage, TensorSpec};
use opgrid::layers::autograd::replace_data;
use opgrid::tensor::Geometry;
use opgrid::{DType, Device, Tensor};
use pyo3::prelude::*;

use super::object::expect_tensor;
use crate::errors::OrRaise;

/// Gives a tensor the elements of another one, of any dtype and shape. Its objects and its gradient stay. A `temporary` one is
/// not used afterwards.
#[pyfunction]
pub(crate) fn _replace_elements(
    py: Python<'_>,
    tensor: &Bound<'_, PyAny>,
    other: &Bound<'_, PyAny>,
    temporary: bool,
) -> PyResult<()> {
    let (tensor, other) = (expect_tensor(tensor)?, expect_tensor(other)?);
    let done = if temporary { replace_data(tensor, other) } else { tensor.set_data(other) };
    done.or_raise(py)
}

/// The memory of one or several tensors. `Tensor(storage)` is a view of all of it.
#[pyclass(name = "Storage", module = "opgrid", frozen)]
pub(crate) struct StorageObject {
    storage: Storage,
    device: Device,
    /// The dtype of the tensor that the storage was taken from.
    dtype: DType,
}

impl StorageObject {
    /// # Errors
    ///
    /// A tensor without memory.
    pub(super) fn for_tensor(py: Python<'_>, tensor: &Tensor) -> PyResult<Self> {
        let array = tensor.array().or_raise(py)?;
        Ok(Self { storage: array.storage().clone(), device: array.device(), dtype: array.dtype() })
    }

    /// All of the memory as a tensor of one dimension, of the default dtype.
    ///
    /// # Errors
    ///
    /// As [`Array::new`].
    pub(super) fn view(&self, py: Python<'_>) -> PyResult<Tensor> {
        let dtype = opgrid::tensor::default_dtype();
        let count = (self.storage.bytes() / dtype.size_in_bytes()) as i64;
        let made = Geometry::contiguous(&[count])
            .and_then(|geometry| {
                Array::new(TensorSpec::new(geometry, dtype, self.device), self.storage.clone())
            })
            .and_then(Tensor::from_array);
        made.or_raise(py)
    }
}

#[pymethods]
impl StorageObject {
    /// The number of bytes.
    fn nbytes(&self) -> usize {
        self.storage.bytes()
    }

    /// Where the memory begins.
    fn _address(&self) -> Option<usize> {
        self.storage.address().map(|start| start.addr().get())
    }

    /// A number that no other memory has as long as this is there.
    fn _identity(&self) -> usize {
        match (self.storage.address(), self.storage.device_memory()) {
            (Some(start), _) => start.addr().get(),
            (None, Some(memory)) => std::ptr::from_ref(memory).addr(),
            (None, None) => 0,
        }
    }

    fn __len__(&self) -> usize {
        self.storage.bytes() / self.dtype.size_in_bytes()
    }

    #[getter]
    fn device(&self) -> crate::values::names::DeviceObject {
        crate::values::names::DeviceObject(self.device)
    }

    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        crate::values::names::DTypeObject::from_value(py, self.dtype)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().storage.is_same(&self.storage))
    }

    fn __repr__(&self) -> String {
        format!("<opgrid.Storage of {} bytes on {}>", self.storage.bytes(), self.device)
    }
}
