//! Classes of users: what they say of functions and methods of their objects. Results for objects of those that are derived from
//! tensors are theirs, too.

use std::cell::Cell;

use opgrid::{DispatchKey, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use super::arguments::Arguments;
use super::functions::{self, Caller};
use crate::once::intern;
use crate::tensor::dispatching::{self, handler_of};
use crate::tensor::object::{TensorBase, TensorObject, tensor_object};

/// The names under which a class says what a function does with its objects.
const HANDLERS: [&str; 2] = ["__opgrid_function__", "__torch_function__"];

thread_local! {
    /// Whether calls of this thread do not ask classes.
    static OFF: Cell<bool> = const { Cell::new(false) };
}

/// Keeps calls from asking classes until it is dropped.
struct Off(bool);

impl Off {
    fn new() -> Self {
        Self(OFF.replace(true))
    }
}

impl Drop for Off {
    fn drop(&mut self) {
        OFF.set(self.0);
    }
}

/// The users' classes among the arguments, each once, derived ones first; usually none.
#[inline]
pub(super) fn classes<'py>(arguments: &Arguments<'_, 'py>) -> Vec<Bound<'py, PyType>> {
    let mut found = Vec::new();
    for object in objects(arguments) {
        if is_plain(object) {
            continue;
        }
        if object.is_instance_of::<TensorBase>() {
            add(&mut found, object.get_type());
        } else if object.is_exact_instance_of::<PyList>() || object.is_exact_instance_of::<PyTuple>() {
            add_of_items(&mut found, object);
        }
    }
    if found.is_empty() || OFF.get() { Vec::new() } else { found }
}

fn objects<'s, 'py>(
    arguments: &'s Arguments<'_, 'py>,
) -> impl Iterator<Item = &'s Bound<'py, PyAny>> + use<'s, 'py> {
    arguments
        .positional
        .iter()
        .chain(arguments.keyword.iter().map(|(_, object)| object))
        .map(|object| &**object)
}

/// Whether an argument is of no class of users, as most are.
#[inline]
fn is_plain(object: &Bound<'_, PyAny>) -> bool {
    object.cast_exact::<TensorObject>().is_ok()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>()
}

fn add_of_items<'py>(found: &mut Vec<Bound<'py, PyType>>, items: &Bound<'py, PyAny>) {
    let Ok(items) = items.try_iter() else { return };
    for item in items.flatten().filter(|item| !is_plain(item)) {
        if item.is_instance_of::<TensorBase>() {
            add(found, item.get_type());
        }
    }
}

/// Adds the classes of arguments that are no tensors and answer functions all the same.
///
/// # Errors
///
/// Those of looking a handler up.
#[cold]
pub(super) fn add_others<'py>(
    found: &mut Vec<Bound<'py, PyType>>,
    arguments: &Arguments<'_, 'py>,
) -> PyResult<()> {
    let mut add_object = |object: &Bound<'py, PyAny>| -> PyResult<()> {
        let class = object.get_type();
        let answers = !object.is_instance_of::<TensorBase>()
            && !object.is_instance_of::<PyType>()
            && handler_of(&class, &HANDLERS)?.is_some();
        // Torch's own classes would ask back.
        if answers && !class.mro().iter().any(|class| is_in_torch(&class)) {
            add(found, class);
        }
        Ok(())
    };
    for object in objects(arguments) {
        add_object(object)?;
        if object.is_exact_instance_of::<PyList>() || object.is_exact_instance_of::<PyTuple>() {
            object.try_iter()?.try_for_each(|item| add_object(&item?))?;
        }
    }
    Ok(())
}

/// What classes that are no tensors say of a call that no overload takes.
///
/// # Errors
///
/// `error`, which the call failed with, where there are no such classes; as [`call`].
#[cold]
pub(super) fn call_others<'py>(
    py: Python<'py>,
    caller: &Caller,
    arguments: &Arguments<'_, 'py>,
    error: PyErr,
) -> PyResult<Py<PyAny>> {
    let mut found = Vec::new();
    if !OFF.get() && error.is_instance_of::<PyTypeError>(py) {
        add_others(&mut found, arguments)?;
    }
    if found.is_empty() { Err(error) } else { call(py, caller, found, arguments) }
}

