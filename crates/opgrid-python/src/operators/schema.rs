//! Schemas as objects: the operator's name, its arguments and its results.

use opgrid::dispatch::schema::{Argument, FunctionSchema};
use pyo3::prelude::*;

/// A schema.
#[pyclass(name = "FunctionSchema", module = "opgrid", frozen, eq)]
#[derive(Clone, PartialEq)]
pub(crate) struct Schema(pub(super) FunctionSchema);

/// An argument or a result in a schema.
#[pyclass(name = "Argument", module = "opgrid", frozen)]
pub(crate) struct SchemaArgument(Argument);

#[pymethods]
impl Schema {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name.name
    }

    #[getter]
    fn overload_name(&self) -> &str {
        &self.0.name.overload
    }

    #[getter]
    fn arguments(&self) -> Vec<SchemaArgument> {
        self.0.arguments.iter().cloned().map(SchemaArgument).collect()
    }

    #[getter]
    fn returns(&self) -> Vec<SchemaArgument> {
        self.0.returns.iter().cloned().map(SchemaArgument).collect()
    }

    /// Whether an argument is written.
    #[getter]
    fn is_mutable(&self) -> bool {
        self.0.arguments.iter().any(|argument| argument.alias.as_ref().is_some_and(|alias| alias.is_write))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

#[pymethods]
impl SchemaArgument {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The type as schemas write it.
    #[getter(r#type)]
    fn declared(&self) -> String {
        self.0.real_type.to_string()
    }

    #[getter]
    fn kwarg_only(&self) -> bool {
        self.0.kwarg_only
    }

    fn has_default_value(&self) -> bool {
        self.0.default.is_some()
    }

    /// Whether a call writes it.
    #[getter]
    fn is_write(&self) -> bool {
        self.0.alias.as_ref().is_some_and(|alias| alias.is_write)
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}
