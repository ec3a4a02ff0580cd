//! Kernels written in Python: arguments as objects, the call, and what it returned as values of the schema's types.

use std::sync::{Arc, Mutex, PoisonError};

use opgrid::array::Storage;
use opgrid::dispatch::schema::FunctionSchema;
use opgrid::dispatch::{AnyTensor, Binder, BoxedCall, TensorType, ValueRef, ValueView};
use opgrid::layers::autograd::no_grad;
use opgrid::{Error, ErrorKind, Kernel, OperatorHandle, Result, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::SmallVec;

use crate::drop_attached::DropAttached;
use crate::errors::carry;
use crate::keys::KeySet;
use crate::operators::objects;
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
    let function = DropAttached::new(function);
    let known = Mutex::new(None);
    Kernel::boxed(move |call| {
        let Some(schema) = call.schema() else { return Err(without_schema(call)) };
        let writes = Writes::from_args(schema, call.args());
        let run = |call: &mut BoxedCall<'_>| {
            crate::collector::attached(|py| {
                let first = terms.with_keys.then(|| Py::new(py, KeySet(call.keys())).map(Py::into_any));
                let first = first.into_iter().collect::<PyResult<Vec<_>>>().map_err(carry)?;
                let binder = binder_for(py, &known, schema, call.operator());
                let (positional, keyword) =
                    as_objects(py, schema, call.args(), Some(&binder), first).map_err(carry)?;
                let result = function.bind(py).call(positional, keyword.as_ref()).map_err(carry)?;
                leave(call, schema, &result)?;
                if terms.fresh { refuse_aliases(call) } else { Ok(()) }
            })
        };
        // What has no memory of an argument is not recorded by what computes it, but by the call, so that the kernel may use numpy
        // where an argument requires a gradient.
        let done = if terms.fresh { no_grad(|| run(call)) } else { run(call) };
        writes.count();
        done
    })
}

/// The binder for a schema. An operator may be defined anew, with other arguments, while its kernel stays. With the
/// interpreter's lock nobody forks while a thread has that of the place.
fn binder_for(
    _py: Python<'_>,
    known: &Mutex<Option<Arc<Binder>>>,
    schema: &FunctionSchema,
    operator: &OperatorHandle,
) -> Arc<Binder> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        // The binder keeps its schema, so that the same address is the same schema.
        Some(binder) if std::ptr::eq(binder.schema(), schema) || binder.schema() == schema => binder.clone(),
        _ => {
            let current = operator.schema().ok().filter(|current| **current == *schema);
            let made = Arc::new(Binder::new(current.unwrap_or_else(|| Arc::new(schema.clone()))));
            *known = Some(made.clone());
            made
        }
    }
}

/// The arguments that a schema says are written, and how often they were before the call.
struct Writes(SmallVec<[(Tensor, u64); 1]>);

impl Writes {
    fn from_args(schema: &FunctionSchema, args: &[ValueRef<'_>]) -> Self {
        let mut found = SmallVec::new();
        let mut add = |tensor: &AnyTensor| {
            if let Some(tensor) = Tensor::from_any_ref(tensor).filter(|tensor| tensor.is_defined()) {
                found.push((tensor.clone(), tensor.version()));
            }
        };
        for (argument, value) in schema.arguments.iter().zip(args) {
            if argument.alias.as_ref().is_none_or(|alias| !alias.is_write) {
                continue;
            }
            match value.view() {
                ValueView::Tensor(tensor) => add(tensor),
                ValueView::Tensors(list) => list.iter().for_each(&mut add),
                ValueView::OptionalTensors(list) => list.iter().flatten().for_each(&mut add),
                _ => {}
            }
        }
        Self(found)
    }

    /// Counts the writes that nobody has seen: a kernel may write through numpy or a pointer.
    fn count(&self) {
        for (tensor, before) in &self.0 {
            if tensor.version() == *before
                && let Ok(array) = tensor.array()
            {
                array.storage().mark_written();
            }
        }
    }
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
    let function = DropAttached::new(function);
    Kernel::boxed(move |call| {
        crate::collector::attached(|py| {
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
    let operator = objects::overload(py, call.operator())?;
    let first = first.into_iter().chain([operator.into_any()]).collect();
    let (positional, keyword) = as_objects(py, schema, call.args(), None, first).map_err(carry)?;
    let result = function.call(positional, keyword.as_ref()).map_err(carry)?;
    leave(call, schema, &result)
}

/// What a provider's condition asks: whether `function` says of the arguments that the kernel runs.
pub(super) fn holds(function: &Py<PyAny>, args: &[ValueRef<'_>]) -> Result<bool> {
    crate::collector::attached(|py| {
        let objects = args.iter().map(|value| write::lent(py, *value)).collect::<PyResult<Vec<_>>>();
        let asked =
            objects.and_then(|objects| function.bind(py).call1(PyTuple::new(py, objects)?)?.is_truthy());
        asked.map_err(carry)
    })
}

/// The arguments as a tuple and a dict: those behind `*` by name; with a binder, defaults at the end are left out.
fn as_objects<'py>(
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
