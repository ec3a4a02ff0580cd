//! Numbers in lists of lists as tensors, and back.

use num_complex::Complex64;
use opgrid::array::{Element, with_dtype};
use opgrid::tensor::{Number, promote_types};
use opgrid::{DType, Scalar, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PySequence, PySet, PyString, PyTuple,
};

use super::object::tensor_of;
use crate::errors::{OrRaise, new};
use crate::exchange::foreign::library_of;
use crate::exchange::shared;
use crate::once::intern;
use crate::values::read::{is_of_numpy, scalar, whole};

/// How deep lists may be nested: as many dimensions as tensors have.
const DEEPEST: usize = 64;

/// Numbers in row-major order, and the sizes found so far.
#[derive(Default)]
struct Elements {
    numbers: Vec<Scalar>,
    sizes: Vec<i64>,
    /// The dtype that holds those found so far, as torch chooses it: that of numpy's numbers and of tensors is their own.
    dtype: Option<DType>,
}

/// The tensor of numbers in nested sequences; without a dtype of the one that holds them all.
///
/// # Errors
///
/// What is no number, rows of different lengths, a number that the dtype does not hold.
pub(super) fn tensor(object: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<Tensor> {
    let mut elements = Elements::default();
    elements.add(object, 0)?;
    elements.into_tensor(object.py(), dtype)
}

/// The items of a sequence; `None` of what is an element.
fn sequence<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Some(list.iter().collect()));
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return Ok(Some(tuple.iter().collect()));
    }
    let is_element = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyDict>()
        || object.is_instance_of::<PySet>()
        || tensor_of(object).is_some_and(|tensor| tensor.dim() == 0);
    let counts = object.hasattr("__getitem__")? && object.hasattr("__len__")?;
    if is_element || !counts {
        return Ok(None);
    }
    // An array without dimensions has these methods, and no length.
    if object.len().is_err() {
        return Ok(None);
    }
    let known = object.cast::<PySequence>().map(|sequence| sequence.len());
    let length = known.unwrap_or_else(|_| object.len())?;
    (0..length).map(|index| object.get_item(index)).collect::<PyResult<Vec<_>>>().map(Some)
}

impl Elements {
    fn add(&mut self, object: &Bound<'_, PyAny>, dim: usize) -> PyResult<()> {
        let Some(items) = sequence(object)? else {
            if dim < self.sizes.len() {
                let message =
                    format!("found a number next to sequences in dimension {dim}, expected one of the two");
                return Err(PyTypeError::new_err(message));
            }
            let (number, dtype) = number(object)?;
            self.numbers.push(number);
            self.dtype = Some(match self.dtype {
                Some(known) if known != dtype => promote_types(known, dtype).or_raise(object.py())?,
                _ => dtype,
            });
            return Ok(());
        };
        if dim == DEEPEST {
            return Err(PyValueError::new_err(format!("sequences are nested deeper than {DEEPEST}")));
        }
        let length = items.len() as i64;
        match self.sizes.get(dim) {
            None if self.numbers.is_empty() => self.sizes.push(length),
            Some(&size) if size == length => {}
            Some(size) => {
                let message = format!(
                    "expected sequence of length {size} at dim {dim} (got {length}); use rows of equal \
                     length"
                );
                return Err(PyValueError::new_err(message));
            }
            None => {
                let message =
                    format!("found a sequence next to numbers in dimension {dim}, expected one of the two");
                return Err(PyTypeError::new_err(message));
            }
        }
        items.iter().try_for_each(|item| self.add(item, dim + 1))
    }

    fn into_tensor(self, py: Python<'_>, dtype: Option<DType>) -> PyResult<Tensor> {
        let dtype = dtype.or(self.dtype).unwrap_or_else(opgrid::tensor::default_dtype);
        let made = with_dtype!(dtype, T: Stored => {
            let elements: opgrid::Result<Vec<T>> = self.numbers.iter().map(|number| element(*number)).collect();
            elements.and_then(|elements| Tensor::from_slice(&elements, &self.sizes))
        });
        made.or_raise(py)
    }
}

/// A number as an element of `T`. Fractions are cut off for integers, as torch does; what is beyond the dtype is refused.
fn element<T: Element>(number: Scalar) -> opgrid::Result<T> {
    let number = match number {
        Scalar::Int(number) => Number::I64(number),
        Scalar::UInt(number) => Number::U64(number),
        Scalar::Float(number) => Number::F64(number),
        Scalar::Bool(truth) => Number::Bool(truth),
        Scalar::Complex(number) => Number::Complex128(number),
    };
    let element = T::from_number(number);
    let is = |number: i128| element.number().as_integer() == Some(number);
    let fits = match number {
        Number::I64(number) if T::DTYPE.is_integral() => is(number.into()),
        Number::U64(number) if T::DTYPE.is_integral() => is(number.into()),
        Number::F64(number) if T::DTYPE.is_integral() => number.is_finite() && is(number as i128),
        Number::Complex128(number) => T::DTYPE.is_complex() || number.im == 0.0,
        _ => true,
    };
    if fits {
        return Ok(element);
    }
    let message = format!("found {number:?}, which {} cannot represent; choose another dtype", T::DTYPE);
    Err(opgrid::Error::new(opgrid::ErrorKind::Argument, message))
}

