//! Python objects as values of the types that schemas name.

use std::sync::Arc;

use num_complex::Complex64;
use opgrid::dispatch::schema::Type;
use opgrid::dispatch::{AnyTensor, List};
use opgrid::{DType, Device, MemoryFormat, Scalar, Tensor, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use smallvec::SmallVec;

use crate::errors::{OrRaise, carry};
use crate::exchange::foreign;
use crate::once::intern;
use crate::tensor::object::{TensorBase, tensor_of};
use crate::values::generator::GeneratorObject;
use crate::values::names::{DTypeObject, DeviceObject, LayoutObject, MemoryFormatObject};

/// What is read as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Whether numbers stand where the schema says tensors.
    pub(crate) numbers_for_tensors: bool,
    /// Whether types are those of functions and methods, where a tensor without dimensions is a number and a truth value
    /// is no integer; else those of `opgrid.ops`, where a truth value is one, and a tensor of one element stands for an integer,
    /// a float or a truth value, but not where the schema says `Scalar`.
    pub(crate) as_functions: bool,
}

/// How deep lists and tuples may be nested where the schema takes anything.
const DEEPEST: usize = 64;

/// The object as a value of that type; `None` where it is none.
///
/// # Errors
///
/// What the object's own methods raise; a text that names no device.
pub(crate) fn value(declared: &Type, object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Value>> {
    let py = object.py();
    Ok(match declared {
        Type::Tensor => tensor(object, rules)?.map(Value::Tensor),
        Type::Optional(_) if object.is_none() => Some(Value::None),
        Type::Optional(inner) => value(inner, object, rules)?,
        Type::Int | Type::SymInt => {
            if rules.as_functions && object.is_instance_of::<PyBool>() {
                None
            } else {
                integer(object, rules)?.map(Value::Int)
            }
        }
        Type::Float => real(object, rules)?,
        Type::Complex | Type::Scalar => number(object, rules)?,
        Type::Bool | Type::SymBool => truth(object, rules)?,
        Type::Str => object.cast::<PyString>().ok().map(|text| text.to_str().map(Value::from)).transpose()?,
        Type::ScalarType => dtype(object).map(Value::DType),
        Type::Layout => object.cast::<LayoutObject>().ok().map(|layout| Value::Layout(layout.get().0)),
        Type::MemoryFormat => {
            object.cast::<MemoryFormatObject>().ok().map(|format| Value::MemoryFormat(format.get().0))
        }
        Type::Device => device(object)?.map(Value::Device),
        Type::Generator => {
            object.cast::<GeneratorObject>().ok().map(|generator| Value::Generator(generator.get().0.clone()))
        }
        Type::None => object.is_none().then_some(Value::None),
        Type::List(element) => list(element, object, rules)?,
        Type::Tuple(types) => tuple(types, object, rules)?,
        Type::Dict(key, item) => dict(key, item, object, rules)?,
        Type::Any | Type::Var(_) => Some(anything(py, object, 0)?),
        _ => None,
    })
}

/// A tensor, or a number in a tensor's place.
///
/// # Errors
///
/// Anything else, as a `TypeError`.
pub(crate) fn operand(object: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    const RULES: Rules = Rules { numbers_for_tensors: true, as_functions: false };
    let Some(found) = tensor(object, RULES)? else {
        let (class, remedy) = (foreign::class_name(object), foreign::remedy(object));
        return Err(PyTypeError::new_err(format!(
            "expected a tensor or a number, found an object of class {class}{remedy}"
        )));
    };
    Tensor::try_from(found).or_raise(object.py())
}

/// A number of Python or numpy as a scalar; `None` of anything else.
///
/// # Errors
///
/// An integer beyond 64 bits; what the object's own methods raise.
pub(crate) fn scalar(object: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    const RULES: Rules = Rules { numbers_for_tensors: false, as_functions: false };
    if !is_number(object) {
        return Ok(None);
    }
    Ok(number(object, RULES)?.and_then(|number| number.borrow().as_scalar()))
}

fn tensor(object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<AnyTensor>> {
    if let Some(tensor) = tensor_of(object) {
        return Ok(Some(tensor.clone().into()));
    }
    if !rules.numbers_for_tensors || !is_number(object) {
        return Ok(None);
    }
    let number = number(object, rules)?.and_then(|number| number.borrow().as_scalar());
    Ok(number.map(|number| Tensor::number(number).into()))
}

/// Whether the object is one of Python's or numpy's numbers.
pub(crate) fn is_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyComplex>()
        || is_of_numpy(object)
}

/// Whether the object is a number of numpy's own classes, also a truth value; not its dates and strings.
pub(crate) fn is_of_numpy(object: &Bound<'_, PyAny>) -> bool {
    kind_in_numpy(object).is_some_and(|kind| "biufc".contains(kind))
}

/// The letter that numpy has for the kind of an object of its scalar classes.
fn kind_in_numpy(object: &Bound<'_, PyAny>) -> Option<char> {
    let py = object.py();
    let of_numpy = object.get_type().module().is_ok_and(|module| module == "numpy");
    // Arrays have a length, or at least the method.
    if !of_numpy || object.hasattr(intern!(py, "__len__")).unwrap_or(true) {
        return None;
    }
    let kind = object.getattr(intern!(py, "dtype")).and_then(|dtype| dtype.getattr(intern!(py, "kind")));
    kind.and_then(|kind| kind.extract()).ok()
}

/// What a number of numpy is as one of Python's; a long double loses its last digits.
fn item_of_numpy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let item = object.call_method0(intern!(py, "item"))?;
    match kind_in_numpy(&item) {
        Some('f') => item.call_method0(intern!(py, "__float__")),
        Some('c') => item.call_method0(intern!(py, "__complex__")),
        _ => Ok(item),
    }
}

