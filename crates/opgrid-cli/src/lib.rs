//! The command line `opgrid`, which calls operators from a shell and shows what the dispatcher knows.
//!
//! [`run`] is the whole of it, for a program with operators, layers or backends of its own: every command sees them. [`status`] takes
//! other arguments than those of the process, and [`answer`] gives a program what a command prints.
//!
//! It has no rules of its own: every command reads its arguments, asks the library and prints the answer. Whatever
//! goes wrong is one message on standard error, a line of JSON with `--json`, and exit status 2; then standard output
//! stays empty. A command that was asked to look for something, such as `lint`, says by status 1 what it found.

#![deny(unsafe_code)]

mod answer;
mod arguments;
mod columns;
mod commands;
mod digits;
mod file;
mod grammar;
mod html;
mod json;
mod literal;
mod numbers;
mod progress;
mod style;
mod suggest;
mod tensor_literal;
mod torch_names;

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use anstream::ColorChoice;
use clap::error::ErrorKind as UsageKind;
use clap::{CommandFactory, FromArgMatches};
use opgrid::plugin::{Level, Load, on_message};
use opgrid::{Dispatcher, Error, ErrorKind, Result};

use answer::Answer;
use commands::Command;

/// What stands below the help of every command.
const AFTER_HELP: &str = "\
Exit status:
  0  the command did what it was asked
  1  it found something: lint a fault, diff a change that breaks callers, list nothing at all
  2  it failed; the reason is on standard error

Environment:
  OPGRID_ISA                  v2, v3 or v4: loops use no more than this level of x86-64
  OPGRID_PLUGIN_PATH          folders, separated by colons, in which --plugin NAME looks
  OPGRID_SHOW_DISPATCH_TRACE  1 prints every dispatched call on standard error
  NO_COLOR                    anything: no colours, as with --color never";

/// The exit status of what failed.
const FAILED: u8 = 2;

/// Operators by dispatch keys: call them, and see which kernel runs and why.
#[derive(clap::Parser)]
#[command(
    name = "opgrid", version = version(), subcommand_required = true, arg_required_else_help = false, after_help = AFTER_HELP,
    max_term_width = 120, styles = style::HELP
)]
struct CommandLine {
    /// Print JSON, on one line; errors too.
    #[arg(long, global = true)]
    json: bool,
    /// Use colours: where the output is a terminal, always or never.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Colors::Auto, hide_possible_values = true)]
    color: Colors,
    /// Load a plugin before anything else: its file, or its name in a folder of OPGRID_PLUGIN_PATH. May be given several
    /// times.
    #[arg(long, global = true, value_name = "FILE")]
    plugin: Vec<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

/// The version, and the instructions in use.
fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{} ({})", env!("CARGO_PKG_VERSION"), opgrid::kernels::instructions()));
    &VERSION
}

/// When to use colours: auto, always or never.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Colors {
    Auto,
    Always,
    Never,
}

impl CommandLine {
    /// Registers what the program brings, and loads the plugins; both stay until the command has run.
    fn run<R>(&self, register: impl FnOnce(&Dispatcher) -> Result<R>) -> Result<Answer> {
        let dispatcher = opgrid::dispatcher()?;
        let _registered = register(dispatcher)?;
        let mut plugins = Vec::with_capacity(self.plugin.len());
        for path in &self.plugin {
            plugins.push(dispatcher.load(path)?);
        }
        self.command.run(self.json)
    }
}

/// Runs the command line with the arguments of the process, after `register` has registered what the program has of its
/// own: every command sees it, as it sees what plugins register.
///
/// What `register` gives back, such as a registration, is kept until the command has run. It is not called where the
/// arguments only ask for help. The result is what `main` returns.
///
/// # Examples
///
/// ```no_run
/// use opgrid::prelude::*;
///
/// operator! {
///     pub Twice = "mine::twice(Tensor self) -> Tensor";
/// }
///
/// fn main() -> std::process::ExitCode {
///     opgrid_cli::run(|dispatcher| {
///         let mut library = dispatcher.library("mine");
///         library.define(Twice).kernel(DispatchKey::CompositeImplicitAutograd, |input| input.add(input));
///         library.finish()
///     })
/// }
/// ```
pub fn run<R>(register: impl FnOnce(&Dispatcher) -> Result<R>) -> ExitCode {
    ExitCode::from(status(std::env::args_os(), register))
}

