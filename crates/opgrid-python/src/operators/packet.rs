//! What `og.ops.aten.add` and `og.ops.aten.add.Tensor` are.

use std::sync::Arc;

use opgrid::OperatorHandle;
use opgrid::dispatch::schema::{FunctionSchema, OperatorName};
use opgrid::dispatch::{Explanation, ValueRef, record_calls};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::arguments::Arguments;
use super::candidates::{Candidates, current_generation, dispatcher};
use super::functions::{self, Caller, documentation};
use super::objects;
use super::overload::{Overload, Style};
use super::schema::Schema;
use super::signature::signature;
use super::{call, choose};
use crate::errors::{OrRaise, guarded};
use crate::gil_cell::GilCell;
use crate::keys::{Key, KeySet};

// All overloads of a name, called by `og.ops.<namespace>.<name>(...)`. (Its objects describe themselves: a text of the
// class would stand before theirs.)
#[pyclass(name = "OpOverloadPacket", module = "opgrid", frozen, dict, weakref)]
pub(crate) struct Packet(Caller);

// One overload, called by `og.ops.<namespace>.<name>.<overload>(...)`.
#[pyclass(name = "OpOverload", module = "opgrid", frozen, dict, weakref)]
pub(crate) struct OpOverload {
    /// With namespace and overload, as in `aten::add.Tensor`.
    name: String,
    current: GilCell<Current>,
}

/// What is registered under an overload's name.
#[pyclass(module = "opgrid", frozen)]
pub(crate) struct Current {
    overload: Arc<Overload>,
    /// When it was found.
    since: u64,
}

impl Current {
    pub(crate) fn overload(&self) -> &Arc<Overload> {
        &self.overload
    }

    fn handle(&self) -> &OperatorHandle {
        &self.overload.handle
    }

    fn schema(&self) -> &FunctionSchema {
        self.overload.schema()
    }
}

/// The packet of a name such as `aten::add`.
///
/// # Errors
///
/// `AttributeError` where there is no such operator.
#[pyfunction]
pub(crate) fn packet(py: Python<'_>, name: &str) -> PyResult<Py<Packet>> {
    let packet = objects::packet(py, name)?;
    if packet.get().candidates(py)?.get().overloads.is_empty() {
        let (namespace, name) = name.split_once("::").unwrap_or(("", name));
        let message = format!("'_OpNamespace' '{namespace}' object has no attribute '{name}'");
        return Err(PyAttributeError::new_err(message));
    }
    Ok(packet)
}

/// The overload of a full name such as `aten::add.Tensor`.
///
/// # Errors
///
/// Where there is no such operator.
#[pyfunction]
pub(crate) fn overload_named(py: Python<'_>, name: &str) -> PyResult<Py<OpOverload>> {
    // Found anew, also where the object is there: operators come and go.
    let handle = dispatcher().or_raise(py)?.find(name).or_raise(py)?;
    objects::overload(py, &handle).or_raise(py)
}

/// The overloads that functions or methods of a name try, in their order.
#[pyfunction]
pub(crate) fn function_overloads(py: Python<'_>, name: &str, method: bool) -> PyResult<Vec<Py<OpOverload>>> {
    let style = if method { Style::Method } else { Style::Function };
    let candidates = functions::caller(name, style).candidates(py)?;
    let overloads = &candidates.get().overloads;
    overloads.iter().map(|overload| objects::overload(py, &overload.handle).or_raise(py)).collect()
}

