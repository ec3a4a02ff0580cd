//! Tensors as Python's numbers and sequences.

use opgrid::{DType, Scalar, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyList};

use super::attributes::own;
use super::object::{TensorBase, tensor_of};
use crate::errors::OrRaise;
use crate::operators::overriding::result_of_method;
use crate::values::read::is_number;

/// The one element of a tensor that stands for a number.
fn element(slf: &Bound<'_, TensorBase>, class: &str) -> PyResult<Scalar> {
    let tensor = own(slf)?;
    if tensor.numel() == 1 {
        return tensor.item().or_raise(slf.py());
    }
    let message = format!(
        "only tensors with one element can be converted to Python {class}, found {} elements",
        tensor.numel()
    );
    Err(PyValueError::new_err(message))
}

/// A number as an integer of Python.
///
/// # Errors
///
/// A number with a fraction.
fn whole(py: Python<'_>, number: Scalar) -> PyResult<Py<PyAny>> {
    Ok(match number {
        Scalar::UInt(number) => number.into_pyobject(py)?.into_any().unbind(),
        number => number.to_i64().or_raise(py)?.into_pyobject(py)?.into_any().unbind(),
    })
}

#[pymethods]
impl TensorBase {
    fn __bool__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let tensor = own(slf)?;
        match tensor.numel() {
            1 => Ok(tensor.item().or_raise(slf.py())?.to_bool()),
            0 => Err(PyRuntimeError::new_err("Boolean value of Tensor with no values is ambiguous")),
            _ => {
                Err(PyRuntimeError::new_err("Boolean value of Tensor with more than one value is ambiguous"))
            }
        }
    }

    fn __float__(slf: &Bound<'_, Self>) -> PyResult<f64> {
        element(slf, "scalars")?.to_f64().or_raise(slf.py())
    }

    /// The element as an integer; a fraction is cut off.
    fn __int__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        match element(slf, "scalars")? {
            // Python knows how to cut off, and refuses what is no number.
            Scalar::Float(number) => Ok(number.into_pyobject(py)?.call_method0("__int__")?.unbind()),
            number => whole(py, number),
        }
    }

    fn __complex__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyComplex>> {
        let number = element(slf, "scalars")?.to_complex();
        Ok(PyComplex::from_doubles(slf.py(), number.re, number.im))
    }

    fn __index__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let tensor = own(slf)?;
        if !(tensor.dtype().is_integral() || tensor.dtype() == DType::Bool) || tensor.numel() != 1 {
            let message = "only integer tensors of a single element can be converted to an index";
            return Err(PyTypeError::new_err(message));
        }
        whole(slf.py(), tensor.item().or_raise(slf.py())?)
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        match own(slf)?.sizes().first() {
            Some(size) => Ok(*size as usize),
            None => Err(PyTypeError::new_err("len() of a 0-d tensor")),
        }
    }

    /// Views along the first dimension.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let tensor = own(slf)?;
        let Some(&size) = tensor.sizes().first() else {
            return Err(PyTypeError::new_err("iteration over a 0-d tensor"));
        };
        let part = |index| result_of_method(slf, tensor.select(0, index).or_raise(py)?);
        let parts = (0..size).map(part).collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, parts)?.try_iter()?.into_any())
    }

    fn __reversed__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let parts = Self::__iter__(slf)?.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(slf.py(), parts.into_iter().rev())?.try_iter()?.into_any())
    }

    fn __contains__(slf: &Bound<'_, Self>, element: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = slf.py();
        let other = match tensor_of(element) {
            Some(tensor) => tensor.clone(),
            None if is_number(element) => {
                let value = crate::values::read::anything(py, element, 0)?;
                value.borrow().as_scalar().map(Tensor::number).unwrap_or_else(Tensor::undefined)
            }
            None => {
                let found = element.get_type().name()?;
                return Err(PyRuntimeError::new_err(format!(
                    "Tensor.__contains__ only supports Tensor or scalar, but you passed in a {found}"
                )));
            }
        };
        let found =
            own(slf)?.eq(&other).and_then(|equal| opgrid::ops::Any.call(&equal)).and_then(|any| any.item());
        Ok(found.or_raise(py)?.to_bool())
    }
}
