//! Which of several overloads a call means.

use std::sync::Arc;

use opgrid::dispatch::{Explanation, ValueRef};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::arguments::Arguments;
use super::call::{self, LentArguments, lend, places};
use super::messages;
use super::overload::{Overload, Style};
use super::plain::{self, Outcome};
use crate::errors::OrRaise;
use crate::operators::candidates::Candidates;

/// Calls the first overload that takes the arguments.
///
/// # Errors
///
/// `TypeError` of functions and methods, `RuntimeError` of packets, where none does; those of the call.
#[inline]
pub(super) fn call(
    py: Python<'_>,
    name: &str,
    candidates: &Candidates,
    style: Style,
    arguments: &Arguments<'_, '_>,
) -> PyResult<Py<PyAny>> {
    chosen(py, name, candidates, style, arguments, &|overload, lent| {
        overload.formed(py, style, arguments, call::run(py, overload, lent)?)
    })
}

/// Gives `body` the first overload that takes the arguments, and these.
///
/// # Errors
///
/// As [`call`], and those of `body`.
pub(super) fn chosen<X>(
    py: Python<'_>,
    name: &str,
    candidates: &Candidates,
    style: Style,
    arguments: &Arguments<'_, '_>,
    body: &impl Fn(&Overload, &LentArguments<'_>) -> PyResult<X>,
) -> PyResult<X> {
    if let Some(switched) = &candidates.switched
        && let Some(place) = arguments.keyword.iter().position(|(name, _)| **name == switched.keyword)
    {
        let mut others = arguments.clone();
        let (_, asked) = others.keyword.remove(place);
        let Ok(asked) = asked.cast::<PyBool>() else {
            return Err(messages::no_bool(py, name, switched.keyword, &asked));
        };
        let overloads = if asked.is_true() { &switched.overloads } else { &candidates.overloads };
        return among(py, name, overloads, &[], style, &others, body);
    }
    among(py, name, &candidates.overloads, &candidates.deprecated, style, arguments, body)
}

fn among<X>(
    py: Python<'_>,
    name: &str,
    overloads: &[Arc<Overload>],
    deprecated: &[(Arc<Overload>, &'static [&'static str])],
    style: Style,
    arguments: &Arguments<'_, '_>,
    body: &impl Fn(&Overload, &LentArguments<'_>) -> PyResult<X>,
) -> PyResult<X> {
    if let ([only], []) = (overloads, deprecated) {
        return with_lent(py, only, style, arguments, |lent| body(only, lent));
    }
    for overload in overloads {
        let mut lent = LentArguments::new();
        match plain::read(overload, style, arguments, &mut lent) {
            Outcome::Read => return body(overload, &lent),
            Outcome::Misfit => continue,
            Outcome::Unknown => {}
        }
        places!(sources, overload.binder.count());
        if overload.place(arguments, style, sources).is_err() {
            continue;
        }
        let mut lent = LentArguments::new();
        if call::read(overload, style, sources, &mut lent)?.is_none() {
            return body(overload, &lent);
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
            return body(overload, &lent);
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
    overload.formed(py, style, arguments, result)
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
    with_lent(py, overload, style, arguments, |lent| lend!(lent, values => body(values)))
}

fn with_lent<X>(
    py: Python<'_>,
    overload: &Overload,
    style: Style,
    arguments: &Arguments<'_, '_>,
    body: impl FnOnce(&LentArguments<'_>) -> PyResult<X>,
) -> PyResult<X> {
    let mut lent = LentArguments::new();
    if plain::read(overload, style, arguments, &mut lent) == Outcome::Read {
        return body(&lent);
    }
    places!(sources, overload.binder.count());
    if let Err(misplaced) = overload.place(arguments, style, sources) {
        return Err(messages::misplaced(py, overload, style, arguments, &misplaced));
    }
    let mut lent = LentArguments::new();
    match call::read(overload, style, sources, &mut lent)? {
        None => body(&lent),
        Some(index) => Err(messages::misfit(py, overload, style, arguments, sources, index)),
    }
}

/// Why a call of the first overload that takes the arguments would run the kernels that it runs.
///
/// # Errors
///
/// As [`call`], without those of kernels.
pub(super) fn explain(
    py: Python<'_>,
    name: &str,
    candidates: &Candidates,
    style: Style,
    arguments: &Arguments<'_, '_>,
) -> PyResult<Explanation> {
    chosen(
        py,
        name,
        candidates,
        style,
        arguments,
        &|overload, lent| lend!(lent, values => overload.handle.explain(values).or_raise(py)),
    )
}
