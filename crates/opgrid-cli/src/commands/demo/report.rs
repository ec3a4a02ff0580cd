//! What the demo tells, as text and as JSON, and the check of what it claims.

use std::fmt::{Display, Write};
use std::io::{self, IsTerminal};

use opgrid::ErrorKind;
use opgrid::prelude::*;

/// What the demo tells, as text and as JSON.
#[derive(Default)]
pub(super) struct Report {
    pub(super) text: String,
    pub(super) json: serde_json::Value,
    /// The part of the digits that the classifier gets right.
    pub(super) accuracy: f64,
}

impl Report {
    /// Prints what there is so far where somebody waits for it; elsewhere all of it comes at the end, or nothing.
    pub(super) fn show_at_terminal(&mut self) {
        if io::stdout().is_terminal() {
            print!("{}", std::mem::take(&mut self.text));
        }
    }

    pub(super) fn heading(&mut self, heading: &str) {
        let _ = writeln!(self.text, "\n{heading}");
    }

    pub(super) fn line(&mut self, line: impl Display) {
        for line in line.to_string().lines() {
            let _ = writeln!(self.text, "  {line}");
        }
    }
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

pub(super) fn check(holds: bool, claim: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(disagreement(claim)) }
}

#[cold]
pub(super) fn disagreement(claim: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("demo: the run contradicts the claim that {claim}"))
}
