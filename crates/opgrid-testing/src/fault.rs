//! How a check went, and why one was not passed.

use std::fmt;

use opgrid_core::Error;

/// How a check went.
pub(crate) type Verdict = Result<(), Fault>;

/// Why a check was not passed.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Something else came out.
    Wrong {
        /// Which overload or layout, where it is not clear from the check.
        subject: Option<String>,
        found: String,
        expected: String,
    },
    /// It could not be checked.
    Skipped(String),
}

impl Fault {
    pub(crate) fn wrong(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Wrong { subject: None, found: found.into(), expected: expected.into() }
    }

    /// A call that should have succeeded.
    pub(crate) fn error(error: Error) -> Self {
        Self::wrong(format!("the error \"{error}\""), "a result")
    }

    pub(crate) fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped(reason.into())
    }

    /// Adds a subject to the fault.
    pub(crate) fn about(self, about: impl fmt::Display) -> Self {
        match self {
            Self::Wrong { subject, found, expected } => {
                let subject = subject.map_or(about.to_string(), |inner| format!("{about}, {inner}"));
                Self::Wrong { subject: Some(subject), found, expected }
            }
            skipped => skipped,
        }
    }
}
