//! Kernels that take the place of others are warned of, in Python's way.

use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::operators::candidates::dispatcher;

/// Lets Python warn where a kernel replaces another one.
///
/// # Errors
///
/// As [`dispatcher`].
pub(crate) fn warn_in_python() -> opgrid::Result<()> {
    dispatcher()?.on_override(|replaced| {
        let text = replaced.to_string();
        crate::collector::attached(|py| {
            let warned = warn(py, &text);
            if let Err(raised) = warned {
                // The registration has taken place: an exception would say that it has not.
                raised.write_unraisable(py, None);
            }
        });
    });
    Ok(())
}

fn warn(py: Python<'_>, text: &str) -> PyResult<()> {
    let class = py.import("opgrid.errors")?.getattr("OverrideWarning")?.cast_into::<PyType>()?;
    py.import("warnings")?.call_method1("warn", (text, class, 5)).map(drop)
}
