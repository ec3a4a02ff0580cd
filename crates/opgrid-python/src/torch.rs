//! Operators that torch gets, and operators of torch: what `opgrid.torch` is made of.

use opgrid_torch::{Export, InTorch};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::operators::candidates::dispatcher;
use crate::registration::registrations::RegistrationObject;

/// Defines an operator in torch, under another name if one is given, without a kernel for meta tensors: its name there, the
/// name of the operator that computes gradients, and whether it is pointwise.
///
/// # Errors
///
/// As [`Export::register`].
#[pyfunction]
pub(crate) fn _export_to_torch(
    py: Python<'_>,
    operator: &str,
    name: Option<&str>,
    differentiable: bool,
) -> PyResult<(String, Option<String>, bool)> {
    let operator = dispatcher().or_raise(py)?.find(operator).or_raise(py)?;
    let mut export = Export::new(&operator).without_meta();
    if let Some(name) = name {
        export = export.named(name).or_raise(py)?;
    }
    if !differentiable {
        export = export.without_derivative();
    }
    // torch's registry has a lock, whose holder may wait for the interpreter's.
    let InTorch { name, derivative, pointwise, .. } =
        crate::collector::detached(py, || export.register()).or_raise(py)?;
    Ok((name, derivative, pointwise))
}

/// Defines an operator of ours that torch computes.
///
/// # Errors
///
/// As [`opgrid_torch::import`].
#[pyfunction]
pub(crate) fn _import_from_torch(py: Python<'_>, schema: &str, name: &str) -> PyResult<RegistrationObject> {
    let dispatcher = dispatcher().or_raise(py)?;
    let registration =
        crate::collector::detached(py, || opgrid_torch::import(dispatcher, schema, name)).or_raise(py)?;
    Ok(RegistrationObject::held(registration))
}
