//! Which of several overloads a call means.

use opgrid::ValueRef;
use pyo3::prelude::*;

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
    if let [only] = candidates.overloads.as_slice() {
        return call_one(py, only, style, arguments);
    }
    for overload in &candidates.overloads {
        places!(sources, overload.binder.count());
        if overload.place(arguments, style, sources).is_err() {
            continue;
        }
        let mut lent = LentArguments::new();
        if call::read(overload, style, sources, &mut lent)?.is_none() {
            return overload.formed(py, style, call::run(py, overload, &lent)?);
        }
    }
    Err(messages::no_overload(py, name, candidates, style, arguments))
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
