//! What the programs that measure opgrid have in common: the clock, and how they are called.
//!
//! `cargo xtask bench SUITE` runs the program of that suite, and the one in `bench/torch`, which answers to the same
//! command lines:
//!
//! - `opgrid-bench-SUITE measure [WHAT…]` prints a line `NAME VALUE` for each figure, in nanoseconds or bytes;
//! - `opgrid-bench-SUITE CASE N` makes one call `N` times and nothing else, so that its instructions can be counted.
#![forbid(unsafe_code)]

pub mod clock;

use std::fmt::Display;
use std::hint::black_box;
use std::process::ExitCode;

use opgrid::{Error, ErrorKind, Result};

/// A figure's name and its value.
pub type Measured = (String, f64);

/// A figure's name, and the loop that makes its call so many times on what the cases work on.
pub type Case<S> = (&'static str, fn(&S, u32) -> Result<()>);

/// Makes a call `count` times; what it returns is dropped as a user's program would drop it.
///
/// # Errors
///
/// That of a call.
#[inline(always)]
pub fn times<X>(count: u32, call: impl Fn() -> Result<X>) -> Result<()> {
    for _ in 0..count {
        drop(black_box(call()?));
    }
    Ok(())
}

/// The case of that name.
///
/// # Errors
///
/// There is none.
pub fn find<'c, S>(name: &str, cases: impl Iterator<Item = &'c Case<S>>) -> Result<&'c Case<S>> {
    let mut known = Vec::new();
    for case in cases {
        if case.0 == name {
            return Ok(case);
        }
        known.push(case.0);
    }
    let message = format!("unknown case `{name}`; cases are: {}", known.join(", "));
    Err(Error::new(ErrorKind::Unknown, message))
}

/// Does what the command line says, and prints figures or the error.
pub fn main(
    measure: impl FnOnce(&[&str]) -> std::result::Result<Vec<Measured>, String>,
    repeat: impl FnOnce(&str, u32) -> Result<()>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["measure", ref what @ ..] => measure(what).map(print),
        [case, count] => match count.parse() {
            Ok(count) => repeat(case, count).map_err(failed),
            Err(_) => Err(format!("`{count}` is no number of calls")),
        },
        _ => Err("expected `measure`, or the name of a case and how often to run it".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// The message of an error.
pub fn failed(error: impl Display) -> String {
    error.to_string()
}

fn print(figures: Vec<Measured>) {
    for (name, value) in figures {
        println!("{name} {value}");
    }
}
