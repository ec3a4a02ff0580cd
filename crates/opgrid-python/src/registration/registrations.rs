//! One registration at a time, each undone when its object goes.

use std::sync::{Mutex, PoisonError};

use opgrid::dispatch::{Kind, Place};
use opgrid::{ErrorKind, Kernel, Library, Registration};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::kernel::{self, Terms};
use crate::drop_attached::DropAttached;
use crate::errors::{OrRaise, new};
use crate::keys::Key;
use crate::operators::candidates::dispatcher;

/// Something that is registered, until `drop()` is called or nobody holds it any more.
#[pyclass(name = "Registration", module = "opgrid", frozen, weakref)]
pub(crate) struct RegistrationObject(Mutex<Option<Registration>>);

impl RegistrationObject {
    pub(crate) fn from_library(py: Python<'_>, library: Library) -> PyResult<Self> {
        // Others may hold the registry's lock and wait for the interpreter's to warn of what they replace.
        Ok(Self::held(crate::collector::detached(py, || library.finish()).or_raise(py)?))
    }

    pub(crate) fn held(registration: Registration) -> Self {
        Self(Mutex::new(Some(registration)))
    }

    fn take(&self) -> Option<Registration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl RegistrationObject {
    /// Undoes it.
    fn drop(&self) {
        drop(self.take());
    }

    /// Keeps it for as long as the process runs.
    fn keep(&self) {
        if let Some(registration) = self.take() {
            registration.keep();
        }
    }
}

/// Where something stands in Python's sources.
pub(crate) type At = (String, u32);

pub(crate) fn place((file, line): &At) -> Place {
    Place::new(file, *line)
}

/// Takes a namespace, which one library at a time can.
#[pyfunction]
pub(crate) fn claim(py: Python<'_>, namespace: &str, at: At) -> PyResult<RegistrationObject> {
    let mut library = dispatcher().or_raise(py)?.library(namespace);
    library.stands_at(place(&at));
    RegistrationObject::from_library(py, library)
}

/// Defines an operator in a namespace.
#[pyfunction]
#[pyo3(signature = (namespace, schema, at, *, tags=vec![], kind=None, conservative=false, documentation=String::new()))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn define(
    py: Python<'_>,
    namespace: &str,
    schema: &str,
    at: At,
    tags: Vec<String>,
    kind: Option<&str>,
    conservative: bool,
    documentation: String,
) -> PyResult<RegistrationObject> {
    let mut library = dispatcher().or_raise(py)?.fragment(namespace);
    library.stands_at(place(&at));
    let mut operator = library.define(schema).document(documentation);
    for tag in &tags {
        operator = operator.tag(tag);
    }
    if conservative {
        operator = operator.alias_analysis(Some(opgrid::dispatch::schema::AliasAnalysis::Conservative));
    }
    if let Some(kind) = kind {
        operator = operator.column(kind_named(py, kind)?);
    }
    let _ = operator;
    RegistrationObject::from_library(py, library)
}

/// The kind of that name among those that operators are of.
fn kind_named(py: Python<'_>, name: &str) -> PyResult<Kind> {
    let mut known = Vec::new();
    for operator in dispatcher().or_raise(py)?.operators() {
        let Ok(Some(own)) = operator.column::<Kind>() else { continue };
        let mut kind = Some(&*own);
        while let Some(found) = kind {
            if found.name() == name {
                return Ok(found.clone());
            }
            known.push(found.name().to_owned());
            kind = found.parent();
        }
    }
    known.sort();
    known.dedup();
    let message = format!("unknown kind `{name}`; the kinds are {}", known.join(", "));
    Err(new(py, ErrorKind::Unknown, &message))
}

/// Gives an operator a kernel for a key.
#[pyfunction]
#[pyo3(signature = (name, key, function, at, *, with_keys=false, provider=None, condition=None, condition_text="its condition holds", may_replace=false, fresh=false))]
#[allow(clippy::too_many_arguments, reason = "all but three are options, given by name")]
pub(crate) fn implement(
    py: Python<'_>,
    name: &str,
    key: Option<Key>,
    function: Py<PyAny>,
    at: At,
    with_keys: bool,
    provider: Option<&str>,
    condition: Option<Py<PyAny>>,
    condition_text: &str,
    may_replace: bool,
    fresh: bool,
) -> PyResult<RegistrationObject> {
    let namespace = name.split_once("::").map_or("", |(namespace, _)| namespace);
    let mut library = dispatcher().or_raise(py)?.fragment(namespace);
    library.stands_at(place(&at));
    if may_replace {
        library.allow_override();
    }
    let mut kernel =
        kernel_of(py, &function, |function| kernel::of_function(function, Terms { with_keys, fresh }))?;
    if let Some(provider) = provider {
        kernel = kernel.named(provider);
    }
    if let Some(condition) = condition {
        let condition = DropAttached::new(condition);
        kernel = kernel.when(condition_text, move |args| kernel::holds(&condition, args));
    }
    if let Some(key) = key {
        kernel = kernel.at(key.0);
    }
    let _ = library.implement(name).add(kernel);
    RegistrationObject::from_library(py, library)
}

/// Gives all operators without a kernel for a key this one.
#[pyfunction]
#[pyo3(signature = (key, function, at, *, with_keys=false, may_replace=false))]
pub(crate) fn fallback(
    py: Python<'_>,
    key: Key,
    function: Py<PyAny>,
    at: At,
    with_keys: bool,
    may_replace: bool,
) -> PyResult<RegistrationObject> {
    let mut library = dispatcher().or_raise(py)?.implementations("_", key.0);
    library.stands_at(place(&at));
    if may_replace {
        library.allow_override();
    }
    library.fallback(kernel_of(py, &function, |function| kernel::of_fallback(function, with_keys))?);
    RegistrationObject::from_library(py, library)
}

/// A kernel of a function; `None` falls through.
fn kernel_of(
    py: Python<'_>,
    function: &Py<PyAny>,
    make: impl FnOnce(Py<PyAny>) -> Kernel,
) -> PyResult<Kernel> {
    if function.is_none(py) {
        return Ok(Kernel::fallthrough());
    }
    if !function.bind(py).is_callable() {
        let found = function.bind(py).get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "Input function is required to be a callable, but found type {found}"
        )));
    }
    Ok(make(function.clone_ref(py)))
}
