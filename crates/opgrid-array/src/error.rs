//! Builds the crate's errors on cold paths.

use opgrid_core::{Error, ErrorKind};

/// An argument has a shape, dtype or value that is refused.
#[cold]
#[inline(never)]
pub fn argument(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}

/// An index or a dimension is beyond its range.
#[cold]
#[inline(never)]
pub fn out_of_range(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Index, message)
}

/// A file could not be read or written, or says something that cannot be.
#[cold]
#[inline(never)]
pub(crate) fn file(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, message)
}
