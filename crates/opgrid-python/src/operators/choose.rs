//! Which of several overloads a call means.

use std::sync::Arc;

use opgrid::ValueRef;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::arguments::Arguments;
use super::call::{self, LentArguments, lend, places};
use super::messages;
use super::overload::{Overload, Style};
use crate::operators::candidates::Candidates;

/// Calls the first overload that takes the arguments.
///
/// # Errors
///
/// `TypeError` of functions and methods, `RuntimeError` of packets, where none does; those of the call.
pub(super) fn call(
    py: Python<'_>,
    name: &str,
    candidates: &Candidates,
    style: Style,
    arguments: &Arguments<'_, '_>,
) -> PyResult<Py<PyAny>> {
    if let Some(switched) = &candidates.switched
        && let Some(place) = arguments.keyword.iter().position(|(name, _)| **name == switched.keyword)
    {
        let mut others = arguments.clone();
        let (_, asked) = others.keyword.remove(place);
        let Ok(asked) = asked.cast::<PyBool>() else {
            return Err(messages::no_bool(py, name, switched.keyword, &asked));
        };
        let overloads = if asked.is_true() { &switched.overloads } else { &candidates.overloads };
        return among(py, name, overloads, &[], style, &others);
    }
    among(py, name, &candidates.overloads, &candidates.deprecated, style, arguments)
}

fn among(
    py: Python<'_>,
    name: &str,
    overloads: &[Arc<Overload>],
    deprecated: &[(Arc<Overload>, &'static [&'static str])],
    style: Style,
    arguments: &Arguments<'_, '_>,
) -> PyResult<Py<PyAny>> {
    if let ([only], []) = (overloads, deprecated) {
        return call_one(py, only, style, arguments);
    }
    for overload in overloads {
        places!(sources, overload.binder.count());
        if overload.place(arguments, style, sources).is_err() {
            continue;
        }
        let mut lent = LentArguments::new();
        if call::read(overload, style, sources, &mut lent)?.is_none() {
            return overload.formed(py, style, call::run(py, overload, &lent)?);
        }
    }
    for (overload, order) in deprecated {
        places!(sources, overload.binder.count());
        if !overload.place_in_order(order, arguments, style, sources) {
            continue;
        }
        let mut lent = LentArguments::new();
        if call::read(overload, style, sources, &mut lent)?.is_none() {
            let message = messages::deprecated(overload, style, order);
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
            return overload.formed(py, style, call::run(py, overload, &lent)?);
        }
    }
    Err(messages::no_overload(py, name, overloads, style, arguments))
}

/// Calls this overload and no other.
///
/// # Errors
///
/// As [`call`].
pub(crate) fn call_one(
    py: Python<'_>,
    overload: &Overload,
    style: Style,
    arguments: &Arguments<'_, '_>,
) -> PyResult<Py<PyAny>> {
    let result = with_bound(py, overload, style, arguments, |values| {
        call::make(py, &overload.handle, values, None, |handle, values, returns| {
            handle.call_boxed(values, returns)
        })
    })?;
    overload.formed(py, style, result)
}

/// Binds the arguments of a call to this overload and gives them to `body`.
///
/// # Errors
///
/// Where they do not fit; those of `body`.
pub(super) fn with_bound<X>(
    py: Python<'_>,
    overload: &Overload,
    style: Style,
    arguments: &Arguments<'_, '_>,
    body: impl FnOnce(&[ValueRef<'_>]) -> PyResult<X>,
) -> PyResult<X> {
    places!(sources, overload.binder.count());
    if let Err(misplaced) = overload.place(arguments, style, sources) {
        return Err(messages::misplaced(py, overload, style, arguments, &misplaced));
    }
    let mut lent = LentArguments::new();
    match call::read(overload, style, sources, &mut lent)? {
        None => lend!(lent, values => body(values)),
        Some(index) => Err(messages::misfit(py, overload, style, arguments, sources, index)),
    }
}