/// Runs the command line with these arguments, of which the first names the program, and returns the exit status.
///
/// For programs that have arguments of their own, such as an interpreter; otherwise like [`run`].
pub fn status<R>(
    arguments: impl IntoIterator<Item = OsString>,
    register: impl FnOnce(&Dispatcher) -> Result<R>,
) -> u8 {
    let arguments = arguments::escaped(arguments);
    let as_json = arguments.iter().any(|argument| argument == "--json");
    let matches = command().try_get_matches_from(arguments);
    let line = match matches.and_then(|matches| CommandLine::from_arg_matches(&matches)) {
        Ok(line) => line,
        Err(usage) => return usage_message(&usage, as_json),
    };
    match line.color {
        Colors::Auto => {}
        Colors::Always => ColorChoice::Always.write_global(),
        Colors::Never => ColorChoice::Never.write_global(),
    }
    on_message(|message| {
        let paint = if message.level == Level::Note { style::NOTE } else { style::WARNING };
        anstream::eprintln!("{}: {message}", paint.apply(message.level));
    });
    let answer = without_panic(|| line.run(register));
    match answer.and_then(|answer| print(&answer.text).map(|()| answer.found)) {
        Ok(found) => found.into(),
        Err(error) => {
            complain(&error.to_string(), &format!("{:?}", error.kind()), line.json);
            FAILED
        }
    }
}

/// Runs a command with these arguments, of which the first names the program, and returns what it prints, without colours.
///
/// # Errors
/// The arguments are wrong, or the command fails.
///
/// # Examples
///
/// ```
/// # fn main() -> opgrid::Result<()> {
/// let answer = opgrid_cli::answer(["opgrid", "schema", "aten::relu"].map(Into::into))?;
/// assert!(answer.contains("aten::relu(Tensor self) -> Tensor"));
/// # Ok(())
/// # }
/// ```
pub fn answer(arguments: impl IntoIterator<Item = OsString>) -> Result<String> {
    let matches = command().try_get_matches_from(arguments::escaped(arguments));
    let line = matches.and_then(|matches| CommandLine::from_arg_matches(&matches));
    let line = line.map_err(|usage| Error::new(ErrorKind::Argument, usage_line(&usage)))?;
    let text = line.run(|_| Ok(()))?.text;
    Ok(anstream::adapter::strip_str(&text).to_string())
}

/// The definition of the command line, from which help, completions and manual pages are made.
fn command() -> clap::Command {
    CommandLine::command().mut_subcommands(|command| command.after_long_help(AFTER_HELP))
}

/// Says what went wrong.
fn complain(message: &str, kind: &str, as_json: bool) {
    let message = message.trim_end();
    if as_json {
        let error = serde_json::json!({"error": {"kind": kind, "message": message}});
        eprintln!("{error}");
    } else {
        anstream::eprintln!("{}: {message}", style::ERROR.apply("error"));
    }
}

/// Help and version go to standard output; mistakes in the arguments to standard error.
fn usage_message(usage: &clap::Error, as_json: bool) -> u8 {
    match usage.kind() {
        UsageKind::DisplayHelp | UsageKind::DisplayVersion => match print(&usage.render().ansi().to_string())
        {
            Ok(()) => 0,
            Err(_) => FAILED,
        },
        _ if as_json => {
            complain(&usage_line(usage), "Usage", true);
            FAILED
        }
        _ => {
            anstream::eprint!("{}", arguments::without_marks(&usage.render().ansi().to_string()));
            FAILED
        }
    }
}

/// What is wrong with the arguments, in one line.
fn usage_line(usage: &clap::Error) -> String {
    let text = arguments::without_marks(&usage.render().to_string());
    text.strip_prefix("error: ").unwrap_or(&text).lines().next().unwrap_or_default().to_owned()
}

/// Runs `body`; a panic anywhere in it becomes an error that says where it was.
fn without_panic<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
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
    let mut out = anstream::AutoStream::auto(io::stdout().lock());
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
        let error = without_panic::<String>(|| panic!("what\nnow")).unwrap_err().to_string();
        assert!(error.starts_with("a defect of opgrid") && error.contains("what now"), "{error}");
        assert!(error.contains("lib.rs") && !error.contains('\n'), "{error}");
        assert_eq!(without_panic(|| Ok("fine")).unwrap(), "fine");
    }

    #[test]
    fn the_definition_holds() {
        command().debug_assert();
    }
}