/// A tensor as the number that it holds, where it stands for one.
fn element(object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Value>> {
    let is_number =
        |tensor: &&Tensor| if rules.as_functions { tensor.dim() == 0 } else { tensor.numel() == 1 };
    match tensor_of(object).filter(is_number) {
        Some(tensor) => tensor.item().or_raise(object.py()).map(|number| Some(Value::from(number))),
        None => Ok(None),
    }
}

fn integer(object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<i64>> {
    if object.is_instance_of::<PyInt>() {
        return object.extract().map(Some);
    }
    if let Some(number) = element(object, rules)? {
        let number = match number {
            Value::Bool(truth) if !rules.as_functions => Value::Int(i64::from(truth)),
            number => number,
        };
        return Ok(number.borrow().as_int());
    }
    let is_index = !object.is_instance_of::<TensorBase>() && object.hasattr("__index__")?;
    if is_index { object.extract().map(Some) } else { Ok(None) }
}

fn real(object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Value>> {
    let found = match number(object, rules)? {
        None => element(object, rules)?,
        found => found,
    };
    Ok(found.filter(|number| !matches!(number, Value::Complex(_))))
}

/// An integer of Python.
///
/// # Errors
///
/// An integer beyond 64 bits.
pub(crate) fn whole(object: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    match object.extract::<i64>() {
        Ok(number) => Ok(Scalar::Int(number)),
        Err(raised) => object.extract::<u64>().map(Scalar::from).map_err(|_| raised),
    }
}

/// A number as it is: an integer stays one, a float stays one.
fn number(object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Value>> {
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(Some(Value::Float(number.value())));
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Some(Value::Bool(truth.is_true())));
    }
    if object.is_instance_of::<PyInt>() {
        return whole(object).map(|number| Some(number.into()));
    }
    if let Ok(number) = object.cast::<PyComplex>() {
        return Ok(Some(Complex64::new(number.real(), number.imag()).into()));
    }
    if rules.as_functions
        && let Some(number) = element(object, rules)?
    {
        return Ok(Some(number));
    }
    if is_of_numpy(object) {
        let number = item_of_numpy(object)?;
        return if is_of_numpy(&number) { Ok(None) } else { self::number(&number, rules) };
    }
    Ok(None)
}

fn truth(object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Value>> {
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Some(Value::Bool(truth.is_true())));
    }
    if is_of_numpy(object) {
        let item = object.call_method0("item")?;
        return Ok(item.cast::<PyBool>().ok().map(|truth| Value::Bool(truth.is_true())));
    }
    if rules.as_functions { Ok(None) } else { Ok(integer(object, rules)?.map(Value::Int)) }
}

/// The dtype that an object names: itself, or Python's type of such numbers.
pub(crate) fn dtype(object: &Bound<'_, PyAny>) -> Option<DType> {
    if let Ok(dtype) = object.cast::<DTypeObject>() {
        return Some(dtype.get().0);
    }
    let py = object.py();
    let class = object.cast::<PyType>().ok()?;
    let known = [
        (py.get_type::<PyBool>(), DType::Bool),
        (py.get_type::<PyInt>(), DType::I64),
        (py.get_type::<PyFloat>(), DType::F64),
        (py.get_type::<PyComplex>(), DType::Complex128),
    ];
    known.iter().find(|(known, _)| class.is(known)).map(|(_, dtype)| *dtype)
}

/// The device that an object names.
///
/// # Errors
///
/// A text that names none.
pub(crate) fn device(object: &Bound<'_, PyAny>) -> PyResult<Option<Device>> {
    if let Ok(device) = object.cast::<DeviceObject>() {
        return Ok(Some(device.get().0));
    }
    let Ok(text) = object.cast::<PyString>() else { return Ok(None) };
    text.to_str()?.parse().or_raise(object.py()).map(Some)
}

/// The memory format that an object is; `None` of `None`.
///
/// # Errors
///
/// Anything else, as a `TypeError`.
pub(crate) fn memory_format(object: &Bound<'_, PyAny>) -> PyResult<Option<MemoryFormat>> {
    if object.is_none() {
        return Ok(None);
    }
    let found = object.cast::<MemoryFormatObject>().map(|format| format.get().0);
    found.map(Some).map_err(|_| {
        let class = foreign::class_name(object);
        PyTypeError::new_err(format!("argument 'memory_format' must be opgrid.memory_format, not {class}"))
    })
}

/// Integers, without a memory allocation for as many as most tensors have dimensions.
pub(crate) type Integers = SmallVec<[i64; 6]>;

/// A list or a tuple of integers, or in `opgrid.ops` a vector of them.
///
/// # Errors
///
/// What the objects' own methods raise.
pub(crate) fn integers(object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Integers>> {
    if let Some(tensor) = tensor_of(object).filter(|tensor| !rules.as_functions && tensor.dim() == 1) {
        let is_whole = tensor.dtype().is_integral() && tensor.dtype() != DType::Bool;
        let numbers = || tensor.to_dtype(DType::I64)?.to_vec::<i64>();
        return if is_whole { numbers().or_raise(object.py()).map(|it| Some(it.into())) } else { Ok(None) };
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return all_integers(tuple.iter_borrowed().map(|item| item.to_owned()), rules);
    }
    match object.cast::<PyList>() {
        Ok(list) => all_integers(list.iter(), rules),
        Err(_) => Ok(None),
    }
}

/// Integers, if all of them are.
///
/// # Errors
///
/// As [`integers`].
pub(crate) fn all_integers<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    rules: Rules,
) -> PyResult<Option<Integers>> {
    let mut numbers = Integers::new();
    for item in items {
        if rules.as_functions && item.is_instance_of::<PyBool>() {
            return Ok(None);
        }
        match integer(&item, rules)? {
            Some(number) => numbers.push(number),
            None => return Ok(None),
        }
    }
    Ok(Some(numbers))
}

/// A list of tensors, if all items are tensors.
pub(crate) fn all_tensors<'py>(items: impl Iterator<Item = Bound<'py, PyAny>>) -> Option<Value> {
    items.map(|item| tensor_of(&item).cloned()).collect::<Option<Vec<Tensor>>>().map(Value::from)
}