/// A number and the dtype that it has by itself.
fn number(object: &Bound<'_, PyAny>) -> PyResult<(Scalar, DType)> {
    let py = object.py();
    // Python's own first; numpy derives its float64 and complex128 from them.
    if let Ok(number) = object.cast_exact::<PyFloat>() {
        return Ok((Scalar::Float(number.value()), opgrid::tensor::default_dtype()));
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok((Scalar::Bool(truth.is_true()), DType::Bool));
    }
    if object.is_instance_of::<PyInt>() {
        let overflow = |_| {
            PyValueError::new_err("found an integer beyond 64 bits, expected one that fits int64 or uint64")
        };
        return whole(object).map(|number| (number, DType::I64)).map_err(overflow);
    }
    if let Some(tensor) = tensor_of(object) {
        return Ok((tensor.item().or_raise(py)?, tensor.dtype()));
    }
    if is_of_numpy(object) {
        let name: String = object.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "name"))?.extract()?;
        return match (scalar(object)?, name.parse()) {
            (Some(number), Ok(dtype)) => Ok((number, dtype)),
            // A long double, which no dtype holds.
            _ => Err(invalid(object)),
        };
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok((Scalar::Float(number.value()), opgrid::tensor::default_dtype()));
    }
    if let Ok(number) = object.cast::<PyComplex>() {
        let dtype =
            if opgrid::tensor::default_dtype() == DType::F64 { DType::Complex128 } else { DType::Complex64 };
        return Ok((Scalar::Complex(Complex64::new(number.real(), number.imag())), dtype));
    }
    // A tensor of another library without dimensions.
    if library_of(object).is_some()
        && let Some(tensor) = shared(object, None)?.filter(|tensor| tensor.dim() == 0)
    {
        return Ok((tensor.item().or_raise(py)?, tensor.dtype()));
    }
    Err(invalid(object))
}

fn invalid(object: &Bound<'_, PyAny>) -> PyErr {
    match object.get_type().name() {
        Ok(name) => PyTypeError::new_err(format!("new(): invalid data type '{name}'")),
        Err(raised) => raised,
    }
}

/// The elements as nested lists, or the one number of a tensor without dimensions.
///
/// # Errors
///
/// A tensor without memory.
pub(super) fn list(py: Python<'_>, tensor: &Tensor) -> PyResult<Py<PyAny>> {
    let listed: opgrid::Result<_> = with_dtype!(tensor.dtype(), T: Stored => {
        tensor.to_vec::<T>().map(|elements| nested(py, tensor.sizes(), &elements))
    });
    listed.or_raise(py)?
}

fn nested<T: Element>(py: Python<'_>, sizes: &[i64], elements: &[T]) -> PyResult<Py<PyAny>> {
    let Some((&size, inner)) = sizes.split_first() else {
        return match elements.first() {
            Some(element) => object(py, element.number()),
            None => Err(new(py, opgrid::ErrorKind::Internal, "a tensor without dimensions has one element")),
        };
    };
    let step = elements.len().checked_div(size as usize).unwrap_or(0);
    let part = |index: usize| nested(py, inner, &elements[index * step..(index + 1) * step]);
    let parts = (0..size as usize).map(part).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, parts)?.into_any().unbind())
}

/// An element as Python's number.
pub(super) fn object(py: Python<'_>, number: Number) -> PyResult<Py<PyAny>> {
    let complex = |re: f64, im: f64| PyComplex::from_doubles(py, re, im).into_any().unbind();
    Ok(match number {
        Number::F32(number) => f64::from(number).into_pyobject(py)?.into_any().unbind(),
        Number::F64(number) => number.into_pyobject(py)?.into_any().unbind(),
        Number::I64(number) => number.into_pyobject(py)?.into_any().unbind(),
        Number::U64(number) => number.into_pyobject(py)?.into_any().unbind(),
        Number::Bool(truth) => PyBool::new(py, truth).to_owned().into_any().unbind(),
        Number::Complex64(number) => complex(number.re.into(), number.im.into()),
        Number::Complex128(number) => complex(number.re, number.im),
    })
}
