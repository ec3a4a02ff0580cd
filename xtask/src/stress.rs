//! `cargo xtask stress`: many calls on several threads while one thread changes what is registered.
//!
//! The program is the test `stress` of `opgrid-core`, built with optimisations and told to run at full size: what CI
//! runs small and what is run here is the same code. It prints its progress and one table of verdicts.

use crate::failure::Failure;
use crate::workspace::{Workspace, passes};

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    calls: u64,
    threads: u64,
}

/// How long the kernel that blocks does so, in milliseconds.
const BLOCK_MS: &str = "3000";

/// Runs the stress test at full size.
///
/// # Errors
/// The arguments are wrong (a usage error), or something was violated.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    let workspace = Workspace::current()?;
    let mut command = workspace.cargo();
    command.args(["test", "--release", "--package", "opgrid-core", "--test", "stress", "--", "--nocapture"]);
    command.env("OPGRID_STRESS_CALLS", options.calls.to_string());
    command.env("OPGRID_STRESS_THREADS", options.threads.to_string());
    command.env("OPGRID_STRESS_BLOCK_MS", BLOCK_MS);
    passes(&mut command)
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self { calls: 100_000_000, threads: 6 };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let number = match argument.as_str() {
                "--calls" => &mut options.calls,
                "--threads" => &mut options.threads,
                _ => {
                    let known = "options are `--calls N` and `--threads T`";
                    return Err(Failure::usage(format!("unknown argument `{argument}`; {known}")));
                }
            };
            let given = arguments.next().and_then(|text| text.replace('_', "").parse().ok());
            *number = given.filter(|number| *number > 0).ok_or_else(|| {
                Failure::usage(format!("`{argument}` needs a number above 0, as in `{argument} 6`"))
            })?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_may_be_grouped() {
        let options = parse("--threads 2 --calls 1_000_000").unwrap();
        assert_eq!(options, Options { calls: 1_000_000, threads: 2 });
    }

    #[test]
    fn what_is_no_number_above_zero_is_a_usage_error() {
        for line in ["--calls", "--calls many", "--threads 0", "fast"] {
            assert!(parse(line).unwrap_err().is_usage(), "{line}");
        }
    }
}
