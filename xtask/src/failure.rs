//! Says why a command stopped, and with which exit status.

use std::fmt;
use std::process::ExitCode;

/// The end of a command that did not succeed.
#[derive(Debug)]
pub struct Failure {
    message: String,
    usage: bool,
}

impl Failure {
    /// Something that had to pass did not (exit status 1).
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), usage: false }
    }

    /// The command line was wrong (exit status 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), usage: true }
    }

    /// Whether the command line was wrong.
    #[cfg(test)]
    pub fn is_usage(&self) -> bool {
        self.usage
    }

    /// The exit status of the process.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(if self.usage { 2 } else { 1 })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
