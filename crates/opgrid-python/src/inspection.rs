//! What is registered, what the dispatcher counts, and how long operators take.

use opgrid::DispatchKey;
use opgrid::dispatch::{KernelInfo, TableSlot};
use opgrid::profile::Profile;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::keys::Key;
use crate::operators::candidates::dispatcher;

/// A kernel's title, its place, its condition, and whether it is a fallthrough.
type KernelAt = (String, String, Option<String>, bool);
/// A key, the rule that fills its column, whether calls step over it, and the kernel's title and place.
type Slot = (Key, String, bool, Option<(String, String)>);

/// What the dispatcher has counted since the last reset, as text and as JSON.
#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<(String, String)> {
    let stats = dispatcher().or_raise(py)?.stats();
    Ok((stats.to_string(), stats.to_json().to_string()))
}

/// Sets what is counted back to zero.
#[pyfunction]
pub(crate) fn reset_stats() {
    opgrid::dispatch::reset_stats();
}

/// Operators that have kernels and no definition.
#[pyfunction]
pub(crate) fn dangling_implementations(py: Python<'_>) -> PyResult<Vec<String>> {
    let operators = dispatcher().or_raise(py)?.dangling_implementations();
    Ok(operators.iter().map(|operator| operator.name().to_string()).collect())
}

/// The operators with a kernel registered for exactly this key, or all.
#[pyfunction]
#[pyo3(signature = (key=None))]
pub(crate) fn registrations_for(py: Python<'_>, key: Option<Key>) -> PyResult<Vec<String>> {
    let operators = dispatcher().or_raise(py)?.registrations_for(key.map(|key| key.0));
    Ok(operators.iter().map(|operator| operator.name().to_string()).collect())
}

/// Checks what always holds of the registry.
#[pyfunction]
pub(crate) fn check_invariants(py: Python<'_>) -> PyResult<()> {
    dispatcher().or_raise(py)?.check_invariants().or_raise(py)
}

/// The kernels that are registered for an operator, key by key: title, place, condition, whether it is a fallthrough.
#[pyfunction]
pub(crate) fn registered_kernels(py: Python<'_>, name: &str) -> PyResult<Vec<(Key, Vec<KernelAt>)>> {
    let operator = dispatcher().or_raise(py)?.find_with_or_without_schema(name).or_raise(py)?;
    let cells = operator.registered_kernels().or_raise(py)?;
    Ok(cells.into_iter().map(cell).collect())
}

/// The fallbacks, key by key, like [`registered_kernels`].
#[pyfunction]
pub(crate) fn registered_fallbacks(py: Python<'_>) -> PyResult<Vec<(Key, Vec<KernelAt>)>> {
    Ok(dispatcher().or_raise(py)?.registered_fallbacks().into_iter().map(cell).collect())
}

fn cell((key, kernels): (DispatchKey, Vec<KernelInfo>)) -> (Key, Vec<KernelAt>) {
    let kernel =
        |kernel: KernelInfo| (kernel.title().to_owned(), kernel.place, kernel.condition, kernel.fallthrough);
    (Key(key), kernels.into_iter().map(kernel).collect())
}

/// What fills each column of an operator's table: key, rule, whether calls step over it, kernel's title and place.
#[pyfunction]
pub(crate) fn table(py: Python<'_>, name: &str) -> PyResult<Vec<Slot>> {
    let operator = dispatcher().or_raise(py)?.find(name).or_raise(py)?;
    let row = |slot: TableSlot| {
        let kernel = slot.kernel.map(|kernel| (kernel.title().to_owned(), kernel.place));
        (Key(slot.key), slot.reason.to_string(), slot.fallthrough, kernel)
    };
    Ok(operator.table().or_raise(py)?.into_iter().map(row).collect())
}

/// Times every operator that this thread calls, until it is finished.
#[pyclass(name = "Profile", module = "opgrid", unsendable)]
pub(crate) struct ProfileObject {
    running: Option<Profile>,
    finished: Option<opgrid::profile::Timeline>,
}

#[pymethods]
impl ProfileObject {
    #[new]
    fn new() -> Self {
        Self { running: None, finished: None }
    }

    fn __enter__(mut slf: PyRefMut<'_, Self>) -> PyRefMut<'_, Self> {
        slf.running = Some(Profile::start());
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&mut self, _raised: &Bound<'_, pyo3::types::PyTuple>) -> bool {
        self.finished = self.running.take().map(Profile::finish);
        false
    }

    /// Name, number of calls and seconds of each operator, the longest first.
    fn operators(&self) -> PyResult<Vec<(String, u64, f64)>> {
        let times = self.timeline()?.operators();
        Ok(times.into_iter().map(|time| (time.operator, time.calls, time.total.as_secs_f64())).collect())
    }

    /// Writes the trace for Perfetto or chrome://tracing.
    fn export_chrome_trace(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<()> {
        self.timeline()?.write_chrome(path).or_raise(py)
    }

    fn __str__(&self) -> PyResult<String> {
        Ok(self.timeline()?.to_string())
    }
}

impl ProfileObject {
    fn timeline(&self) -> PyResult<&opgrid::profile::Timeline> {
        let message = "the profile is not finished; use it in a `with` statement and read it afterwards";
        self.finished.as_ref().ok_or_else(|| PyRuntimeError::new_err(message))
    }
}
