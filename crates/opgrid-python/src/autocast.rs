//! Regions in which autocast is on, for `opgrid.amp`, and cast policies of operators.

use std::cell::RefCell;

use opgrid::dispatch::DeviceType;
use opgrid::layers::autocast::{self, CastPolicy, Region, RegionId};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::operators::candidates::dispatcher;
use crate::registration::registrations::{At, RegistrationObject, place};
use crate::values::names::DTypeObject;

/// The kind of device of that name.
fn device(py: Python<'_>, name: &str) -> PyResult<DeviceType> {
    name.parse().or_raise(py)
}

thread_local! {
    /// The regions that this thread has entered, with the address of the object that entered each.
    static ENTERED: RefCell<Vec<(usize, RegionId)>> = const { RefCell::new(Vec::new()) };
}

/// Enters a region on this thread, in the name of an object.
#[pyfunction]
pub(crate) fn _enter_autocast(
    py: Python<'_>,
    owner: &Bound<'_, PyAny>,
    device_type: &str,
    dtype: &Bound<'_, DTypeObject>,
    enabled: bool,
    cached: bool,
) -> PyResult<()> {
    let kind = device(py, device_type)?;
    if enabled {
        dispatcher().and_then(|dispatcher| autocast::ensure_installed(dispatcher, kind)).or_raise(py)?;
    }
    let region = Region::new(kind).dtype(dtype.get().0).enabled(enabled).cached(cached);
    let id = region.push().or_raise(py)?;
    ENTERED.with_borrow_mut(|entered| entered.push((owner.as_ptr().addr(), id)));
    Ok(())
}

/// Leaves the region that this thread has entered last in the name of an object.
#[pyfunction]
pub(crate) fn _leave_autocast(owner: &Bound<'_, PyAny>) -> PyResult<()> {
    let address = owner.as_ptr().addr();
    let left = ENTERED.with_borrow_mut(|entered| {
        let place = entered.iter().rposition(|(by, _)| *by == address)?;
        Some(entered.remove(place).1)
    });
    match left {
        // What a thread does in another one's context has ended with that.
        Some(id) => {
            id.leave();
            Ok(())
        }
        None => Err(PyRuntimeError::new_err(
            "the autocast region was not entered on this thread; use it in a `with` statement",
        )),
    }
}

/// Whether autocast is on for a kind of device on this thread.
#[pyfunction]
#[pyo3(signature = (device_type = "cuda"))]
pub(crate) fn is_autocast_enabled(py: Python<'_>, device_type: &str) -> PyResult<bool> {
    autocast::is_enabled(device(py, device_type)?).or_raise(py)
}

/// Turns autocast on or off for a kind of device on this thread.
#[pyfunction]
pub(crate) fn set_autocast_enabled(py: Python<'_>, device_type: &str, enabled: bool) -> PyResult<()> {
    let kind = device(py, device_type)?;
    if enabled {
        dispatcher().and_then(|dispatcher| autocast::ensure_installed(dispatcher, kind)).or_raise(py)?;
    }
    autocast::set_enabled(kind, enabled).or_raise(py)
}

/// The lower precision for a kind of device on this thread.
#[pyfunction]
pub(crate) fn get_autocast_dtype(py: Python<'_>, device_type: &str) -> PyResult<Py<PyAny>> {
    let dtype = autocast::dtype(device(py, device_type)?).or_raise(py)?;
    DTypeObject::from_value(py, dtype)
}

/// Changes the lower precision for a kind of device on this thread.
#[pyfunction]
pub(crate) fn set_autocast_dtype(
    py: Python<'_>,
    device_type: &str,
    dtype: &Bound<'_, DTypeObject>,
) -> PyResult<()> {
    autocast::set_dtype(device(py, device_type)?, dtype.get().0).or_raise(py)
}

/// Whether weights are cast once in the region that this thread is in.
#[pyfunction]
pub(crate) fn is_autocast_cache_enabled() -> bool {
    autocast::is_cache_enabled()
}

/// Says whether weights are cast once.
#[pyfunction]
pub(crate) fn set_autocast_cache_enabled(enabled: bool) {
    autocast::set_cache_enabled(enabled);
}

/// Forgets the weights that this thread has cast.
#[pyfunction]
pub(crate) fn clear_autocast_cache() {
    autocast::clear_cache();
}

/// Counts one more region on this thread.
#[pyfunction]
pub(crate) fn autocast_increment_nesting() -> u32 {
    autocast::increment_nesting()
}

/// Counts one region less on this thread.
#[pyfunction]
pub(crate) fn autocast_decrement_nesting() -> u32 {
    autocast::decrement_nesting()
}

/// Whether autocast knows a kind of device.
#[pyfunction]
pub(crate) fn _is_autocast_available(py: Python<'_>, device_type: &str) -> PyResult<bool> {
    Ok(autocast::key_of(device(py, device_type)?).is_ok())
}

/// Has an operator compute in a dtype where autocast is on for a kind of device.
#[pyfunction]
pub(crate) fn _register_cast(
    py: Python<'_>,
    name: &str,
    device_type: &str,
    dtype: &Bound<'_, DTypeObject>,
    at: At,
) -> PyResult<RegistrationObject> {
    let key = autocast::key_of(device(py, device_type)?).or_raise(py)?;
    let namespace = name.split_once("::").map_or("", |(namespace, _)| namespace);
    let mut library = dispatcher().or_raise(py)?.fragment(namespace);
    library.stands_at(place(&at)).allow_override();
    let _ = library.implement(name).add(CastPolicy::To(dtype.get().0).kernel().at(key));
    RegistrationObject::from_library(py, library)
}
