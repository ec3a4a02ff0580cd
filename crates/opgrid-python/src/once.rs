//! Values that are made once, when they are first needed.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// What a place holds; what `make` gives where it is empty.
///
/// Unlike [`PyOnceLock::get_or_try_init`], the place is not locked while `make` runs, which may run code of users and lets
/// other threads go on: one that forks meanwhile would leave it locked in the child for ever. Threads that come first
/// together may all make the value, and one of them is kept.
///
/// # Errors
///
/// Those of `make`.
pub(crate) fn get_or_make<'a, T>(
    place: &'a PyOnceLock<T>,
    py: Python<'_>,
    make: impl FnOnce() -> PyResult<T>,
) -> PyResult<&'a T> {
    if let Some(known) = place.get(py) {
        return Ok(known);
    }
    let made = make()?;
    // Somebody may have been faster.
    Ok(place.get_or_init(py, || made))
}
