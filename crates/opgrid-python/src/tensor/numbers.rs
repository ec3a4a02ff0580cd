//! The number protocol of tensors: infix operators are operators, and numbers beside tensors are numbers.

use opgrid::Tensor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use smallvec::smallvec;

use super::object::{TensorBase, expect_tensor, tensor_of};
use crate::errors::guarded;
use crate::exchange::foreign;
use crate::exchange::numpy::{array_of, is_array};
use crate::operators::arguments::Arguments;
use crate::operators::functions::Special;
use crate::values::read::is_number;

/// Calls an operator on a tensor and what stands beside it; `NotImplemented` where that is neither tensor nor number.
fn binary(special: &Special, tensor: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = tensor.py();
    if tensor_of(other).is_none() && !is_number(other) {
        return beside_other(special, tensor, other);
    }
    let positional = smallvec![tensor.as_borrowed(), other.as_borrowed()];
    guarded(py, || special.call(py, &Arguments { positional, keyword: smallvec![] }))
}

/// The operators of Python that operators stand for, with the method that the object on the right is asked by.
const REFLECTED: [(&str, &str, &str); 18] = [
    ("add", "+", "__radd__"),
    ("sub", "-", "__rsub__"),
    ("rsub", "-", "__sub__"),
    ("mul", "*", "__rmul__"),
    ("div", "/", "__rtruediv__"),
    ("floor_divide", "//", "__rfloordiv__"),
    ("remainder", "%", "__rmod__"),
    ("pow", "**", "__rpow__"),
    ("matmul", "@", "__rmatmul__"),
    ("bitwise_and", "&", "__rand__"),
    ("bitwise_or", "|", "__ror__"),
    ("bitwise_xor", "^", "__rxor__"),
    ("bitwise_left_shift", "<<", "__rlshift__"),
    ("bitwise_right_shift", ">>", "__rrshift__"),
    ("lt", "<", "__gt__"),
    ("le", "<=", "__ge__"),
    ("gt", ">", "__lt__"),
    ("ge", ">=", "__le__"),
];

/// What an operator of a tensor on the left does with an object that is none. Tensors of other libraries are asked as the
/// interpreter would ask them next; where they do not know either, the exception says what they are.
#[cold]
fn beside_other(
    special: &Special,
    tensor: &Bound<'_, PyAny>,
    other: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let py = tensor.py();
    let known = REFLECTED.iter().find(|(name, ..)| *name == special.name());
    let (Some((_, sign, reflected)), Some(library)) = (known, foreign::library_of(other)) else {
        return Ok(py.NotImplemented());
    };
    // Numpy has rules of its own, for classes that say how its results are wrapped.
    if library == "numpy" {
        return Ok(py.NotImplemented());
    }
    let class = other.get_type();
    if let Some(method) = class.getattr_opt(*reflected)? {
        match method.call1((other, tensor)) {
            Ok(answer) if !answer.is(py.NotImplemented()) => return Ok(answer.unbind()),
            Err(raised) if !raised.is_instance_of::<PyTypeError>(py) => return Err(raised),
            _ => {}
        }
    }
    Err(foreign::refused(sign, other))
}

/// What an operator of a tensor on the right does with an object that is none: the object has been asked before.
#[cold]
fn beside_asked(special: &Special, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let known = REFLECTED.iter().find(|(name, ..)| *name == special.name());
    match (known, foreign::library_of(other)) {
        (Some((_, sign, _)), Some(library)) if library != "numpy" => Err(foreign::refused(sign, other)),
        _ => Ok(other.py().NotImplemented()),
    }
}

/// The tensor of an array that a tensor is compared with; `None` where it has elements that tensors do not have.
#[cold]
fn equal_array(array: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    let py = array.py();
    match array_of(array, None) {
        Ok(tensor) => tensor.map(|tensor| super::object::tensor_object(py, tensor)).transpose(),
        Err(raised) if raised.is_instance_of::<PyTypeError>(py) => Ok(None),
        Err(raised) => Err(raised),
    }
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
        return beside_asked(special, number);
    }
    let positional = smallvec![number.as_borrowed(), tensor.as_borrowed()];
    guarded(py, || special.call(py, &Arguments { positional, keyword: smallvec![] }))
}

