//! What dtypes can hold and how they promote, and the default one.

use opgrid::DType;
use opgrid::tensor::{self, FloatLimits, IntegerLimits};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::names::DTypeObject;
use super::read;
use crate::errors::OrRaise;

/// Range and precision of a floating-point dtype, or of the parts of a complex one; without a dtype of the default one.
#[pyclass(name = "finfo", module = "opgrid", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct FloatLimitsObject(FloatLimits);

#[pymethods]
impl FloatLimitsObject {
    #[new]
    #[pyo3(signature = (dtype=None))]
    fn new(dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let dtype = dtype.map_or_else(|| Ok(opgrid::tensor::default_dtype()), expect)?;
        tensor::finfo(dtype).map_err(type_error).map(Self)
    }

    /// Bits of one number.
    #[getter]
    fn bits(&self) -> u32 {
        self.0.bits
    }

    /// The distance from 1 to the next number.
    #[getter]
    fn eps(&self) -> f64 {
        self.0.eps
    }

    /// The largest finite number.
    #[getter]
    fn max(&self) -> f64 {
        self.0.max
    }

    /// The smallest finite number, below zero.
    #[getter]
    fn min(&self) -> f64 {
        self.0.min
    }

    /// The smallest number above zero with full precision.
    #[getter]
    fn smallest_normal(&self) -> f64 {
        self.0.smallest_normal
    }

    /// Another name of `smallest_normal`.
    #[getter]
    fn tiny(&self) -> f64 {
        self.0.smallest_normal
    }

    /// The decimal step that every number near 1 tells apart.
    #[getter]
    fn resolution(&self) -> f64 {
        self.0.resolution
    }

    /// The dtype's name.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.dtype.name()
    }

    fn __repr__(&self) -> String {
        let FloatLimits { dtype, eps, max, min, smallest_normal, resolution, .. } = self.0;
        let [resolution, min, max, eps, tiny] = [resolution, min, max, eps, smallest_normal].map(short);
        format!(
            "finfo(resolution={resolution}, min={min}, max={max}, eps={eps}, smallest_normal={tiny}, tiny={tiny}, dtype={})",
            dtype.name()
        )
    }
}

/// A number with six digits, as C's `%g` writes it.
fn short(number: f64) -> String {
    if number != 0.0 && !(1e-4..1e6).contains(&number.abs()) {
        let text = format!("{number:.5e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let decimals = 5 - number.abs().log10().floor().max(-5.0) as i32;
    let text = format!("{number:.*}", decimals.max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The range of an integer dtype.
#[pyclass(name = "iinfo", module = "opgrid", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct IntegerLimitsObject(IntegerLimits);

#[pymethods]
impl IntegerLimitsObject {
    #[new]
    fn new(dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dtype = expect(dtype)?;
        tensor::iinfo(dtype).map_err(type_error).map(Self)
    }

    /// Bits of one number.
    #[getter]
    fn bits(&self) -> u32 {
        self.0.bits
    }

    /// The largest number.
    #[getter]
    fn max(&self) -> u64 {
        self.0.max
    }

    /// The smallest number.
    #[getter]
    fn min(&self) -> i64 {
        self.0.min
    }

    /// The dtype's name.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.dtype.name()
    }

    fn __repr__(&self) -> String {
        format!("iinfo(min={}, max={}, dtype={})", self.0.min, self.0.max, self.0.dtype.name())
    }
}

fn type_error(error: opgrid::Error) -> PyErr {
    PyTypeError::new_err(error.message().to_owned())
}

/// The dtype that an argument names.
///
/// # Errors
///
/// Anything else, as a `TypeError`.
fn expect(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    let found = read::dtype(object);
    found.ok_or_else(|| match object.get_type().name() {
        Ok(class) => PyTypeError::new_err(format!("expected a dtype, found an object of class {class}")),
        Err(raised) => raised,
    })
}

/// The dtype with the smallest size and kind that both can be promoted to.
#[pyfunction]
pub(crate) fn promote_types<'py>(
    type1: &Bound<'py, PyAny>,
    type2: &Bound<'py, PyAny>,
) -> PyResult<Py<PyAny>> {
    let py = type1.py();
    DTypeObject::from_value(py, tensor::promote_types(expect(type1)?, expect(type2)?).or_raise(py)?)
}

/// Whether results of one dtype may be written to tensors of another.
#[pyfunction]
#[pyo3(signature = (from_, to))]
pub(crate) fn can_cast(from_: &Bound<'_, PyAny>, to: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(tensor::can_cast(expect(from_)?, expect(to)?))
}

/// The dtype in which an operator computes on two tensors or numbers.
#[pyfunction]
pub(crate) fn result_type(tensor1: &Bound<'_, PyAny>, tensor2: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = tensor1.py();
    let [one, other] = [read::operand(tensor1)?, read::operand(tensor2)?];
    DTypeObject::from_value(py, tensor::result_type(&[&one, &other]).or_raise(py)?)
}

/// The dtype of new tensors of floats, `float32` unless it was set.
#[pyfunction]
pub(crate) fn get_default_dtype(py: Python<'_>) -> PyResult<Py<PyAny>> {
    DTypeObject::from_value(py, opgrid::tensor::default_dtype())
}

/// Sets the dtype of new tensors of floats, for all threads.
#[pyfunction]
#[pyo3(signature = (d, /))]
pub(crate) fn set_default_dtype(d: &Bound<'_, PyAny>) -> PyResult<()> {
    tensor::set_default_dtype(expect(d)?).map_err(type_error)
}
