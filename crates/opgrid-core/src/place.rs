//! A place in somebody's source, where something was registered.

use std::collections::HashSet;
use std::fmt;
use std::panic::Location;
use std::sync::Mutex;

use crate::fork::Held;
use crate::sync::lock;

/// A place in a source file, as dumps and errors print it: of Rust code the caller's, of other languages what a front
/// end states ([`Library::stands_at`](crate::Library::stands_at)).
///
/// # Examples
///
/// ```
/// use opgrid_core::Place;
///
/// assert_eq!(Place::new("kernels.py", 12).to_string(), "kernels.py:12");
/// assert!(Place::here().file().ends_with(".rs"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    file: &'static str,
    line: u32,
}

/// The names of files in places of other languages.
static FILES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut Held) {
    held.lock(&FILES);
}

impl Place {
    /// The place of this call.
    #[track_caller]
    pub fn here() -> Self {
        Self::from(Location::caller())
    }

    /// A place in a file of any language. The name of each file is kept once, for as long as the process runs.
    pub fn new(file: &str, line: u32) -> Self {
        let mut files = lock(&FILES);
        let files = files.get_or_insert_default();
        let file = files.get(file).copied().unwrap_or_else(|| {
            let kept = Box::leak(file.into());
            files.insert(kept);
            kept
        });
        Self { file, line }
    }

    /// The name of the file.
    pub fn file(self) -> &'static str {
        self.file
    }

    /// The line, counted from 1.
    pub fn line(self) -> u32 {
        self.line
    }
}

impl From<&'static Location<'static>> for Place {
    fn from(location: &'static Location<'static>) -> Self {
        Self { file: location.file(), line: location.line() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
