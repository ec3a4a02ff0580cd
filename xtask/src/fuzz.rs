//! `cargo xtask fuzz`: random inputs, chosen by what they make the code do, for as long as one likes.
//!
//! The targets are the binaries of the crate in `fuzz/`. libFuzzer counts which branches an input takes; the flags below
//! make a stable compiler put the counters in. What was found worth keeping stays in `target/fuzz/corpus`, an input that
//! fails in `target/fuzz/artifacts`.

use crate::failure::Failure;
use crate::workspace::{Workspace, host, passes};
use std::path::Path;
use std::process::Command;

/// The targets, as `fuzz/Cargo.toml` names them.
const TARGETS: &[&str] =
    &["schema_text", "boxed_stacks", "registration_programs", "files", "graphs", "tensors"];

/// What the compiler has to put in for libFuzzer.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    targets: Vec<&'static str>,
    /// How long each runs; 0 for as long as it takes.
    seconds: u64,
    /// How many inputs each tries at most.
    runs: Option<u64>,
}

/// Runs the targets named in `arguments`, or all of them, one after the other.
///
/// # Errors
/// The arguments are wrong (a usage error), the targets do not build, or an input fails.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    let workspace = Workspace::current()?;
    let host = host()?;
    let folder = workspace.target()?.join("fuzz");
    let mut build = workspace.cargo();
    build.args(["build", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"]);
    // With a target named, programs that run while building are built without the flags.
    build.args(["--target", &host]).arg("--target-dir").arg(&folder).env("RUSTFLAGS", FLAGS);
    passes(&mut build)?;
    let mut failed = Vec::new();
    for target in &options.targets {
        println!("\n==> {target}, for {}", options.length());
        let mut program = Command::new(folder.join(&host).join("release").join(target));
        let words = workspace.root().join("fuzz").join(format!("{target}.dict"));
        if words.is_file() {
            program.arg(format!("-dict={}", words.display()));
        }
        // The others run all the same: a finding in one says nothing about them.
        failed.extend(fuzz(&mut program, &folder, target, &options).err().map(|failure| failure.to_string()));
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(failed.join("\n"))) }
}

fn fuzz(program: &mut Command, folder: &Path, target: &str, options: &Options) -> Result<(), Failure> {
    let (corpus, artifacts) = (folder.join("corpus").join(target), folder.join("artifacts").join(target));
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    }
    program.arg(format!("-max_total_time={}", options.seconds));
    program.args(options.runs.map(|runs| format!("-runs={runs}")));
    // Inputs grow soon: short programs do little.
    program.args(["-print_final_stats=1", "-timeout=20", "-max_len=1024", "-len_control=5"]);
    // The prefix is put before a name, so it ends like a folder.
    program.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(corpus);
    passes(program).map_err(|failure| {
        let remedy = format!("give the input in {} to the target alone", artifacts.display());
        Failure::new(format!("{failure}; {remedy}"))
    })
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let (mut targets, mut seconds, mut runs) = (Vec::new(), None, None);
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--seconds" || argument == "--runs" {
                let given = arguments.next().and_then(|text| text.parse::<u64>().ok());
                let given = given.filter(|number| *number > 0).ok_or_else(|| {
                    Failure::usage(format!("`{argument}` needs a number above 0, as in `{argument} 60`"))
                })?;
                *(if argument == "--runs" { &mut runs } else { &mut seconds }) = Some(given);
                continue;
            }
            let target = TARGETS.iter().find(|target| *target == argument).ok_or_else(|| {
                let known = TARGETS.join(", ");
                Failure::usage(format!(
                    "unknown target `{argument}`; targets are: {known}; the options are `--seconds N` and `--runs N`"
                ))
            })?;
            targets.push(*target);
        }
        if targets.is_empty() {
            targets = TARGETS.to_vec();
        }
        // A number of runs alone takes the time that it takes.
        let seconds = seconds.unwrap_or(if runs.is_some() { 0 } else { 600 });
        Ok(Self { targets, seconds, runs })
    }

    /// How far each target goes, for people.
    fn length(&self) -> String {
        match (self.runs, self.seconds) {
            (None, seconds) => format!("{seconds} s"),
            (Some(runs), 0) => format!("{runs} runs"),
            (Some(runs), seconds) => format!("{runs} runs or {seconds} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn without_names_every_target_runs() {
        let all = |seconds, runs| Options { targets: TARGETS.to_vec(), seconds, runs };
        assert_eq!(parse("--seconds 5").unwrap(), all(5, None));
        assert_eq!(parse("--runs 7").unwrap(), all(0, Some(7)));
        assert_eq!(parse("--runs 7 --seconds 5").unwrap().length(), "7 runs or 5 s");
        let one = Options { targets: vec!["boxed_stacks"], seconds: 600, runs: None };
        assert_eq!(parse("boxed_stacks").unwrap(), one);
    }

    #[test]
    fn unknown_targets_and_missing_numbers_are_usage_errors() {
        for line in ["schema", "--seconds", "--seconds 0", "--runs", "--runs -3", "--times 3"] {
            assert!(parse(line).unwrap_err().is_usage(), "{line}");
        }
    }

    #[test]
    fn the_targets_are_those_of_the_manifest() {
        let manifest = include_str!("../../fuzz/Cargo.toml");
        let named: Vec<_> =
            manifest.split("[[bin]]\nname = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(named, TARGETS);
    }
}