/// A number as a tensor, for operators that take tensors alone.
fn as_tensor<'py>(number: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = number.py();
    let Some(value) = crate::values::read::scalar(number)? else { return Ok(None) };
    super::object::tensor_object(py, Tensor::number(value)).map(|object| Some(object.into_bound(py)))
}

/// Calls an operator on a tensor and what stands on its left, in either order the same.
fn swapped(special: &Special, tensor: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if tensor_of(other).is_some() || is_number(other) {
        binary(special, tensor, other)
    } else {
        beside_asked(special, other)
    }
}

/// What stands on the right of an in-place operator. Of anything but a tensor or a number the interpreter is told that the
/// operator is not implemented, so that it tries the one that gives a new object.
struct Operand<'py>(Bound<'py, PyAny>);

impl<'py> FromPyObject<'_, 'py> for Operand<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if tensor_of(&object).is_some() || is_number(&object) {
            Ok(Self(object.to_owned()))
        } else {
            Err(PyTypeError::new_err("expected a tensor or a number"))
        }
    }
}

#[pymethods]
impl TensorBase {
    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("add");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("add");
        swapped(&OPERATOR, slf.as_any(), other)
    }

    fn __iadd__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("add_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __mul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("mul");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("mul");
        swapped(&OPERATOR, slf.as_any(), other)
    }

    fn __imul__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("mul_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("sub");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("rsub");
        swapped(&OPERATOR, slf.as_any(), other)
    }

    fn __isub__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("sub_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __truediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("div");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rtruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static RECIPROCAL: Special = Special::new("reciprocal");
        static MUL: Special = Special::new("mul");
        if !is_number(other) {
            static DIV: Special = Special::new("div");
            return if is_array(other)? {
                // As torch has it: numpy multiplies, and has the result wrapped.
                Ok(unary(&RECIPROCAL, slf.as_any())?.bind(slf.py()).mul(other)?.unbind())
            } else {
                beside_asked(&DIV, other)
            };
        }
        let reciprocal = unary(&RECIPROCAL, slf.as_any())?;
        binary(&MUL, reciprocal.bind(slf.py()), other)
    }

    fn __itruediv__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("div_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __floordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("floor_divide");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rfloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("floor_divide");
        match as_tensor(other)? {
            Some(number) => binary(&OPERATOR, &number, slf.as_any()),
            None => beside_asked(&OPERATOR, other),
        }
    }

    fn __ifloordiv__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("floor_divide_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __mod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("remainder");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rmod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("remainder");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __imod__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("remainder_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
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
        other: Operand<'py>,
        _modulo: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        static OPERATOR: Special = Special::new("pow_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __matmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("matmul");
        if tensor_of(other).is_none() {
            return beside_other(&OPERATOR, slf.as_any(), other);
        }
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rmatmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("matmul");
        let _ = slf;
        beside_asked(&OPERATOR, other)
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

    fn __iand__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_and_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __or__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_or");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __ror__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_or");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __ior__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_or_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __xor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_xor");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rxor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_xor");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __ixor__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_xor_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __lshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_left_shift");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rlshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_left_shift");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __ilshift__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_left_shift_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
    }

    fn __rshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_right_shift");
        binary(&OPERATOR, slf.as_any(), other)
    }

    fn __rrshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        static OPERATOR: Special = Special::new("bitwise_right_shift");
        reversed(&OPERATOR, other, slf.as_any())
    }

    fn __irshift__<'py>(slf: &Bound<'py, Self>, other: Operand<'py>) -> PyResult<()> {
        static OPERATOR: Special = Special::new("bitwise_right_shift_");
        binary(&OPERATOR, slf.as_any(), &other.0).map(drop)
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
        // `!=` of an array is left to Python, as in torch: it asks whether the two are the same object.
        if matches!(compare, CompareOp::Eq)
            && tensor_of(other).is_none()
            && is_array(other)?
            && let Some(array) = equal_array(other)?
        {
            return binary(&OPERATORS[operator], slf.as_any(), array.bind(slf.py()));
        }
        binary(&OPERATORS[operator], slf.as_any(), other)
    }
}
