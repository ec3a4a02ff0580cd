//! Programs of files that stay as they are while a command runs.
#![allow(unsafe_code)]

use std::path::Path;

use opgrid::Result;
use opgrid_graph::Program;

/// The program of an archive, with the weights in the memory of the file.
pub(super) fn program(path: &Path) -> Result<Program> {
    // SAFETY: whoever runs the command leaves the file alone until it ends, as `opgrid run --help` asks for. The command itself
    // replaces files and never changes them, so that results may be written to the file that is mapped.
    unsafe { Program::map(path) }
}
