//! Builds the crate's errors on cold paths.

use opgrid_core::{Device, Error, ErrorKind};

/// An argument has a shape, dtype or value that is refused.
#[cold]
#[inline(never)]
pub fn argument(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}

/// What errors call a tensor of a device whose tensors have no data.
pub fn without_data(device: Device) -> &'static str {
    if device.is_fake() { "a fake tensor" } else { "a meta tensor" }
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
