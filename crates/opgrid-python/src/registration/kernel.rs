//! Kernels written in Python: arguments as objects, the call, and what it returned as values of the schema's types.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use opgrid::schema::FunctionSchema;
use opgrid::{
    Binder, BoxedCall, Error, ErrorKind, Kernel, OperatorHandle, Result, Storage, Tensor, TensorType,
    ValueRef,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::errors::carry;
use crate::keys::KeySet;
use crate::operators::candidates::{dispatcher, now};
use crate::operators::overload::Overload;
use crate::operators::packet::OpOverload;
use crate::values::{read, write};

/// How a function is called, and what is asked of its results.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// Whether the keys of the call come before the arguments.
    pub(super) with_keys: bool,
    /// Whether results have to have memory that no argument and no other result has.
    pub(super) fresh: bool,
}

/// A kernel that calls `function` with the arguments.
pub(super) fn of_function(function: Py<PyAny>, terms: Terms) -> Kernel {
    let binder = OnceLock::new();
    Kernel::boxed(move |call| {
        let Some(schema) = call.schema() else { return Err(without_schema(call)) };
        // The kernel serves one operator; a schema that came later is another registration of it.
        let binder: &Binder = binder.get_or_init(|| Binder::new(schema.clone()));
        Python::attach(|py| {
            let first = terms.with_keys.then(|| Py::new(py, KeySet(call.keys())).map(Py::into_any));
            let first = first.into_iter().collect::<PyResult<Vec<_>>>().map_err(carry)?;
            let (positional, keyword) =
                objects(py, binder.schema(), call.args(), Some(binder), first).map_err(carry)?;
            let result = function.bind(py).call(positional, keyword.as_ref()).map_err(carry)?;
            leave(call, binder.schema(), &result)?;
            if terms.fresh { refuse_aliases(call) } else { Ok(()) }
        })
    })
}

/// Refuses results on the memory of an argument or of another result.
fn refuse_aliases(call: &mut BoxedCall<'_>) -> Result<()> {
    let storage_of = |value: ValueRef<'_>| {
        let tensor = value.as_tensor().and_then(Tensor::from_any_ref)?;
        let array = tensor.array().ok().filter(|array| array.storage().bytes() > 0)?;
        Some(array.storage().clone())
    };
    let mut seen: Vec<Storage> = call.args().iter().filter_map(|value| storage_of(*value)).collect();
    let results: Vec<Storage> =
        call.returns().iter().filter_map(|value| storage_of(value.borrow())).collect();
    for storage in results {
        if seen.iter().any(|known| known.is_same(&storage)) {
            let message = format!(
                "{}: a result must not alias an argument or another result of an operator made by custom_op; return a clone \
                 (`.clone()`) instead",
                call.operator().name()
            );
            return Err(Error::new(ErrorKind::Value, message));
        }
        seen.push(storage);
    }
    Ok(())
}

/// A fallback that calls `function` with the operator and the arguments, and the call's keys if `with_keys` says so.
pub(super) fn of_fallback(function: Py<PyAny>, with_keys: bool) -> Kernel {
    Kernel::boxed(move |call| {
        Python::attach(|py| {
            let keys = with_keys.then(|| Py::new(py, KeySet(call.keys())).map(Py::into_any));
            let first = keys.transpose().map_err(carry)?;
            hand_over(function.bind(py), call, first)
        })
    })
}

/// Calls `function` with the operator and the arguments of a call, and `first` before them, and leaves what it returned.
///
/// # Errors
///
/// An operator without a schema; what the function raised; results that are not those of the schema.
pub(crate) fn hand_over(
    function: &Bound<'_, PyAny>,
    call: &mut BoxedCall<'_>,
    first: Option<Py<PyAny>>,
) -> Result<()> {
    let Some(schema) = call.schema() else { return Err(without_schema(call)) };
    let py = function.py();
    let operator = overload_object(py, call.operator())?;
    let first = first.into_iter().chain([operator.into_any()]).collect();
    let (positional, keyword) = objects(py, schema, call.args(), None, first).map_err(carry)?;
    let result = function.call(positional, keyword.as_ref()).map_err(carry)?;
    leave(call, schema, &result)
}

