//! What a tensor is like: sizes, dtype, device, and how it is printed.

use opgrid::{DType, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};

use super::object::{TensorBase, TensorObject, expect_tensor};
use super::storage::StorageObject;
use super::{construct, nested};
use crate::errors::{OrRaise, new};
use crate::keys::KeySet;
use crate::operators::overriding::result_of_method;
use crate::values::names::{DTypeObject, DeviceObject, LayoutObject};
use crate::values::{read, size};

/// The tensor of the object that a method is called on.
pub(crate) fn own<'a>(slf: &'a Bound<'_, TensorBase>) -> PyResult<&'a Tensor> {
    expect_tensor(slf.as_any())
}

#[pymethods]
impl TensorBase {
    #[getter]
    fn shape<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        size::of_tensor(slf.py(), own(slf)?)
    }

    /// The sizes, or that of one dimension.
    #[pyo3(signature = (dim=None))]
    fn size<'py>(slf: &Bound<'py, Self>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        match dim {
            None => Self::shape(slf),
            Some(dim) => {
                let tensor = own(slf)?;
                size::of_dimension(slf.py(), tensor, dimension(slf, dim, tensor.dim())?)
            }
        }
    }

    /// The distances between neighbours in elements, or that of one dimension.
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(slf: &Bound<'py, Self>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let strides = own(slf)?.strides();
        match dim {
            None => Ok(PyTuple::new(slf.py(), strides)?.into_any()),
            Some(dim) => Ok(strides[dimension(slf, dim, strides.len())?].into_pyobject(slf.py())?.into_any()),
        }
    }

    fn storage_offset(slf: &Bound<'_, Self>) -> PyResult<i64> {
        Ok(own(slf)?.geometry().offset())
    }

    #[getter]
    fn dtype(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        DTypeObject::from_value(slf.py(), own(slf)?.dtype())
    }

    #[getter]
    fn device(slf: &Bound<'_, Self>) -> PyResult<Py<DeviceObject>> {
        DeviceObject::from_device(slf.py(), own(slf)?.device())
    }

    #[getter]
    fn layout(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        LayoutObject::from_value(slf.py(), opgrid::dispatch::Layout::Strided)
    }

    #[getter]
    fn ndim(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(own(slf)?.dim())
    }

    fn dim(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(own(slf)?.dim())
    }

    fn numel<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        size::elements(slf.py(), own(slf)?)
    }

    fn nelement<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::numel(slf)
    }

    #[getter]
    fn itemsize(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(own(slf)?.dtype().size_in_bytes())
    }

    fn element_size(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Self::itemsize(slf)
    }

    #[getter]
    fn nbytes(slf: &Bound<'_, Self>) -> PyResult<i64> {
        let tensor = own(slf)?;
        Ok(tensor.numel().saturating_mul(tensor.dtype().size_in_bytes() as i64))
    }

    /// Whether the elements lie in memory in the order of the format, without gaps.
    #[pyo3(signature = (memory_format=None))]
    fn is_contiguous(slf: &Bound<'_, Self>, memory_format: Option<Bound<'_, PyAny>>) -> PyResult<bool> {
        let format = memory_format.map(|format| read::memory_format(&format)).transpose()?.flatten();
        let geometry = own(slf)?.geometry();
        Ok(format.map_or_else(|| geometry.is_contiguous(), |format| geometry.is_in_format(format)))
    }

    fn is_floating_point(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.dtype().is_floating_point())
    }

    fn is_complex(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.dtype().is_complex())
    }

    #[getter]
    fn is_meta(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.device().real().kind() == opgrid::dispatch::DeviceType::Meta)
    }

    #[getter]
    fn is_cpu(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.device().real().kind() == opgrid::dispatch::DeviceType::Cpu)
    }

    #[getter]
    fn is_cuda(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.device().real().kind().name() == "cuda")
    }

    /// Tensors keep all of their elements here.
    #[classattr]
    #[pyo3(name = "is_sparse")]
    const IS_SPARSE: bool = false;

    /// How often the memory was written.
    #[getter]
    fn _version(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(own(slf)?.version())
    }

    /// The address of the first element.
    fn data_ptr(slf: &Bound<'_, Self>) -> PyResult<usize> {
        let tensor = own(slf)?;
        let array = tensor.array().or_raise(slf.py())?;
        let offset = array.geometry().offset() as usize * array.dtype().size_in_bytes();
        Ok(array.storage().address().map_or(0, |start| start.addr().get() + offset))
    }

    fn untyped_storage(slf: &Bound<'_, Self>) -> PyResult<StorageObject> {
        StorageObject::for_tensor(slf.py(), own(slf)?)
    }

    fn storage(slf: &Bound<'_, Self>) -> PyResult<StorageObject> {
        StorageObject::for_tensor(slf.py(), own(slf)?)
    }

    /// The keys that the tensor brings into a call.
    fn keys(slf: &Bound<'_, Self>) -> PyResult<KeySet> {
        Ok(KeySet(own(slf)?.keys()))
    }

    /// The tensor with its dimensions in the opposite order.
    #[getter]
    #[allow(non_snake_case)]
    fn T(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let tensor = own(slf)?;
        let order: Vec<i64> = (0..tensor.dim() as i64).rev().collect();
        result_of_method(slf, opgrid::ops::Permute.call(tensor, &order).or_raise(slf.py())?)
    }

    /// The tensor with its last two dimensions exchanged.
    #[getter]
    #[allow(non_snake_case)]
    fn mT(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        result_of_method(slf, opgrid::ops::TransposeInt.call(own(slf)?, -2, -1).or_raise(slf.py())?)
    }

    /// The conjugates of a matrix with its dimensions exchanged.
    #[getter]
    #[allow(non_snake_case)]
    fn H(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let tensor = own(slf)?;
        if tensor.dim() != 0 && tensor.dim() != 2 {
            let message = format!("tensor.H: found {} dimensions, expected a matrix", tensor.dim());
            return Err(new(py, opgrid::ErrorKind::Argument, &message));
        }
        let turned =
            if tensor.dim() == 0 { Ok(tensor.clone()) } else { opgrid::ops::TransposeInt.call(tensor, 0, 1) };
        result_of_method(slf, turned.and_then(|turned| turned.conj()).or_raise(py)?)
    }

    /// The tensor with another dtype, on another device, as another tensor is, or in another order in memory; itself where nothing
    /// changes. Truth values by position are `non_blocking` and `copy`.
    #[pyo3(signature = (*args, dtype=None, device=None, non_blocking=false, copy=false, memory_format=None))]
    fn to(
        slf: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        dtype: Option<Bound<'_, PyAny>>,
        device: Option<Bound<'_, PyAny>>,
        non_blocking: bool,
        copy: bool,
        memory_format: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (mut to_dtype, mut to_device) = (None, None);
        let truths: Vec<bool> = args
            .iter()
            .filter_map(|object| object.cast::<PyBool>().ok().map(|truth| truth.is_true()))
            .collect();
        let non_blocking = truths.first().copied().unwrap_or(non_blocking);
        let copy = truths.get(1).copied().unwrap_or(copy);
        let format = memory_format.map(|format| read::memory_format(&format)).transpose()?.flatten();
        for object in args.iter().chain(dtype).chain(device) {
            if object.is_none() || object.is_instance_of::<PyBool>() {
                continue;
            }
            if let Some(dtype) = read::dtype(&object) {
                to_dtype = Some(dtype);
            } else if let Some(device) = read::device(&object)? {
                to_device = Some(device);
            } else if let Some(other) = super::object::tensor_of(&object) {
                (to_dtype, to_device) = (Some(other.dtype()), Some(other.device()));
            } else {
                let found = object.get_type().name()?;
                let message = format!("to(): expected a dtype, a device or a tensor, found {found}");
                return Err(PyTypeError::new_err(message));
            }
        }
        convert_in(slf, to_dtype, to_device, copy, non_blocking, format)
    }

    fn cpu(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        convert(slf, None, Some(opgrid::Device::CPU), false, false)
    }

    fn float(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        convert(slf, Some(DType::F32), None, false, false)
    }

    fn double(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        convert(slf, Some(DType::F64), None, false, false)
    }

    fn half(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        convert(slf, Some(DType::F16), None, false, false)
    }

    fn bfloat16(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        convert(slf, Some(DType::BF16), None, false, false)
    }

    fn int(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        convert(slf, Some(DType::I32), None, false, false)
    }

    fn long(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        convert(slf, Some(DType::I64), None, false, false)
    }

    fn bool(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        convert(slf, Some(DType::Bool), None, false, false)
    }

    fn type_as(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        convert(slf, Some(expect_tensor(other)?.dtype()), None, false, false)
    }

    /// Returns a tensor on this memory that no gradients lead to.
    fn detach(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        result_of_method(slf, own(slf)?.detach().or_raise(slf.py())?)
    }

    /// What users keep with an object whose class has no place for it.
    #[getter]
    fn _attributes<'py>(slf: &Bound<'py, Self>) -> Option<Bound<'py, PyDict>> {
        slf.get().kept(slf.py())
    }

    /// Whether the tensor has no elements of its own, because its class implements it.
    #[getter]
    fn _is_wrapper(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.any_wrapper().is_some())
    }

    fn tolist(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        nested::list(slf.py(), own(slf)?)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let tensor = own(slf)?;
        let text = printed(tensor);
        let gradient = match tensor.origin() {
            _ if !tensor.requires_grad() => return Ok(text),
            Ok(Some(origin)) => format!(", grad_fn=<{}>)", origin.name()),
            Ok(None) => ", requires_grad=True)".to_owned(),
            Err(_) => ", grad_fn=<Invalid>)".to_owned(),
        };
        Ok(text.strip_suffix(')').map_or_else(|| text.clone(), |text| text.to_owned() + &gradient))
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let tensor = own(slf)?;
        let text = printed(tensor).replace('&', "&amp;").replace('<', "&lt;");
        let (sizes, dtype, device) = (tensor.sizes(), tensor.dtype(), tensor.device());
        Ok(format!("<pre>{text}</pre><small>{sizes:?} {dtype} {device}</small>"))
    }

    fn __format__(slf: &Bound<'_, Self>, format: &str) -> PyResult<String> {
        // Those of layers and devices without elements have no number to show, and classes say themselves how they print.
        let tensor = own(slf)?;
        let device = tensor.device();
        let has_elements =
            tensor.any_wrapper().is_none() && device != opgrid::Device::META && !device.is_fake();
        if tensor.dim() == 0 && has_elements && slf.is_exact_instance_of::<TensorObject>() {
            let number = nested::list(slf.py(), tensor)?;
            return number.call_method1(slf.py(), "__format__", (format,))?.extract(slf.py());
        }
        if !format.is_empty() {
            let class = slf.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "unsupported format string passed to {class}.__format__"
            )));
        }
        slf.str()?.extract()
    }
}