/// Why a call of a function or method runs the kernels that it runs: see [`Explained`].
#[pyfunction]
#[pyo3(signature = (_called, _name, _is_method, /, *args, **kwargs))]
pub(crate) fn _explain_function(
    py: Python<'_>,
    _called: Option<&Bound<'_, PyAny>>,
    _name: &str,
    _is_method: bool,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<Explained> {
    let style = if _is_method { Style::Method } else { Style::Function };
    let caller = functions::caller(_name, style);
    let arguments = Arguments::from_args(None, args, kwargs)?;
    let explanation = guarded(py, || {
        choose::explain(py, caller.name(), caller.candidates(py)?.get(), style, &arguments.borrow())
    })?;
    explained(py, explanation, _called, args, kwargs)
}

/// An explanation as text and as JSON, and the result of the call if it was made.
type Explained = (String, String, Option<Py<PyAny>>);

/// Writes an explanation. If `called` is given, it is called with the arguments, and the kernels are those that ran; an
/// exception of the call has the explanation as a note.
fn explained(
    py: Python<'_>,
    explanation: Explanation,
    called: Option<&Bound<'_, PyAny>>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<Explained> {
    let Some(called) = called else {
        return Ok((explanation.to_string(), explanation.to_json().to_string(), None));
    };
    let (result, steps) = record_calls(|| called.call(args, kwargs));
    let explanation = explanation.with_steps(steps);
    let text = explanation.to_string();
    match result {
        Ok(result) => Ok((text, explanation.to_json().to_string(), Some(result.unbind()))),
        Err(raised) => {
            raised.value(py).call_method1("add_note", (text,))?;
            Err(raised)
        }
    }
}

/// The names of operators, of one namespace or of all, with their overloads.
#[pyfunction]
#[pyo3(signature = (namespace=None))]
pub(crate) fn operator_names(py: Python<'_>, namespace: Option<&str>) -> PyResult<Vec<String>> {
    let names = dispatcher().or_raise(py)?.names();
    let wanted = |name: &&OperatorName| namespace.is_none_or(|it| name.namespace() == Some(it));
    Ok(names.iter().filter(wanted).map(ToString::to_string).collect())
}

/// Whether an overload of that full name is defined.
#[pyfunction]
pub(crate) fn is_defined(py: Python<'_>, name: &str) -> PyResult<bool> {
    let handle = dispatcher().or_raise(py)?.find(name);
    Ok(handle.is_ok_and(|handle| handle.has_schema()))
}

impl Packet {
    pub(super) fn new(name: &str) -> Self {
        Self(Caller::new(name, Style::Packet))
    }

    fn candidates(&self, py: Python<'_>) -> PyResult<Py<Candidates>> {
        self.0.candidates(py)
    }
}

/// What Python calls an overload without a name.
const DEFAULT: &str = "default";

#[pymethods]
impl Packet {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let arguments = Arguments::from_args(None, args, kwargs)?;
        guarded(py, || self.0.call(py, &arguments.borrow()))
    }

    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let wanted = if name == DEFAULT { "" } else { name };
        let candidates = slf.get().candidates(py)?;
        let found = candidates.get().overloads.iter().find(|it| it.schema().name.overload == wanted);
        match found {
            Some(found) => Ok(objects::overload(py, &found.handle).or_raise(py)?.into_bound(py).into_any()),
            None => {
                let full = slf.get().0.full_name();
                let message = format!(
                    "The underlying op of '{}' has no overload name '{name}'",
                    full.replace("::", ".")
                );
                Err(PyAttributeError::new_err(message))
            }
        }
    }

    /// Why a call runs the kernels that it runs: see [`Explained`].
    #[pyo3(signature = (_called, /, *args, **kwargs))]
    fn _explain(
        &self,
        py: Python<'_>,
        _called: Option<&Bound<'_, PyAny>>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Explained> {
        let arguments = Arguments::from_args(None, args, kwargs)?;
        let explanation = guarded(py, || {
            let candidates = self.candidates(py)?;
            choose::explain(py, self.0.full_name(), candidates.get(), Style::Packet, &arguments.borrow())
        })?;
        explained(py, explanation, _called, args, kwargs)
    }

    /// The names of the overloads.
    fn overloads(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let name = |overload: &Arc<Overload>| match overload.schema().name.overload.as_str() {
            "" => DEFAULT.to_owned(),
            name => name.to_owned(),
        };
        Ok(self.candidates(py)?.get().overloads.iter().map(name).collect())
    }

    fn __dir__(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut names = self.overloads(py)?;
        names.extend(["overloads", "__name__", "__doc__"].map(str::to_owned));
        Ok(names)
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let names = slf.get().overloads(slf.py())?;
        Ok(names.into_pyobject(slf.py())?.try_iter()?.into_any().unbind())
    }

    #[getter]
    fn __name__(&self) -> &str {
        self.0.name()
    }

    /// For `inspect.signature`: that of the only overload. Several have none in common.
    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.candidates(py)?.get().overloads.as_slice() {
            [only] => signature(py, only).map(Some),
            _ => Ok(None),
        }
    }

    #[getter]
    fn __doc__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(documentation(self.candidates(py)?.get(), Style::Packet))
    }

    #[getter]
    fn _qualified_op_name(&self) -> &str {
        self.0.full_name()
    }

    fn __str__(&self) -> String {
        self.0.full_name().replace("::", ".")
    }

    /// The object of the same name.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&str,))> {
        Ok((of_module(py, "packet")?, (self.0.full_name(),)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<OpOverloadPacket(op='{}')>", self.0.full_name().replace("::", "."))
    }
}

