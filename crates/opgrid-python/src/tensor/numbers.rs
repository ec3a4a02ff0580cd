//! The number protocol of tensors: infix operators are operators, and numbers beside tensors are numbers.

use opgrid::Tensor;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::PyString;
use smallvec::smallvec;

use super::object::{TensorBase, tensor_of};
use crate::errors::{OrRaise, guarded};
use crate::operators::arguments::Arguments;
use crate::operators::functions::Special;
use crate::values::read::is_number;

/// Calls an operator on a tensor and what stands beside it; `NotImplemented` where that is neither tensor nor number.
fn binary(special: &Special, tensor: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = tensor.py();
    if tensor_of(other).is_none() && !is_number(other) {
        return Ok(py.NotImplemented());
    }
    let positional = smallvec![tensor.as_borrowed(), other.as_borrowed()];
    guarded(py, || special.call(py, &Arguments { positional, keyword: smallvec![] }))
}

fn unary(special: &Special, tensor: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = tensor.py();
    let positional = smallvec![tensor.as_borrowed()];
    guarded(py, || special.call(py, &Arguments { positional, keyword: smallvec![] }))
}

/// Calls `aten::div` with a rounding mode.
fn floor_division(tensor: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    static DIV: Special = Special::new("div");
    let py = tensor.py();
    if tensor_of(other).is_none() && !is_number(other) {
        return Ok(py.NotImplemented());
    }
    let (name, mode) = (PyString::intern(py, "rounding_mode"), PyString::intern(py, "floor"));
    let positional = smallvec![tensor.as_borrowed(), other.as_borrowed()];
    let keyword = smallvec![(name.as_borrowed(), mode.as_any().as_borrowed())];
    guarded(py, || DIV.call(py, &Arguments { positional, keyword }))
}

/// A number as a tensor, for operators that take tensors alone.
fn as_tensor<'py>(number: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = number.py();
    let value =
        crate::values::read::anything(py, number, 0).ok().and_then(|value| value.borrow().as_scalar());
    value
        .map(|value| super::object::of(py, Tensor::number(value)).map(|object| object.into_bound(py)))
        .transpose()
}

/// The end of an in-place operator, for which Python keeps the object on the left.
fn written(result: Py<PyAny>, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<()> {
    if result.is(py.NotImplemented()) {
        let found = other.get_type().name()?;
        let message = format!("unsupported operand: expected a tensor or a number, found {found}");
        return Err(pyo3::exceptions::PyTypeError::new_err(message));
    }
    Ok(())
}

#[pymethods]
impl TensorBase {
    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("add");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("add");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __iadd__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("add_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __mul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("mul");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("mul");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __imul__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("mul_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("sub");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("rsub");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __isub__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("sub_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __truediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("div");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rtruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static RECIPROCAL: Special = Special::new("reciprocal");
        static MUL: Special = Special::new("mul");
        if !is_number(other) {
            return Ok(slf.py().NotImplemented());
        }
        let reciprocal = unary(&RECIPROCAL, slf.as_any())?;
        binary(&MUL, reciprocal.bind(slf.py()), other)
    }

    fn __itruediv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("div_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __floordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        floor_division(slf.as_any(), other)
    }

    fn __rfloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match as_tensor(other)? {
            Some(number) => floor_division(&number, slf.as_any()),
            None => Ok(slf.py().NotImplemented()),
        }
    }

    fn __pow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        modulo: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("pow");
        if !modulo.is_none() {
            return Ok(slf.py().NotImplemented());
        }
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rpow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        modulo: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("pow");
        if !is_number(other) || !modulo.is_none() {
            return Ok(slf.py().NotImplemented());
        }
        let positional = smallvec![other.as_borrowed(), slf.as_any().as_borrowed()];
        guarded(slf.py(), || OPERATOR.call(slf.py(), &Arguments { positional, keyword: smallvec![] }))
    }

    fn __matmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("matmul");
        if tensor_of(other).is_none() {
            return Ok(slf.py().NotImplemented());
        }
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __neg__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("neg");
        unary(&OPERATOR, slf.as_any())
    }

    fn __pos__(slf: &Bound<'_, Self>) -> Py<PyAny> {
        slf.clone().into_any().unbind()
    }

    fn __abs__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("abs");
        unary(&OPERATOR, slf.as_any())
    }

    fn __invert__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("logical_not");
        only_bools(slf, "~")?;
        unary(&OPERATOR, slf.as_any())
    }

    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("logical_and");
        logical(&OPERATOR, slf, other, "&")
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("logical_or");
        logical(&OPERATOR, slf, other, "|")
    }

    fn __xor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("ne");
        logical(&OPERATOR, slf, other, "^")
    }

    fn __richcmp__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        compare: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        static OPERATORS: [Special; 6] = [
            Special::new("lt"),
            Special::new("le"),
            Special::new("eq"),
            Special::new("ne"),
            Special::new("gt"),
            Special::new("ge"),
        ];
        let operator = match compare {
            CompareOp::Lt => 0,
            CompareOp::Le => 1,
            CompareOp::Eq => 2,
            CompareOp::Ne => 3,
            CompareOp::Gt => 4,
            CompareOp::Ge => 5,
        };
        binary(&OPERATORS[operator], slf.as_any(), other)
    }
}

/// Operators on bits are there for truth values alone.
fn only_bools(slf: &Bound<'_, TensorBase>, sign: &str) -> PyResult<()> {
    let dtype = super::object::expect_tensor(slf.as_any())?.dtype();
    if dtype == opgrid::DType::Bool {
        return Ok(());
    }
    if !dtype.is_integral() {
        let message =
            format!("`{sign}` is there for integer and bool tensors, found {dtype}; convert the tensor");
        return Err(pyo3::exceptions::PyTypeError::new_err(message));
    }
    let message = format!(
        "`{sign}` on a tensor of {dtype} needs an operator on bits, which is not there yet; use a bool tensor"
    );
    Err(crate::errors::new(slf.py(), opgrid::ErrorKind::NotImplemented, &message))
}

fn logical(
    special: &Special,
    slf: &Bound<'_, TensorBase>,
    other: &Bound<'_, PyAny>,
    sign: &str,
) -> PyResult<Py<PyAny>> {
    only_bools(slf, sign)?;
    if tensor_of(other).is_some() {
        only_bools(other.cast()?, sign)?;
        return binary(special, slf.as_any(), other);
    }
    if !other.is_instance_of::<pyo3::types::PyBool>() {
        return Ok(slf.py().NotImplemented());
    }
    let truth: bool = other.extract()?;
    let tensor = Tensor::from_slice(&[opgrid::Bool::from(truth)], &[]).or_raise(slf.py())?;
    binary(special, slf.as_any(), super::object::of(slf.py(), tensor)?.bind(slf.py()))
}
