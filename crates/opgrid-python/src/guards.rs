//! Changes of the thread's keys, and of the order of providers, for the length of a `with` block.

use std::cell::RefCell;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use opgrid::provider::Preference;
use opgrid::{DispatchKeySet, LocalKeys};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::keys::KeySet;
use crate::operators::candidates::dispatcher;

/// What a guard makes of the thread's keys.
#[derive(Clone, Copy)]
enum Change {
    Include(DispatchKeySet),
    Exclude(DispatchKeySet),
    Force(LocalKeys),
    Nothing,
}

/// A change of the thread's keys, made by `with`, and by nothing else. It may be used again, also inside of itself.
#[pyclass(module = "opgrid", frozen)]
pub(crate) struct Guard {
    change: Change,
    /// What was there before, for each block that is open.
    before: Mutex<Vec<(ThreadId, LocalKeys)>>,
}

impl Guard {
    fn of(change: Change) -> Self {
        Self { change, before: Mutex::default() }
    }

    fn before(&self) -> std::sync::MutexGuard<'_, Vec<(ThreadId, LocalKeys)>> {
        self.before.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[pymethods]
impl Guard {
    fn __enter__(slf: Py<Self>) -> Py<Self> {
        let local = LocalKeys::current();
        let guard = slf.get();
        guard.before().push((thread::current().id(), local));
        match guard.change {
            Change::Include(keys) => LocalKeys { included: local.included | keys, ..local }.force(),
            Change::Exclude(keys) => LocalKeys { excluded: local.excluded | keys, ..local }.force(),
            Change::Force(keys) => keys.force(),
            Change::Nothing => {}
        }
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<bool> {
        let here = thread::current().id();
        let mut open = self.before();
        let Some(place) = open.iter().rposition(|(thread, _)| *thread == here) else {
            return Err(PyRuntimeError::new_err(
                "the guard was not entered on this thread; use it in a `with` statement",
            ));
        };
        let (_, before) = open.remove(place);
        drop(open);
        match self.change {
            Change::Include(_) => LocalKeys { included: before.included, ..LocalKeys::current() }.force(),
            Change::Exclude(_) => LocalKeys { excluded: before.excluded, ..LocalKeys::current() }.force(),
            Change::Force(_) | Change::Nothing => before.force(),
        }
        Ok(false)
    }
}

/// Includes keys: calls of this thread go by them, too.
#[pyfunction]
pub(crate) fn include(keys: KeySet) -> Guard {
    Guard::of(Change::Include(keys.0))
}

/// Excludes keys: calls of this thread skip them.
#[pyfunction]
pub(crate) fn exclude(keys: KeySet) -> Guard {
    Guard::of(Change::Exclude(keys.0))
}

/// Puts these keys in the place of the thread's.
#[pyfunction]
pub(crate) fn force(included: KeySet, excluded: KeySet) -> Guard {
    Guard::of(Change::Force(LocalKeys { included: included.0, excluded: excluded.0 }))
}

/// Puts the thread's keys back at the end of the block, whatever was done to them in it.
#[pyfunction]
pub(crate) fn preserve() -> Guard {
    Guard::of(Change::Nothing)
}

/// Skips autograd.
#[pyfunction]
pub(crate) fn below_autograd() -> Guard {
    Guard::of(Change::Exclude(DispatchKeySet::AUTOGRAD))
}

/// Skips autograd and what counts writes and views.
#[pyfunction]
pub(crate) fn below_adinplace_or_view() -> Guard {
    Guard::of(Change::Exclude(DispatchKeySet::AUTOGRAD_WITH_INPLACE))
}

/// The included and the excluded keys of this thread.
#[pyfunction]
pub(crate) fn local_keys() -> (KeySet, KeySet) {
    let local = LocalKeys::current();
    (KeySet(local.included), KeySet(local.excluded))
}

thread_local! {
    /// The scopes of preference that are open on this thread, with the address of the object that opened each.
    static SCOPES: RefCell<Vec<(usize, Preference)>> = const { RefCell::new(Vec::new()) };
}

/// Puts providers first for an operator, for the length of a `with` block. It may be used again, also inside of itself.
#[pyclass(module = "opgrid", frozen)]
pub(crate) struct ProviderGuard {
    operator: String,
    providers: Vec<String>,
}

#[pymethods]
impl ProviderGuard {
    #[new]
    fn new(operator: String, providers: Vec<String>) -> Self {
        Self { operator, providers }
    }

    fn __enter__(slf: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
        let guard = slf.get();
        let providers: Vec<&str> = guard.providers.iter().map(String::as_str).collect();
        let scope = dispatcher().and_then(|dispatcher| dispatcher.preference(&guard.operator, &providers));
        let opened = (slf.as_ptr().addr(), scope.or_raise(py)?);
        SCOPES.with_borrow_mut(|scopes| scopes.push(opened));
        Ok(slf)
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(slf: Py<Self>, _raised: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<bool> {
        let object = slf.as_ptr().addr();
        let ended = SCOPES.with_borrow_mut(|scopes| {
            let place = scopes.iter().rposition(|(opened_by, _)| *opened_by == object);
            place.map(|place| scopes.remove(place))
        });
        match ended {
            Some(_) => Ok(false),
            None => Err(PyRuntimeError::new_err(
                "the preference was not entered on this thread; use it in a `with` statement",
            )),
        }
    }
}