/// A function of this module.
fn of_module<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("opgrid._opgrid")?.getattr(name)
}

impl OpOverload {
    /// # Errors
    ///
    /// No memory for it.
    pub(super) fn new(py: Python<'_>, name: &str, overload: Overload) -> PyResult<Self> {
        // Looked at again with the first use, should something have been registered meanwhile.
        let found = Current { overload: Arc::new(overload), since: u64::MAX };
        let current = GilCell::new();
        current.set(py, Py::new(py, found)?);
        Ok(Self { name: name.to_owned(), current })
    }

    /// Whether the operator is registered.
    pub(super) fn is_there(&self) -> bool {
        dispatcher().and_then(|dispatcher| dispatcher.find(&self.name)).is_ok_and(|it| it.has_schema())
    }

    /// What is registered under the name now; what was last, where nothing is.
    ///
    /// # Errors
    ///
    /// As [`dispatcher`].
    #[inline]
    pub(crate) fn current(&self, py: Python<'_>) -> PyResult<Py<Current>> {
        match self.current.get(py) {
            Some(known) if known.get().since == current_generation() => Ok(known),
            known => self.find(py, known),
        }
    }

    #[cold]
    fn find(&self, py: Python<'_>, known: Option<Py<Current>>) -> PyResult<Py<Current>> {
        // Before looking: what comes meanwhile is looked for again.
        let since = current_generation();
        let dispatcher = dispatcher().or_raise(py)?;
        let before = known.as_ref().map(|known| known.get().overload.clone());
        let found = dispatcher.find(&self.name).and_then(|handle| {
            let schema = handle.schema()?;
            match &before {
                Some(before) if before.handle == handle && *before.schema() == *schema => Ok(before.clone()),
                _ => Overload::from_handle(dispatcher, handle).map(Arc::new),
            }
        });
        let overload = match (found, before) {
            (Ok(overload), _) | (Err(_), Some(overload)) => overload,
            (Err(error), None) => return Err(crate::errors::exception(py, &error)),
        };
        let current = Py::new(py, Current { overload, since })?;
        self.current.set(py, current.clone_ref(py));
        Ok(current)
    }

