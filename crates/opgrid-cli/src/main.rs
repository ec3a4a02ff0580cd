//! The `opgrid` command: calls operators from a shell and shows what the dispatcher knows.
//!
//! It has no rules of its own: every command reads its arguments, asks the library and prints the answer. Whatever
//! goes wrong is one message on standard error and exit status 2; then standard output stays empty.

#![forbid(unsafe_code)]

mod columns;
mod commands;
mod digits;
mod grammar;
mod json;
mod literal;
mod tensor_literal;

use std::io::{self, Write};
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use clap::error::ErrorKind as UsageKind;
use commands::Command;
use opgrid::plugin::Load;
use opgrid::{Error, ErrorKind, Result};

/// Operators by dispatch keys: call them, and see which kernel runs and why.
#[derive(Parser)]
#[command(name = "opgrid", version, subcommand_required = true, arg_required_else_help = false)]
struct CommandLine {
    /// Print JSON, on one line.
    #[arg(long, global = true)]
    json: bool,
    /// Load a plugin before anything else: its file, or its name in a folder of OPGRID_PLUGIN_PATH. May be given several
    /// times.
    #[arg(long, global = true, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

impl CommandLine {
    /// Loads the plugins, which stay until the command has run.
    fn run(&self) -> Result<String> {
        let mut plugins = Vec::with_capacity(self.plugin.len());
        for path in &self.plugin {
            plugins.push(opgrid::dispatcher()?.load(path)?);
        }
        self.command.run(self.json)
    }
}

fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(usage) => return usage_message(&usage),
    };
    match without_panic(|| line.run()).and_then(|text| print(&text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", error.to_string().trim_end());
            ExitCode::from(2)
        }
    }
}

/// Help and version go to standard output; mistakes in the arguments to standard error.
fn usage_message(usage: &clap::Error) -> ExitCode {
    match usage.kind() {
        UsageKind::DisplayHelp | UsageKind::DisplayVersion => match print(&usage.to_string()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(2),
        },
        _ => {
            eprint!("{usage}");
            ExitCode::from(2)
        }
    }
}

/// Runs `body`; a panic anywhere in it becomes an error that says where it was.
fn without_panic(body: impl FnOnce() -> Result<String>) -> Result<String> {
    let place = Arc::new(Mutex::new(String::new()));
    let noted = place.clone();
    panic::set_hook(Box::new(move |panic| {
        *noted.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string().replace('\n', " ");
    }));
    // A panic ends the process, so nobody sees what it left half-done.
    let result = panic::catch_unwind(panic::AssertUnwindSafe(body));
    drop(panic::take_hook());
    result.unwrap_or_else(|_| {
        let place = place.lock().unwrap_or_else(PoisonError::into_inner);
        Err(Error::new(ErrorKind::Internal, format!("a defect of opgrid, please report it: {place}")))
    })
}

/// Writes the answer; a reader that has seen enough of it, such as `head`, is no error.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::new(ErrorKind::File, format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_one_line() {
        let error = without_panic(|| panic!("what\nnow")).unwrap_err().to_string();
        assert!(error.starts_with("a defect of opgrid") && error.contains("what now"), "{error}");
        assert!(error.contains("main.rs") && !error.contains('\n'), "{error}");
        assert_eq!(without_panic(|| Ok("fine".into())).unwrap(), "fine");
    }
}
