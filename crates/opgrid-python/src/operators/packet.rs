//! What `og.ops.aten.add` and `og.ops.aten.add.Tensor` are.

use std::sync::Arc;

use opgrid::schema::OperatorName;
use opgrid::{OperatorHandle, ValueRef};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::arguments::Arguments;
use super::candidates::{Candidates, dispatcher};
use super::functions::{self, Caller, documentation};
use super::overload::{Overload, Style};
use super::schema::Schema;
use super::signature::signature;
use super::{call, choose};
use crate::errors::{OrRaise, guarded};
use crate::keys::{Key, KeySet};

// All overloads of a name, called by `og.ops.<namespace>.<name>(...)`. (Its objects describe themselves: a text of the
// class would stand before theirs.)
#[pyclass(name = "OpOverloadPacket", module = "opgrid", frozen, dict, weakref)]
pub(crate) struct Packet(Caller);

// One overload, called by `og.ops.<namespace>.<name>.<overload>(...)`.
#[pyclass(name = "OpOverload", module = "opgrid", frozen, dict, weakref)]
pub(crate) struct OpOverload(pub(crate) Arc<Overload>);

/// The packet of a name such as `aten::add`.
///
/// # Errors
///
/// `AttributeError` where there is no such operator.
#[pyfunction]
pub(crate) fn packet(py: Python<'_>, name: &str) -> PyResult<Packet> {
    let packet = Packet(Caller::new(name, Style::Packet));
    if packet.0.candidates(py)?.get().overloads.is_empty() {
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
pub(crate) fn overload_named(py: Python<'_>, name: &str) -> PyResult<OpOverload> {
    let dispatcher = dispatcher().or_raise(py)?;
    let found = dispatcher.find(name).and_then(|handle| Overload::of(dispatcher, handle));
    found.or_raise(py).map(|found| OpOverload(Arc::new(found)))
}

/// The overloads that functions or methods of a name try, in their order.
#[pyfunction]
pub(crate) fn function_overloads(py: Python<'_>, name: &str, method: bool) -> PyResult<Vec<OpOverload>> {
    let style = if method { Style::Method } else { Style::Function };
    let candidates = functions::caller(name, style).candidates(py)?;
    Ok(candidates.get().overloads.iter().cloned().map(OpOverload).collect())
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
        let arguments = Arguments::of(None, args, kwargs)?;
        guarded(py, || self.0.call(py, &arguments.borrow()))
    }

    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let wanted = if name == DEFAULT { "" } else { name };
        let candidates = slf.get().candidates(py)?;
        let found = candidates.get().overloads.iter().find(|it| it.schema().name.overload == wanted);
        match found {
            Some(found) => Ok(Bound::new(py, OpOverload(found.clone()))?.into_any()),
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

    fn __repr__(&self) -> String {
        format!("<OpOverloadPacket(op='{}')>", self.0.full_name().replace("::", "."))
    }
}

impl OpOverload {
    fn handle(&self) -> &OperatorHandle {
        &self.0.handle
    }

    /// Binds the arguments of a call and gives them to `body`.
    pub(crate) fn with_bound<X>(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
        body: impl FnOnce(&[ValueRef<'_>]) -> PyResult<X>,
    ) -> PyResult<X> {
        let arguments = Arguments::of(None, args, kwargs)?;
        choose::with_bound(py, &self.0, Style::Packet, &arguments.borrow(), body)
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
        let arguments = Arguments::of(None, args, kwargs)?;
        guarded(py, || choose::call_one(py, &self.0, Style::Packet, &arguments.borrow()))
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
            self.with_bound(py, args, kwargs, |values| {
                call::make(py, self.handle(), values, Some(keys.0), |handle, values, returns| {
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
            self.with_bound(py, args, kwargs, |values| {
                call::make(py, self.handle(), values, Some(key.0.key_set()), |handle, values, returns| {
                    handle.call_boxed_for_key(key.0, values, returns)
                })
            })
        })
    }

    /// Why a call runs the kernels that it runs, as text and as JSON, without the call being made.
    #[pyo3(signature = (*args, **kwargs))]
    fn _explain(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(String, String)> {
        self.with_bound(py, args, kwargs, |values| {
            let explanation = self.handle().explain(values).or_raise(py)?;
            Ok((explanation.to_string(), explanation.to_json().to_string()))
        })
    }

    /// The keys that a call with these arguments goes by, on this thread.
    #[pyo3(signature = (*args, **kwargs))]
    fn keys(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<KeySet> {
        self.with_bound(py, args, kwargs, |values| {
            let keys =
                values.iter().fold(opgrid::DispatchKeySet::EMPTY, |keys, value| keys | value.tensor_keys());
            self.handle().effective_keys(keys).or_raise(py).map(KeySet)
        })
    }

    /// The full name, as in `aten::add.Tensor`.
    fn name(&self) -> String {
        self.handle().name().to_string()
    }

    #[getter]
    fn __name__(&self) -> String {
        let name = &self.0.schema().name;
        format!("{}.{}", name.base(), self.overload_name())
    }

    #[getter]
    fn namespace(&self) -> &str {
        self.0.schema().name.namespace().unwrap_or_default()
    }

    #[getter(_overloadname)]
    fn overload_name(&self) -> &str {
        let overload = &self.0.schema().name.overload;
        if overload.is_empty() { DEFAULT } else { overload }
    }

    #[getter]
    fn _schema(&self) -> Schema {
        Schema(self.0.schema().clone())
    }

    /// Whether numbers stand where the schema says tensors.
    #[getter]
    fn takes_numbers(&self) -> bool {
        self.0.takes_numbers
    }

    #[getter]
    fn overloadpacket(&self, py: Python<'_>) -> PyResult<Packet> {
        packet(py, &self.0.schema().name.name)
    }

    #[getter]
    fn tags(&self) -> Vec<String> {
        self.handle().tags()
    }

    /// Whether the result is a view of an argument, and nothing is written.
    #[getter]
    fn is_view(&self) -> bool {
        let schema = self.0.schema();
        let mut aliases = schema.arguments.iter().filter_map(|argument| argument.alias.as_ref()).peekable();
        aliases.peek().is_some() && aliases.all(|alias| !alias.is_write)
    }

    /// Whether a kernel is registered for exactly this key.
    fn has_kernel_for_dispatch_key(&self, key: Key) -> bool {
        self.handle().has_kernel_for(key.0)
    }

    /// Whether the operator is still registered.
    fn is_registered(&self) -> bool {
        self.handle().has_schema()
    }

    /// What is registered for the operator.
    fn dump(&self, py: Python<'_>) -> PyResult<String> {
        self.handle().dump_state().or_raise(py)
    }

    /// The computed table, a line for each key that has a kernel.
    fn dump_table(&self, py: Python<'_>) -> PyResult<String> {
        self.handle().dump_computed_table().or_raise(py)
    }

    /// For `inspect.signature`.
    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        signature(py, &self.0)
    }

    #[getter]
    fn __doc__(&self) -> String {
        self.0.documentation()
    }

    fn __repr__(&self) -> String {
        let name = &self.0.schema().name;
        format!(
            "<OpOverload(op='{}.{}', overload='{}')>",
            self.namespace(),
            name.base(),
            self.overload_name()
        )
    }

    fn __str__(&self) -> String {
        let name = &self.0.schema().name;
        format!("{}.{}.{}", self.namespace(), name.base(), self.overload_name())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().handle() == self.handle())
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.handle().hash(&mut hasher);
        hasher.finish()
    }
}
