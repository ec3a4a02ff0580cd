//! The command line, for `python -m opgrid`, and the answers of its commands, for `opgrid.inspect`.
//!
//! Commands see what this process has registered, operators in Python among them.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::collector::detached;
use crate::errors::OrRaise;

/// Runs the command line with the arguments after the program's name, and returns the exit status.
#[pyfunction]
pub(crate) fn _command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    detached(py, || opgrid_cli::status(named(arguments), |_| Ok(())))
}

/// What a command prints.
#[pyfunction]
pub(crate) fn _command_answer(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<String> {
    detached(py, || opgrid_cli::answer(named(arguments))).or_raise(py)
}

/// Arguments as those of a process, whose first one is the program.
fn named(arguments: Vec<OsString>) -> impl Iterator<Item = OsString> {
    std::iter::once("opgrid".into()).chain(arguments)
}
