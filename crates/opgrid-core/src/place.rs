//! A place in somebody's source, where something was registered.

use std::fmt;
use std::panic::Location;

/// A place in a source file, as errors print it.
pub(crate) struct Place(pub(crate) &'static Location<'static>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.file(), self.0.line())
    }
}
