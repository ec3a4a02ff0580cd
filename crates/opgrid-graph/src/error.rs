//! The errors of this crate: cold constructors, so that the code that checks stays short.

use std::fmt::Display;

use opgrid_core::{Error, ErrorKind};

/// A file that cannot be read, or that holds something else than it should.
#[cold]
pub(crate) fn file(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, message)
}

/// A graph, or a text of one, that breaks a rule.
#[cold]
pub(crate) fn value(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Value, message)
}

/// An input that a program refuses.
#[cold]
pub(crate) fn argument(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}

/// Something that exists in torch and not here.
#[cold]
pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::NotImplemented, message)
}

/// The names in back quotes, with commas.
pub(crate) fn quoted<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
