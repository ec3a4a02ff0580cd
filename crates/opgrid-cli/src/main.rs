//! The `opgrid` command, with the operators that opgrid has, and those of torchvision that exported programs call.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    opgrid_cli::run(opgrid_vision::register)
}
