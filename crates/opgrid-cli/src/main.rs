//! The `opgrid` command, with the operators that opgrid has.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    opgrid_cli::run(|_| Ok(()))
}