/// The items of a list or a tuple; no other sequences stand for lists.
pub(crate) fn items<'py>(object: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return Some(tuple.iter().collect());
    }
    object.cast::<PyList>().ok().map(|list| list.iter().collect())
}

fn list(element: &Type, object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Value>> {
    let py = object.py();
    let Some(items) = items(object) else {
        // One number may stand for all of a sized list; binding decides that.
        let one = matches!(element, Type::Int | Type::SymInt | Type::Float | Type::Bool);
        return if one { value(element, object, rules) } else { Ok(None) };
    };
    if matches!(element, Type::Int | Type::SymInt) {
        return Ok(integers(object, rules)?.map(|numbers| numbers.into_vec().into()));
    }
    let mut values = Vec::with_capacity(items.len());
    for item in &items {
        let Some(item) = value(element, item, rules)? else { return Ok(None) };
        values.push(match (element, item) {
            (Type::Float, Value::Int(number)) => Value::Float(number as f64),
            (Type::Float, Value::Bool(truth)) => Value::Float(f64::from(u8::from(truth))),
            (_, item) => item,
        });
    }
    List::from_values(element.without_symint(), values).or_raise(py).map(|list| Some(list.into()))
}

fn tuple(types: &[Type], object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Value>> {
    let Some(items) = items(object).filter(|items| items.len() == types.len()) else { return Ok(None) };
    let mut values = Vec::with_capacity(items.len());
    for (declared, item) in types.iter().zip(&items) {
        let Some(item) = value(declared, item, rules)? else { return Ok(None) };
        values.push(item);
    }
    Ok(Some(Value::Tuple(Arc::new(values.into()))))
}

fn dict(key: &Type, item: &Type, object: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Option<Value>> {
    let Ok(dict) = object.cast::<PyDict>() else { return Ok(None) };
    let mut entries = Vec::with_capacity(dict.len());
    // Objects may run code while they are read, which may change the dict: read a copy.
    for (name, object) in dict.copy()?.iter() {
        match (value(key, &name, rules)?, value(item, &object, rules)?) {
            (Some(name), Some(object)) => entries.push((name, object)),
            _ => return Ok(None),
        }
    }
    let entries = opgrid::dispatch::value::DictValue::new(key.clone(), item.clone(), entries);
    Ok(Some(Value::Dict(Arc::new(entries))))
}

/// The object as the value that it looks like.
///
/// # Errors
///
/// An object of another class; lists in lists without end.
pub(crate) fn anything(py: Python<'_>, object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    const RULES: Rules = Rules { numbers_for_tensors: false, as_functions: false };
    let plain = [Type::None, Type::Tensor, Type::Scalar, Type::Str, Type::ScalarType, Type::Layout];
    for declared in plain.iter().chain(&[Type::MemoryFormat, Type::Generator]) {
        if let Some(value) = value(declared, object, RULES)? {
            return Ok(value);
        }
    }
    if let Ok(device) = object.cast::<DeviceObject>() {
        return Ok(Value::Device(device.get().0));
    }
    if depth == DEEPEST {
        return Err(PyTypeError::new_err(format!("lists and tuples are nested deeper than {DEEPEST}")));
    }
    if let Some(items) = items(object) {
        let values = items.iter().map(|item| anything(py, item, depth + 1)).collect::<PyResult<Vec<_>>>()?;
        if object.is_instance_of::<PyTuple>() {
            return Ok(Value::Tuple(Arc::new(values.into())));
        }
        let element = values.first().map_or(Type::Any, Value::value_type);
        let same = values.iter().all(|value| value.value_type() == element);
        let list = List::from_values(if same { element } else { Type::Any }, values).or_raise(py)?;
        return Ok(list.into());
    }
    let found = object.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "found an object of class {found}, which operators do not take; pass a tensor, a number, a \
         string, a dtype, a device or a list of them"
    )))
}

/// What a kernel in Python returned, as the value that the schema declares.
///
/// # Errors
///
/// A value of another type; what the object's methods raise.
pub(crate) fn returned(
    declared: &Type,
    object: &Bound<'_, PyAny>,
    subject: impl Fn() -> String,
) -> opgrid::Result<Value> {
    const RULES: Rules = Rules { numbers_for_tensors: false, as_functions: false };
    if *declared == Type::Tensor && object.is_none() {
        return Ok(Tensor::undefined().into());
    }
    let found = value(declared, object, RULES).map_err(carry)?;
    let found = match (declared.without_optional(), found) {
        (Type::Float, Some(Value::Int(number))) => Some(Value::Float(number as f64)),
        (_, found) => found,
    };
    found.ok_or_else(|| {
        let class = object.get_type();
        let name = class.name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
        let message = format!("{}: found {name}, expected {}", subject(), declared.python_name());
        opgrid::Error::new(opgrid::ErrorKind::Value, message)
    })
}
