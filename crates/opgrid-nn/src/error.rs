//! Builds the crate's errors on cold paths.

use opgrid_core::{Error, ErrorKind};

/// A setting or a tensor that is refused.
#[cold]
#[inline(never)]
pub(crate) fn argument(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}
