//! The number protocol of tensors: infix operators are operators, and numbers beside tensors are numbers.

use opgrid::Tensor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use smallvec::smallvec;

use super::object::{TensorBase, expect_tensor, tensor_of};
use crate::errors::guarded;
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

/// Calls an operator on a number and the tensor on its right.
fn reversed(special: &Special, number: &Bound<'_, PyAny>, tensor: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = tensor.py();
    if !is_number(number) {
        return Ok(py.NotImplemented());
    }
    let positional = smallvec![number.as_borrowed(), tensor.as_borrowed()];
    guarded(py, || special.call(py, &Arguments { positional, keyword: smallvec![] }))
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
        return Err(PyTypeError::new_err(message));
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
        static OPERATOR: Special = Special::new("floor_divide");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rfloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("floor_divide");
        match as_tensor(other)? {
            Some(number) => binary(&OPERATOR, &number, slf.as_any()),
            None => Ok(slf.py().NotImplemented()),
        }
    }

    fn __ifloordiv__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("floor_divide_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __mod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("remainder");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("remainder");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __imod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("remainder_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
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
        if !modulo.is_none() {
            return Ok(slf.py().NotImplemented());
        }
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __ipow__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        _modulo: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        static OPERATOR: Special = Special::new("pow_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
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
        static OPERATOR: Special = Special::new("bitwise_not");
        let dtype = expect_tensor(slf.as_any())?.dtype();
        if dtype.is_floating_point() || dtype.is_complex() {
            let message = format!("~: found a tensor of {dtype}, expected one of integers or bools");
            return Err(PyTypeError::new_err(message));
        }
        unary(&OPERATOR, slf.as_any())
    }

    fn __and__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_and");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_and");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __iand__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_and_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_or");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __ror__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_or");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __ior__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_or_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __xor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_xor");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rxor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_xor");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __ixor__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_xor_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __lshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_left_shift");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rlshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_left_shift");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __ilshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_left_shift_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
    }

    fn __rshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_right_shift");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rrshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_right_shift");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __irshift__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_right_shift_");
        written(binary(&OPERATOR, slf.as_any(), other)?, slf.py(), other)
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
