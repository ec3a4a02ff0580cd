//! What `inspect.signature` tells of an overload: the schema as Python writes parameters.

use opgrid::dispatch::schema::Argument;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::overload::Overload;
use crate::values::write::lent;

/// An `inspect.Signature`, with the types of the schema as annotations and its defaults as objects.
///
/// # Errors
///
/// A default that has no object.
pub(super) fn signature<'py>(py: Python<'py>, overload: &Overload) -> PyResult<Bound<'py, PyAny>> {
    let inspect = py.import("inspect")?;
    let class = inspect.getattr("Parameter")?;
    let is_keyword = py.import("keyword")?.getattr("iskeyword")?;
    let parameters = PyList::empty(py);
    for (index, argument) in overload.schema().arguments.iter().enumerate() {
        let kind = if argument.kwarg_only { "KEYWORD_ONLY" } else { "POSITIONAL_OR_KEYWORD" };
        // `from` is a parameter of `random_`, and no name in Python.
        let name = if is_keyword.call1((&argument.name,))?.is_truthy()? {
            format!("{}_", argument.name)
        } else {
            argument.name.clone()
        };
        let details = PyDict::new(py);
        details.set_item("annotation", argument.real_type.to_string())?;
        if argument.default.is_some() {
            details.set_item("default", lent(py, overload.binder.default(index).borrow())?)?;
        }
        parameters.append(class.call((name, class.getattr(kind)?), Some(&details))?)?;
    }
    let details = PyDict::new(py);
    let returns: Vec<String> = overload.schema().returns.iter().map(declared).collect();
    let all = match returns.as_slice() {
        [only] => only.clone(),
        several => format!("({})", several.join(", ")),
    };
    details.set_item("return_annotation", all)?;
    // Schemas may have defaults in front of parameters without, which Python's own functions may not.
    details.set_item("__validate_parameters__", false)?;
    inspect.getattr("Signature")?.call((parameters,), Some(&details))
}

fn declared(result: &Argument) -> String {
    result.real_type.to_string()
}
