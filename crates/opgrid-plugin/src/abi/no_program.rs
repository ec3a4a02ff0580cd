//! What is said where the crate that reads and runs programs is not linked.

use std::path::Path;
use std::sync::Arc;

use opgrid_core::{Dispatcher, Error, ErrorKind, Result};

use super::programs::{LoadedProgram, Weights};

/// # Errors
///
/// Always.
pub(super) fn load(_: &Dispatcher, path: &Path, _: Weights) -> Result<Arc<dyn LoadedProgram>> {
    let message = format!(
        "{}: the host was built without programs; build it with the feature `plugin-programs` of opgrid",
        path.display()
    );
    Err(Error::new(ErrorKind::NotImplemented, message))
}
