//! Values as Python objects.

use opgrid::dispatch::{ValueRef, ValueView};
use opgrid::{ErrorKind, Value};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyList, PyTuple};

use crate::errors;
use crate::tensor::object;
use crate::values::generator::GeneratorObject;
use crate::values::names::{DTypeObject, DeviceObject, LayoutObject, MemoryFormatObject};

/// A result of a call, which is moved.
pub(crate) fn owned(py: Python<'_>, value: Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Tensor(tensor) => object::of_any(py, tensor),
        other => lent(py, other.borrow()),
    }
}

/// The object of a value; of a tensor that Python knows, its own.
pub(crate) fn lent(py: Python<'_>, value: ValueRef<'_>) -> PyResult<Py<PyAny>> {
    let all =
        |items: &[Value]| items.iter().map(|item| lent(py, item.borrow())).collect::<PyResult<Vec<_>>>();
    Ok(match value.view() {
        ValueView::None => py.None(),
        ValueView::Tensor(tensor) => object::of_any(py, tensor.clone())?,
        ValueView::Int(number) => number.into_pyobject(py)?.into_any().unbind(),
        ValueView::UInt(number) => number.into_pyobject(py)?.into_any().unbind(),
        ValueView::SymInt(node) => {
            let number = node.guard().map_err(|error| errors::exception(py, &error))?;
            number.into_pyobject(py)?.into_any().unbind()
        }
        ValueView::Float(number) => number.into_pyobject(py)?.into_any().unbind(),
        ValueView::Complex(number) => PyComplex::from_doubles(py, number.re, number.im).into_any().unbind(),
        ValueView::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any().unbind(),
        ValueView::Str(text) => text.into_pyobject(py)?.into_any().unbind(),
        ValueView::DType(dtype) => DTypeObject::from_value(py, dtype)?,
        ValueView::Layout(layout) => LayoutObject::from_value(py, layout)?,
        ValueView::MemoryFormat(format) => MemoryFormatObject::from_value(py, format)?,
        ValueView::Device(device) => DeviceObject::from_device(py, device)?.into_any(),
        ValueView::Generator(generator) => Py::new(py, GeneratorObject(generator.clone()))?.into_any(),
        ValueView::Ints(items) => PyList::new(py, items)?.into_any().unbind(),
        ValueView::Floats(items) => PyList::new(py, items)?.into_any().unbind(),
        ValueView::Bools(items) => PyList::new(py, items)?.into_any().unbind(),
        ValueView::Tensors(items) => {
            let objects = items.iter().map(|tensor| object::of_any(py, tensor.clone()));
            PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any().unbind()
        }
        ValueView::OptionalTensors(items) => {
            let one = |tensor: &Option<_>| match tensor {
                Some(tensor) => object::of_any(py, opgrid::dispatch::AnyTensor::clone(tensor)),
                None => Ok(py.None()),
            };
            PyList::new(py, items.iter().map(one).collect::<PyResult<Vec<_>>>()?)?.into_any().unbind()
        }
        ValueView::List(_, items) => PyList::new(py, all(items)?)?.into_any().unbind(),
        ValueView::Tuple(items) => PyTuple::new(py, all(items)?)?.into_any().unbind(),
        ValueView::Dict(dict) => {
            let object = PyDict::new(py);
            for (key, value) in dict.entries() {
                object.set_item(lent(py, key.borrow())?, lent(py, value.borrow())?)?;
            }
            object.into_any().unbind()
        }
        _ => {
            let message = format!("a value of type {} has no object in Python", value.value_type());
            return Err(errors::new(py, ErrorKind::NotImplemented, &message));
        }
    })
}