    /// Binds the arguments of a call and gives them to `body`.
    pub(crate) fn with_bound<X>(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
        body: impl FnOnce(&OperatorHandle, &[ValueRef<'_>]) -> PyResult<X>,
    ) -> PyResult<X> {
        let current = self.current(py)?;
        let overload = current.get().overload();
        let arguments = Arguments::from_args(None, args, kwargs)?;
        choose::with_bound(py, overload, Style::Packet, &arguments.borrow(), |values| {
            body(&overload.handle, values)
        })
    }
}

#[pymethods]
impl OpOverload {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let arguments = Arguments::from_args(None, args, kwargs)?;
        guarded(py, || {
            choose::call_one(py, self.current(py)?.get().overload(), Style::Packet, &arguments.borrow())
        })
    }

    /// Calls the operator with exactly these keys.
    #[pyo3(signature = (keys, /, *args, **kwargs))]
    fn redispatch(
        &self,
        py: Python<'_>,
        keys: KeySet,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        guarded(py, || {
            self.with_bound(py, args, kwargs, |handle, values| {
                call::make(py, handle, values, Some(keys.0), |handle, values, returns| {
                    handle.redispatch_boxed(keys.0, values, returns)
                })
            })
        })
    }

    /// Calls the kernel registered for a key, whatever the table says.
    #[pyo3(signature = (key, /, *args, **kwargs))]
    fn call_for_key(
        &self,
        py: Python<'_>,
        key: Key,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        guarded(py, || {
            self.with_bound(py, args, kwargs, |handle, values| {
                call::make(py, handle, values, Some(key.0.key_set()), |handle, values, returns| {
                    handle.call_boxed_for_key(key.0, values, returns)
                })
            })
        })
    }

    /// Why a call runs the kernels that it runs: see [`Explained`].
    #[pyo3(signature = (_called, /, *args, **kwargs))]
    fn _explain(
        &self,
        py: Python<'_>,
        _called: Option<&Bound<'_, PyAny>>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Explained> {
        let explanation =
            self.with_bound(py, args, kwargs, |handle, values| handle.explain(values).or_raise(py))?;
        explained(py, explanation, _called, args, kwargs)
    }

    /// The keys that a call with these arguments goes by, on this thread.
    #[pyo3(signature = (*args, **kwargs))]
    fn keys(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<KeySet> {
        self.with_bound(py, args, kwargs, |handle, values| {
            let keys =
                values.iter().fold(opgrid::DispatchKeySet::EMPTY, |keys, value| keys | value.tensor_keys());
            handle.effective_keys(keys).or_raise(py).map(KeySet)
        })
    }

    /// The full name, as in `aten::add.Tensor`.
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn __name__(&self) -> String {
        let (_, base, overload) = self.parts();
        format!("{base}.{overload}")
    }

    #[getter]
    fn namespace(&self) -> &str {
        self.parts().0
    }

    #[getter(_overloadname)]
    fn overload_name(&self) -> &str {
        self.parts().2
    }

    #[getter]
    fn _schema(&self, py: Python<'_>) -> PyResult<Schema> {
        Ok(Schema(self.current(py)?.get().schema().clone()))
    }

    /// Whether numbers stand where the schema says tensors.
    #[getter]
    fn takes_numbers(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.current(py)?.get().overload.takes_numbers)
    }

    #[getter]
    fn overloadpacket(&self, py: Python<'_>) -> PyResult<Py<Packet>> {
        packet(py, self.name.split('.').next().unwrap_or_default())
    }

    #[getter]
    fn tags(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.current(py)?.get().handle().tags())
    }

    /// Whether the result is a view of an argument, and nothing is written.
    #[getter]
    fn is_view(&self, py: Python<'_>) -> PyResult<bool> {
        let current = self.current(py)?;
        let schema = current.get().schema();
        let mut aliases = schema.arguments.iter().filter_map(|argument| argument.alias.as_ref()).peekable();
        Ok(aliases.peek().is_some() && aliases.all(|alias| !alias.is_write))
    }

    /// Whether a kernel is registered for exactly this key.
    fn has_kernel_for_dispatch_key(&self, py: Python<'_>, key: Key) -> PyResult<bool> {
        Ok(self.current(py)?.get().handle().has_kernel_for(key.0))
    }

    /// Whether the operator is still registered.
    fn is_registered(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.current(py)?.get().handle().has_schema())
    }

    /// What is registered for the operator.
    fn dump(&self, py: Python<'_>) -> PyResult<String> {
        self.current(py)?.get().handle().dump_state().or_raise(py)
    }

    /// The computed table, a line for each key that has a kernel.
    fn dump_table(&self, py: Python<'_>) -> PyResult<String> {
        self.current(py)?.get().handle().dump_computed_table().or_raise(py)
    }

    /// For `inspect.signature`.
    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        signature(py, self.current(py)?.get().overload())
    }

    #[getter]
    fn __doc__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.current(py)?.get().overload.documentation())
    }

    fn __repr__(&self) -> String {
        let (namespace, base, overload) = self.parts();
        format!("<OpOverload(op='{namespace}.{base}', overload='{overload}')>")
    }

    fn __str__(&self) -> String {
        let (namespace, base, overload) = self.parts();
        format!("{namespace}.{base}.{overload}")
    }

    /// The object of the same name.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&str,))> {
        Ok((of_module(py, "overload_named")?, (&self.name,)))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }
}

impl OpOverload {
    /// Namespace, name and overload.
    fn parts(&self) -> (&str, &str, &str) {
        let (namespace, rest) = self.name.split_once("::").unwrap_or(("", &self.name));
        let (base, overload) = rest.split_once('.').unwrap_or((rest, DEFAULT));
        (namespace, base, overload)
    }
}