/// The tensor as text, with the names of dtypes that Python has.
fn printed(tensor: &Tensor) -> String {
    tensor.to_string().replace("dtype=torch.", "dtype=opgrid.")
}

fn convert(
    slf: &Bound<'_, TensorBase>,
    dtype: Option<DType>,
    device: Option<opgrid::Device>,
    copy: bool,
    non_blocking: bool,
) -> PyResult<Py<PyAny>> {
    convert_in(slf, dtype, device, copy, non_blocking, None)
}

fn convert_in(
    slf: &Bound<'_, TensorBase>,
    dtype: Option<DType>,
    device: Option<opgrid::Device>,
    copy: bool,
    non_blocking: bool,
    format: Option<opgrid::MemoryFormat>,
) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    let tensor = own(slf)?;
    let converted = crate::collector::detached(py, || {
        construct::converted(tensor, dtype, device, copy, non_blocking, format)
    });
    result_of_method(slf, converted.or_raise(py)?)
}

fn dimension(slf: &Bound<'_, TensorBase>, dim: i64, count: usize) -> PyResult<usize> {
    let at = opgrid::tensor::views::normalise_dim(dim, count).or_raise(slf.py())?;
    if at < count {
        return Ok(at);
    }
    let message = "dimension specified as 0 but tensor has no dimensions";
    Err(crate::errors::new(slf.py(), opgrid::ErrorKind::Index, message))
}