#[cold]
fn add<'py>(found: &mut Vec<Bound<'py, PyType>>, class: Bound<'py, PyType>) {
    if found.iter().any(|known| known.is(&class)) {
        return;
    }
    let derived = |known: &Bound<'py, PyType>| class.is_subclass(known).unwrap_or(false);
    let place = found.iter().position(derived).unwrap_or(found.len());
    found.insert(place, class);
}

/// Calls an operator for objects of users' classes: the first class that has an answer gives it.
///
/// # Errors
///
/// `TypeError` where none has; those of the handlers and of the call.
#[cold]
pub(super) fn call<'py>(
    py: Python<'py>,
    caller: &Caller,
    mut classes: Vec<Bound<'py, PyType>>,
    arguments: &Arguments<'_, 'py>,
) -> PyResult<Py<PyAny>> {
    add_others(&mut classes, arguments)?;
    let mut asked = false;
    for class in &classes {
        let Some(name) = handler_of(class, &HANDLERS)? else { continue };
        asked = true;
        let answer = class.call_method1(name, handed(py, caller, &classes, arguments)?)?;
        if !answer.is(py.NotImplemented()) {
            return Ok(answer.unbind());
        }
    }
    if asked {
        let names =
            classes.iter().map(|class| Ok(class.name()?.to_string())).collect::<PyResult<Vec<_>>>()?;
        let message = format!(
            "Multiple dispatch failed for '{}'; all __torch_function__ handlers returned NotImplemented: {}",
            caller.name(),
            names.join(", ")
        );
        return Err(PyTypeError::new_err(message));
    }
    let _off = Off::new();
    let result = caller.call_plainly(py, arguments)?;
    if handler_of(&classes[0], &dispatching::HANDLERS)?.is_some() {
        // What the results are, it says where it answers operators.
        return Ok(result);
    }
    of_class(result.into_bound(py), &classes[0]).map(Bound::unbind)
}

/// What a handler of functions gets: the function, the classes among the arguments, and these by position and by name.
type Handed<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyDict>);

/// What a handler gets of a call.
///
/// # Errors
///
/// The operator is gone.
pub(super) fn handed<'py>(
    py: Python<'py>,
    caller: &Caller,
    classes: &[Bound<'py, PyType>],
    arguments: &Arguments<'_, 'py>,
) -> PyResult<Handed<'py>> {
    let args = PyTuple::new(py, arguments.positional.iter().map(|object| (**object).clone()))?;
    let kwargs = PyDict::new(py);
    for (name, object) in &arguments.keyword {
        kwargs.set_item(&**name, &**object)?;
    }
    Ok((caller.function(py)?, PyTuple::new(py, classes)?, args, kwargs))
}

/// Sets whether calls of this thread ask the classes of their arguments; what was set before.
#[pyfunction]
pub(crate) fn _set_classes_asked(asked: bool) -> bool {
    !OFF.replace(!asked)
}

/// Whether calls of this thread ask the classes of their arguments.
#[pyfunction]
pub(crate) fn _are_classes_asked() -> bool {
    !OFF.get()
}

/// The result of a method that is no operator's, as an object of the class of the object that it was called on, unless that
/// class says what operators do.
///
/// # Errors
///
/// Those of the class.
#[inline]
pub(crate) fn result_of_method(object: &Bound<'_, TensorBase>, result: Tensor) -> PyResult<Py<PyAny>> {
    let result = tensor_object(object.py(), result)?;
    match object.as_any().cast_exact::<TensorObject>() {
        Ok(_) => Ok(result),
        Err(_) => result_for_class(&object.get_type(), result),
    }
}

#[cold]
fn result_for_class(class: &Bound<'_, PyType>, result: Py<PyAny>) -> PyResult<Py<PyAny>> {
    if OFF.get() || handler_of(class, &dispatching::HANDLERS)?.is_some() {
        return Ok(result);
    }
    of_class(result.into_bound(class.py()), class).map(Bound::unbind)
}

