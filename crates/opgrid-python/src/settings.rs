//! What holds for the whole process: threads, and how tensors are printed.

use opgrid::kernels;
use opgrid::tensor::PrintOptions;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How many threads operators of large tensors use.
#[pyfunction]
pub(crate) fn get_num_threads() -> usize {
    kernels::num_threads()
}

/// Sets how many threads operators of large tensors use, at least one.
#[pyfunction]
#[pyo3(signature = (int, /))]
pub(crate) fn set_num_threads(int: i64) -> PyResult<()> {
    match usize::try_from(int) {
        Ok(threads) if threads > 0 => {
            kernels::set_num_threads(threads);
            Ok(())
        }
        _ => {
            Err(PyRuntimeError::new_err(format!("set_num_threads: found {int}, expected a positive number")))
        }
    }
}

/// Sets how tensors are printed: digits after the point, from how many elements on they are summarised, elements at each end of
/// a summary, columns of a line, all of these by the name of a profile, and whether floats have exponents. What is `None`
/// stays, but `sci_mode`, which then depends on the numbers.
#[pyfunction]
#[pyo3(signature = (precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None))]
pub(crate) fn set_printoptions(
    precision: Option<u16>,
    threshold: Option<f64>,
    edgeitems: Option<u32>,
    linewidth: Option<usize>,
    profile: Option<&str>,
    sci_mode: Option<bool>,
) -> PyResult<()> {
    let mut options = match profile {
        None => opgrid::tensor::print_options(),
        Some(name) => PrintOptions::profile(name).ok_or_else(|| {
            PyValueError::new_err(format!(
                "found profile {name:?}, expected \"default\", \"short\" or \"full\""
            ))
        })?,
    };
    options.precision = precision.unwrap_or(options.precision);
    // Infinity stands for no summary; a float that is too large becomes the largest number.
    options.threshold = threshold.map_or(options.threshold, |threshold| threshold as i64);
    options.edgeitems = edgeitems.unwrap_or(options.edgeitems);
    options.linewidth = linewidth.unwrap_or(options.linewidth);
    options.sci_mode = sci_mode;
    opgrid::tensor::set_print_options(options);
    Ok(())
}

/// How tensors are printed, as `set_printoptions` takes it.
#[pyfunction]
pub(crate) fn get_printoptions(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let PrintOptions { precision, threshold, edgeitems, linewidth, sci_mode } =
        opgrid::tensor::print_options();
    let options = PyDict::new(py);
    options.set_item("precision", precision)?;
    options.set_item("threshold", threshold)?;
    options.set_item("edgeitems", edgeitems)?;
    options.set_item("linewidth", linewidth)?;
    options.set_item("sci_mode", sci_mode)?;
    Ok(options)
}
