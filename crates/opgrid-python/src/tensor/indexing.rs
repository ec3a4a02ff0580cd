//! `x[…]`: views by integers, slices, `None` and `...`, and selections by tensors.

use opgrid::{DType, Tensor};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PyRange, PySlice, PyString, PyTuple};

use super::attributes::own;
use super::object::{TensorBase, tensor_of};
use super::{construct, nested};
use crate::errors::OrRaise;
use crate::exchange::foreign;
use crate::once::intern;
use crate::operators::overriding::result_of_method;
use crate::values::read::{anything, is_number};

/// What stands between the brackets, part by part.
enum Part {
    Whole,
    At(i64),
    Slice(Option<i64>, Option<i64>, i64),
    New,
    Ellipsis,
    /// A truth value: a dimension of one element, or of none.
    Truth(bool),
    Tensor(Tensor),
}

/// A view of a tensor, and what selects elements of that.
struct Indexed {
    view: Tensor,
    /// For each dimension of the view; empty where nothing selects.
    indices: Vec<Option<Tensor>>,
}

fn parts(index: &Bound<'_, PyAny>) -> PyResult<Vec<Part>> {
    match index.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|item| part(&item)).collect(),
        Err(_) => Ok(vec![part(index)?]),
    }
}

fn part(item: &Bound<'_, PyAny>) -> PyResult<Part> {
    if item.is_none() {
        return Ok(Part::New);
    }
    if let Ok(truth) = item.cast::<PyBool>() {
        return Ok(Part::Truth(truth.is_true()));
    }
    if item.is_instance_of::<PyInt>() {
        return item.extract().map(Part::At);
    }
    if let Ok(slice) = item.cast::<PySlice>() {
        return of_slice(slice);
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Part::Ellipsis);
    }
    if let Some(tensor) = tensor_of(item) {
        return of_tensor(item.py(), tensor.clone());
    }
    let is_sequence = item.is_instance_of::<PyList>()
        || item.is_instance_of::<PyTuple>()
        || item.is_instance_of::<PyRange>();
    if is_sequence || item.hasattr("__array_interface__")? {
        let tensor = match super::super::exchange::numpy::array_of(item, None)? {
            Some(tensor) => tensor,
            None => nested::tensor(item, None)?,
        };
        let tensor = if tensor.numel() == 0 && tensor.dtype().is_floating_point() {
            tensor.to_dtype(DType::I64).or_raise(item.py())?
        } else {
            tensor
        };
        return of_tensor(item.py(), tensor);
    }
    if item.hasattr("__index__")? {
        return item.call_method0("__index__")?.extract().map(Part::At);
    }
    let found = item.get_type().name()?;
    if item.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!(
            "tensors cannot be indexed with strings (got {found}); use integers or slices"
        )));
    }
    Err(PyIndexError::new_err(format!(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {found})"
    )))
}

fn of_tensor(py: Python<'_>, tensor: Tensor) -> PyResult<Part> {
    match tensor.dtype() {
        dtype if tensor.dim() > 0 && (dtype.is_integral() || dtype == DType::Bool) => {
            Ok(Part::Tensor(tensor))
        }
        DType::Bool | DType::U8 => Ok(Part::Truth(tensor.item().or_raise(py)?.to_bool())),
        dtype if dtype.is_integral() => {
            tensor.item().and_then(opgrid::Scalar::to_i64).or_raise(py).map(Part::At)
        }
        dtype => Err(PyIndexError::new_err(format!(
            "tensors used as indices must be long, int, byte or bool tensors, found {dtype}"
        ))),
    }
}

fn of_slice(slice: &Bound<'_, PySlice>) -> PyResult<Part> {
    let bound = |name: &Bound<'_, PyString>| -> PyResult<Option<i64>> {
        let bound = slice.getattr(name)?;
        if bound.is_none() {
            return Ok(None);
        }
        let bound = if bound.is_instance_of::<PyInt>() { bound } else { bound.call_method0("__index__")? };
        // Bounds beyond 64 bits are beyond every tensor.
        Ok(Some(bound.extract().or_else(|_| Ok::<_, PyErr>(if bound.lt(0)? { i64::MIN } else { i64::MAX }))?))
    };
    let py = slice.py();
    let (start, end) = (bound(intern!(py, "start"))?, bound(intern!(py, "stop"))?);
    let step = bound(intern!(py, "step"))?.unwrap_or(1);
    if step == 0 {
        return Err(PyValueError::new_err("step cannot be zero"));
    }
    if step < 0 {
        return Err(PyValueError::new_err("step must be greater than zero"));
    }
    Ok(if (start, end, step) == (None, None, 1) { Part::Whole } else { Part::Slice(start, end, step) })
}