/// The result as an object of the class; what is no plain tensor stays as it is.
fn of_class<'py>(result: Bound<'py, PyAny>, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    let py = result.py();
    if result.cast_exact::<TensorObject>().is_ok() {
        let make = py.get_type::<TensorObject>().getattr(intern!(py, "__new__"))?;
        return make.call1((class, result));
    }
    if let Ok(tuple) = result.cast_exact::<PyTuple>() {
        let items = tuple.iter().map(|item| of_class(item, class)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyTuple::new(py, items)?.into_any());
    }
    if let Ok(tuple) = result.cast::<PyTuple>()
        && tuple.hasattr(intern!(py, "_fields"))?
    {
        let items = tuple.iter().map(|item| of_class(item, class)).collect::<PyResult<Vec<_>>>()?;
        return tuple.get_type().call1((PyTuple::new(py, items)?,));
    }
    if let Ok(list) = result.cast_exact::<PyList>() {
        let items = list.iter().map(|item| of_class(item, class)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    Ok(result)
}

/// Whether a function is torch's. Our classes have `__torch_function__`, too, so that torch asks them; calling the function
/// would have them asked again and again.
fn is_of_torch(function: &Bound<'_, PyAny>) -> bool {
    if functions::caller_of(function).is_ok() {
        return false;
    }
    let has_owner_in_torch = |name: &str| {
        let owner = function.getattr_opt(name).ok().flatten();
        owner.is_some_and(|owner| is_in_torch(&owner) || is_in_torch(&owner.get_type()))
    };
    // Methods know their class, functions in C their owner; a function in Python its module.
    has_owner_in_torch("__objclass__") || has_owner_in_torch("__self__") || is_in_torch(function)
}

/// Whether the module that an object is defined in is one of torch.
fn is_in_torch(object: &Bound<'_, PyAny>) -> bool {
    let module = object.getattr_opt(intern!(object.py(), "__module__")).ok().flatten();
    let module: Option<String> = module.and_then(|module| module.extract().ok());
    module.is_some_and(|module| module.split('.').next() == Some("torch"))
}

/// What classes without an answer of their own do: the call, with results of the class.
fn by_default<'py>(
    class: &Bound<'py, PyType>,
    function: &Bound<'py, PyAny>,
    args: Option<&Bound<'py, PyTuple>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if is_of_torch(function) {
        return Ok(class.py().NotImplemented().into_bound(class.py()));
    }
    let _off = Off::new();
    let empty = PyTuple::empty(class.py());
    let result = function.call(args.unwrap_or(&empty), kwargs)?;
    of_class(result, class)
}

#[pymethods]
impl TensorBase {
    /// What `super().__opgrid_function__` does: calls the function, and makes results objects of the class.
    #[classmethod]
    #[pyo3(signature = (func, types, args=None, kwargs=None))]
    fn __opgrid_function__<'py>(
        cls: &Bound<'py, PyType>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: Option<&Bound<'py, PyTuple>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = types;
        by_default(cls, func, args, kwargs)
    }

    /// Overrides functions under torch's name.
    #[classmethod]
    #[pyo3(signature = (func, types, args=None, kwargs=None))]
    fn __torch_function__<'py>(
        cls: &Bound<'py, PyType>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: Option<&Bound<'py, PyTuple>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = types;
        by_default(cls, func, args, kwargs)
    }

    /// What `super().__opgrid_dispatch__` does: calls the operator, and asks no class.
    #[classmethod]
    #[pyo3(signature = (func, types, args=None, kwargs=None))]
    fn __opgrid_dispatch__<'py>(
        cls: &Bound<'py, PyType>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: Option<&Bound<'py, PyTuple>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = types;
        let empty = PyTuple::empty(cls.py());
        let keys = DispatchKey::Python.key_set();
        opgrid::dispatch::excluding(keys, || func.call(args.unwrap_or(&empty), kwargs))
    }

    /// Overrides operators under torch's name.
    #[classmethod]
    #[pyo3(signature = (func, types, args=None, kwargs=None))]
    fn __torch_dispatch__<'py>(
        cls: &Bound<'py, PyType>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: Option<&Bound<'py, PyTuple>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::__opgrid_dispatch__(cls, func, types, args, kwargs)
    }

    /// The tensor as an object of a class that is derived from `Tensor`.
    fn as_subclass<'py>(slf: &Bound<'py, Self>, cls: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if !cls.is_subclass(&py.get_type::<TensorBase>())? {
            let found = cls.name()?;
            return Err(PyTypeError::new_err(format!("expected a class derived from Tensor, found {found}")));
        }
        let make = py.get_type::<TensorObject>().getattr(PyString::intern(py, "__new__"))?;
        make.call1((cls, slf))
    }
}
