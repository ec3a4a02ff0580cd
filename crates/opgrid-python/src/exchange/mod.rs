//! Memory shared with other libraries, without copying where that is possible.

pub(crate) mod buffer;
pub(crate) mod c_api;
pub(crate) mod dlpack;
pub(crate) mod files;
pub(crate) mod foreign;
pub(crate) mod handles;
pub(crate) mod numpy;
pub(crate) mod pickle;

use opgrid::Tensor;
use pyo3::prelude::*;

/// The tensor on the memory of an object of another library, if it has such.
///
/// # Errors
///
/// Memory that tensors cannot share; a copy if `copy` forbids one.
pub(crate) fn shared(object: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Option<Tensor>> {
    if let Some(tensor) = numpy::array_of(object, copy)? {
        return Ok(Some(tensor));
    }
    let exports = object.hasattr("__dlpack__")?;
    if exports { dlpack::import(object, copy.filter(|copy| !copy)).map(Some) } else { Ok(None) }
}