impl Part {
    /// How many dimensions of the tensor it takes.
    fn takes(&self) -> usize {
        match self {
            Self::Whole | Self::At(_) | Self::Slice(..) => 1,
            Self::New | Self::Ellipsis | Self::Truth(_) => 0,
            Self::Tensor(tensor) if matches!(tensor.dtype(), DType::Bool | DType::U8) => tensor.dim(),
            Self::Tensor(_) => 1,
        }
    }
}

/// Takes the view, part by part.
fn indexed(py: Python<'_>, tensor: &Tensor, parts: Vec<Part>) -> PyResult<Indexed> {
    let taken: usize = parts.iter().map(Part::takes).sum();
    if taken > tensor.dim() {
        let message = format!("too many indices for tensor of dimension {}", tensor.dim());
        return Err(PyIndexError::new_err(message));
    }
    if parts.iter().filter(|part| matches!(part, Part::Ellipsis)).count() > 1 {
        return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
    }
    if tensor.dim() == 0 && parts.iter().any(|part| matches!(part, Part::At(_))) {
        let message =
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert it to a number";
        return Err(PyIndexError::new_err(message));
    }
    let mut view = tensor.clone();
    let mut indices = Vec::new();
    let mut dim = 0;
    let mut selects = false;
    for part in parts {
        match part {
            Part::At(index) => {
                view = view.select(dim as i64, index).or_raise(py)?;
                continue;
            }
            Part::Ellipsis => {
                let skipped = tensor.dim() - taken;
                indices.extend((0..skipped).map(|_| None));
                dim += skipped;
                continue;
            }
            Part::Whole => indices.push(None),
            Part::Slice(start, end, step) => {
                let sliced = opgrid::ops::SliceTensor.call(&view, dim as i64, start, end, step);
                view = sliced.or_raise(py)?;
                indices.push(None);
            }
            Part::New => {
                view = view.unsqueeze(dim as i64).or_raise(py)?;
                indices.push(None);
            }
            Part::Truth(truth) => {
                view = view.unsqueeze(dim as i64).or_raise(py)?;
                let index: &[i64] = if truth { &[0] } else { &[] };
                indices.push(Some(Tensor::from_slice(index, &[index.len() as i64]).or_raise(py)?));
                selects = true;
            }
            Part::Tensor(index) => {
                let takes = Part::Tensor(index.clone()).takes();
                indices.push(Some(index));
                selects = true;
                dim += takes;
                continue;
            }
        }
        dim += 1;
    }
    if !selects {
        indices.clear();
    }
    Ok(Indexed { view, indices })
}

/// The number that an element is set to.
fn number_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if !is_number(object) {
        return Ok(None);
    }
    Ok(anything(object.py(), object, 0)?.borrow().as_scalar().map(Tensor::number))
}

#[pymethods]
impl TensorBase {
    fn __getitem__(slf: &Bound<'_, Self>, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let tensor = own(slf)?;
        // The two that are used most are one operator each.
        let taken = indexed(py, tensor, parts(index)?)?;
        let result = if !taken.indices.is_empty() {
            taken.view.index(&taken.indices).or_raise(py)?
        } else if taken.view.is_same(tensor) {
            opgrid::ops::Alias.call(tensor).or_raise(py)?
        } else {
            taken.view
        };
        result_of_method(slf, result)
    }

    fn __setitem__(
        slf: &Bound<'_, Self>,
        index: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        let tensor = own(slf)?;
        let value = match (tensor_of(value), number_of(value)?) {
            (Some(tensor), _) => tensor.clone(),
            (None, Some(number)) => number,
            (None, None) => {
                let (found, dtype) = (foreign::class_name(value), tensor.dtype());
                let remedy = match foreign::remedy(value) {
                    none if none.is_empty() => "; give a tensor or a number".to_owned(),
                    remedy => remedy,
                };
                let message = format!("can't assign a {found} to a tensor of {dtype}{remedy}");
                return Err(PyTypeError::new_err(message));
            }
        };
        let taken = indexed(py, tensor, parts(index)?)?;
        if taken.indices.is_empty() {
            return without_ones(&taken.view, &value)
                .and_then(|value| taken.view.copy_(&value).map(drop))
                .or_raise(py);
        }
        let value = construct::converted(&value, Some(tensor.dtype()), None, value.is_number(), false, None)
            .or_raise(py)?;
        taken.view.index_put_(&taken.indices, &value, false).map(drop).or_raise(py)
    }
}

/// The value without the dimensions of size 1 in front that the place does not have.
fn without_ones(place: &Tensor, value: &Tensor) -> opgrid::Result<Tensor> {
    let surplus = value.dim().saturating_sub(place.dim());
    let ones = value.sizes().iter().take(surplus).take_while(|size| **size == 1).count();
    (0..ones).try_fold(value.clone(), |value, _| value.select(0, 0))
}
