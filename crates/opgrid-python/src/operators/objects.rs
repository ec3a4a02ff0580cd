//! One Python object for each overload and each packet, wherever it comes from: `og.ops`, a handler, an explanation, a pickle.
//!
//! This is the only place that makes them, and they stay as long as their operator does or somebody holds them. Operators come
//! and go: an object follows its name, to whatever is registered under it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opgrid::{OperatorHandle, Result};
use pyo3::prelude::*;

use super::candidates::{current_generation, dispatcher};
use super::overload::Overload;
use super::packet::{OpOverload, Packet};
use crate::errors::carry;

/// The objects by full names, and overloads by their handles while nothing is registered.
#[derive(Default)]
struct Objects {
    overloads: HashMap<String, Py<OpOverload>>,
    packets: HashMap<String, Py<Packet>>,
    handles: HashMap<OperatorHandle, Py<OpOverload>>,
    since: u64,
    /// How many there may be before those of operators that are gone are looked for.
    limit: usize,
}

/// The lock is held only where no Python code runs: objects are made and dropped outside of it.
fn objects() -> MutexGuard<'static, Option<Objects>> {
    static OBJECTS: Mutex<Option<Objects>> = Mutex::new(None);
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The object of an overload that is being called or was found in the registry.
///
/// # Errors
///
/// The operator is gone.
#[expect(clippy::mutable_key_type, reason = "handles are hashed and compared by their address")]
pub(crate) fn overload(py: Python<'_>, operator: &OperatorHandle) -> Result<Py<OpOverload>> {
    let since = current_generation();
    if let Some(known) = objects().as_ref().filter(|known| known.since == since)
        && let Some(object) = known.handles.get(operator)
    {
        return Ok(object.clone_ref(py));
    }
    let object = overload_named(py, &operator.name().to_string(), || Ok(operator.clone()))?;
    let before = {
        let mut objects = objects();
        let known = objects.get_or_insert_default();
        // What was found before the last change is dropped without the lock.
        let before = if known.since == since { HashMap::new() } else { std::mem::take(&mut known.handles) };
        known.since = since;
        known.handles.insert(operator.clone(), object.clone_ref(py));
        before
    };
    drop(before);
    Ok(object)
}

/// The object of the overload of a full name, which `find` gives where there is none yet.
///
/// # Errors
///
/// Those of `find`; the operator is gone.
pub(crate) fn overload_named(
    py: Python<'_>,
    name: &str,
    find: impl FnOnce() -> Result<OperatorHandle>,
) -> Result<Py<OpOverload>> {
    if let Some(object) = objects().as_ref().and_then(|known| known.overloads.get(name)) {
        return Ok(object.clone_ref(py));
    }
    let overload = Overload::from_handle(dispatcher()?, find()?)?;
    let made = Py::new(py, OpOverload::new(py, name, overload).map_err(carry)?).map_err(carry)?;
    let (object, gone) = {
        let mut objects = objects();
        let known = objects.get_or_insert_default();
        let gone = known.overloads_that_are_gone(py);
        // Making one may run other code, which may have been faster.
        (known.overloads.entry(name.to_owned()).or_insert(made).clone_ref(py), gone)
    };
    drop(gone);
    Ok(object)
}

/// The object of the packet of a full name without an overload.
///
/// # Errors
///
/// No memory for it.
pub(crate) fn packet(py: Python<'_>, name: &str) -> PyResult<Py<Packet>> {
    if let Some(object) = objects().as_ref().and_then(|known| known.packets.get(name)) {
        return Ok(object.clone_ref(py));
    }
    let made = Py::new(py, Packet::new(name))?;
    let mut objects = objects();
    let known = objects.get_or_insert_default();
    Ok(known.packets.entry(name.to_owned()).or_insert(made).clone_ref(py))
}

impl Objects {
    /// Takes out the overloads that nobody holds and whose operators are gone, now and then.
    fn overloads_that_are_gone(&mut self, py: Python<'_>) -> Vec<Py<OpOverload>> {
        if self.overloads.len() < self.limit.max(4096) {
            return Vec::new();
        }
        #[expect(deprecated, reason = "what replaces it is unsafe")]
        let is_gone = |object: &Py<OpOverload>| object.get_refcnt(py) == 1 && !object.get().is_there();
        let gone = self.overloads.extract_if(|_, object| is_gone(object)).map(|(_, object)| object).collect();
        self.limit = 2 * self.overloads.len();
        gone
    }
}