/// What a provider's condition asks: whether `function` says of the arguments that the kernel runs.
pub(super) fn holds(function: &Py<PyAny>, args: &[ValueRef<'_>]) -> Result<bool> {
    Python::attach(|py| {
        let objects = args.iter().map(|value| write::lent(py, *value)).collect::<PyResult<Vec<_>>>();
        let asked =
            objects.and_then(|objects| function.bind(py).call1(PyTuple::new(py, objects)?)?.is_truthy());
        asked.map_err(carry)
    })
}

/// The arguments as a tuple and a dict: those behind `*` by name; with a binder, defaults at the end are left out.
fn objects<'py>(
    py: Python<'py>,
    schema: &FunctionSchema,
    args: &[ValueRef<'_>],
    binder: Option<&Binder>,
    first: Vec<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>)> {
    let is_default = |index: usize| {
        let has_default = schema.arguments.get(index).is_some_and(|argument| argument.default.is_some());
        has_default && binder.is_some_and(|binder| same(args[index], binder.default(index).borrow()))
    };
    let positions =
        schema.arguments.iter().take_while(|argument| !argument.kwarg_only).count().min(args.len());
    let given = (0..positions).rev().find(|index| !is_default(*index)).map_or(0, |index| index + 1);
    let mut positional = first;
    for value in &args[..given] {
        positional.push(write::lent(py, *value)?);
    }
    let mut keyword = None;
    for index in (positions..args.len()).filter(|index| !is_default(*index)) {
        let keyword = keyword.get_or_insert_with(|| PyDict::new(py));
        let name = PyString::intern(py, &schema.arguments[index].name);
        keyword.set_item(name, write::lent(py, args[index])?)?;
    }
    Ok((PyTuple::new(py, positional)?, keyword))
}

/// Whether two plain values are the same; of others it does not matter.
fn same(one: ValueRef<'_>, other: ValueRef<'_>) -> bool {
    one.is_none() && other.is_none()
        || one.as_scalar().is_some_and(|number| Some(number) == other.as_scalar())
        || one.as_str().is_some_and(|text| Some(text) == other.as_str())
}

/// Leaves what a function returned as the results that the schema declares.
fn leave(call: &mut BoxedCall<'_>, schema: &FunctionSchema, result: &Bound<'_, PyAny>) -> Result<()> {
    let name = call.operator().name();
    let refused = |found: String, expected: &str| {
        Err(Error::new(
            ErrorKind::Value,
            format!("{name}: the kernel in Python returned {found}, expected {expected}"),
        ))
    };
    let class = || result.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string());
    let returned = |index: usize, object: &Bound<'_, PyAny>| {
        let subject = || match schema.returns.len() {
            1 => format!("{name}: result of the kernel in Python"),
            _ => format!("{name}: result {index} of the kernel in Python"),
        };
        read::returned(&schema.returns[index].real_type, object, subject)
    };
    match schema.returns.len() {
        0 if result.is_none() => Ok(()),
        0 => refused(class(), "None, because the schema has no results"),
        1 => {
            let value = returned(0, result)?;
            call.push(value);
            Ok(())
        }
        count => {
            let Some(items) = read::items(result) else {
                return refused(class(), &format!("a tuple of {count}"));
            };
            if items.len() != count {
                return refused(format!("{} results", items.len()), &format!("{count}"));
            }
            for (index, item) in items.iter().enumerate() {
                let value = returned(index, item)?;
                call.push(value);
            }
            Ok(())
        }
    }
}

#[cold]
fn without_schema(call: &BoxedCall<'_>) -> Error {
    let message = format!(
        "{}: a kernel in Python needs the operator's schema; define the operator",
        call.operator().name()
    );
    Error::new(ErrorKind::Schema, message)
}

/// The object of an operator, made once while nothing comes or goes.
fn overload_object(py: Python<'_>, operator: &OperatorHandle) -> Result<Py<OpOverload>> {
    type Known = (u64, HashMap<OperatorHandle, Py<OpOverload>>);
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let since = now();
    {
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, objects)) = known.as_ref().filter(|(known, _)| *known == since)
            && let Some(object) = objects.get(operator)
        {
            return Ok(object.clone_ref(py));
        }
    }
    let overload = Overload::of(dispatcher()?, operator.clone())?;
    let object = Py::new(py, OpOverload(Arc::new(overload))).map_err(carry)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    // What was made before the last change is dropped without the lock.
    let before = if known.as_ref().is_some_and(|(known, _)| *known == since) { None } else { known.take() };
    let (_, objects) = known.get_or_insert_with(|| (since, HashMap::new()));
    objects.insert(operator.clone(), object.clone_ref(py));
    drop(known);
    drop(before);
    Ok(object)
}
