//! Changes of the thread's keys, and of the order of providers, for the length of a `with` block.

use std::cell::RefCell;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use opgrid::dispatch::provider::Preference;
use opgrid::dispatch::{KeyChange, LocalKeys};
use opgrid::{DispatchKey, DispatchKeySet};
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
    /// The keys of inference mode, or those outside of it.
    Inference(bool),
    Nothing,
}

impl Change {
    /// What the thread's keys become.
    fn applied(self, local: LocalKeys) -> LocalKeys {
        match self {
            Self::Include(keys) => LocalKeys { included: local.included | keys, ..local },
            Self::Exclude(keys) => LocalKeys { excluded: local.excluded | keys, ..local },
            Self::Force(keys) => keys,
            Self::Inference(true) => LocalKeys {
                included: local.included - DispatchKey::AdInplaceOrView.key_set(),
                excluded: local.excluded | DispatchKeySet::AUTOGRAD,
            },
            Self::Inference(false) => LocalKeys {
                included: local.included | DispatchKey::AdInplaceOrView.key_set(),
                excluded: local.excluded - DispatchKeySet::AUTOGRAD,
            },
            Self::Nothing => local,
        }
    }
}

/// How a block that is open ends.
#[derive(Clone, Copy)]
enum End {
    /// The change of the block is undone; what others changed meanwhile stays.
    Undo(KeyChange),
    /// The thread's keys are restored as a whole.
    Restore(LocalKeys),
}

/// A change of the thread's keys, made by `with`, and by nothing else. It may be used again, also inside of itself.
#[pyclass(module = "opgrid", frozen)]
pub(crate) struct Guard {
    change: Change,
    /// The blocks that are open.
    open: Mutex<Vec<(ThreadId, End)>>,
}

impl Guard {
    fn from_change(change: Change) -> Self {
        Self { change, open: Mutex::default() }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Vec<(ThreadId, End)>> {
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[pymethods]
impl Guard {
    fn __enter__(slf: Py<Self>) -> Py<Self> {
        let local = LocalKeys::current();
        let guard = slf.get();
        let change = KeyChange::apply(guard.change.applied(local));
        let end = match guard.change {
            Change::Include(_) | Change::Exclude(_) | Change::Inference(_) => End::Undo(change),
            Change::Force(_) | Change::Nothing => End::Restore(local),
        };
        guard.open().push((thread::current().id(), end));
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<bool> {
        let here = thread::current().id();
        let mut open = self.open();
        let Some(place) = open.iter().rposition(|(thread, _)| *thread == here) else {
            return Err(PyRuntimeError::new_err(
                "the guard was not entered on this thread; use it in a `with` statement",
            ));
        };
        let (_, end) = open.remove(place);
        drop(open);
        match end {
            End::Undo(change) => change.undo(),
            End::Restore(before) => before.force(),
        }
        Ok(false)
    }
}

/// Includes keys: calls of this thread go by them, too.
#[pyfunction]
pub(crate) fn include(keys: KeySet) -> Guard {
    Guard::from_change(Change::Include(keys.0))
}

/// Excludes keys: calls of this thread skip them.
#[pyfunction]
pub(crate) fn exclude(keys: KeySet) -> Guard {
    Guard::from_change(Change::Exclude(keys.0))
}

/// Replaces the thread's keys.
#[pyfunction]
pub(crate) fn force(included: KeySet, excluded: KeySet) -> Guard {
    Guard::from_change(Change::Force(LocalKeys { included: included.0, excluded: excluded.0 }))
}

/// Restores the thread's keys as a whole at the end of the block, whatever was done to them in it.
#[pyfunction]
pub(crate) fn preserve() -> Guard {
    Guard::from_change(Change::Nothing)
}

/// The keys of inference mode, or those outside of it.
#[pyfunction]
pub(crate) fn _inference_keys(mode: bool) -> Guard {
    Guard::from_change(Change::Inference(mode))
}

/// Skips autograd.
#[pyfunction]
pub(crate) fn below_autograd() -> Guard {
    Guard::from_change(Change::Exclude(DispatchKeySet::AUTOGRAD))
}

/// Skips autograd and what counts writes and views.
#[pyfunction]
pub(crate) fn below_adinplace_or_view() -> Guard {
    Guard::from_change(Change::Exclude(DispatchKeySet::AUTOGRAD_WITH_INPLACE))
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
