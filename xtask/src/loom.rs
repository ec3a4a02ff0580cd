//! `cargo xtask loom`: the protocols of retirement and of storages' borrows in every order of their steps, and mutants of
//! them that must fail.
//!
//! The models are the test `loom` of `opgrid-core`. A model that passes proves little unless it can fail: each mutant
//! leaves out one barrier or one ordering, and the models that rely on it have to notice.

use crate::failure::Failure;
use crate::workspace::{Workspace, passes, shown};
use std::process::Command;
use std::time::Instant;

/// What a mutant does without, and a model that must fail then.
const MUTANTS: &[(&str, &str)] = &[
    ("light-barrier", "calls_under_the_barrier"),
    ("heavy-barrier", "calls_under_the_barrier"),
    ("fence", "unlisted_calls"),
    ("nest-release", "calls_under_the_barrier"),
    ("nest-acquire", "calls_under_the_barrier"),
    ("clock-release", "calls_that_report"),
    ("clock-acquire", "calls_that_report"),
    ("pointer-release", "calls_under_the_barrier"),
    ("pointer-acquire", "calls_under_the_barrier"),
    ("light-barrier", "storages::a_maker_reads_while_another_writes"),
    ("heavy-barrier", "storages::a_maker_writes_while_another_reads"),
    ("borrow-release", "storages::a_maker_reads_while_another_writes"),
    ("borrow-acquire", "storages::a_maker_reads_while_another_writes"),
];

/// Runs the models, then the mutants.
///
/// # Errors
/// There are arguments (a usage error), a model fails, or a mutant does not.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(argument) = arguments.first() {
        return Err(Failure::usage(format!("`loom` takes no arguments, found `{argument}`; leave it out")));
    }
    let workspace = Workspace::current()?;
    let start = Instant::now();
    passes(&mut models(&workspace)?)?;
    println!("the models hold, in {:.1} s; without", start.elapsed().as_secs_f64());
    for &(without, model) in MUTANTS {
        must_fail(&workspace, without, model)?;
        println!("  {without:16} {model} fails, as it must");
    }
    Ok(())
}

/// The models, in a folder of their own: everything is compiled once more for them.
fn models(workspace: &Workspace) -> Result<Command, Failure> {
    let mut command = workspace.cargo();
    command.args(["test", "--quiet", "--release", "--package", "opgrid-core", "--test", "loom"]);
    command.arg("--target-dir").arg(workspace.target()?.join("loom"));
    command.env("RUSTFLAGS", "--cfg loom").env("RUST_BACKTRACE", "0");
    Ok(command)
}

fn must_fail(workspace: &Workspace, without: &str, model: &str) -> Result<(), Failure> {
    let mut command = models(workspace)?;
    command.args(["--", "--exact", model]).env("OPGRID_LOOM_WITHOUT", without);
    let output = command
        .output()
        .map_err(|error| Failure::new(format!("cannot run `{}`: {error}", shown(&command))))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if has_failed(&printed, model) {
        return Ok(());
    }
    let message = "passes, so the model cannot tell; let it cover more orders";
    Err(Failure::new(format!("{model} without {without} {message}:\n{printed}")))
}

/// Whether the test ran and failed; a program that does not build fails no test.
fn has_failed(printed: &str, model: &str) -> bool {
    printed.contains("test result: FAILED. 0 passed; 1 failed")
        && printed.contains(&format!("---- {model} stdout"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_model_itself_counts_as_failed() {
        let failed = "---- unlisted_calls stdout ----\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored";
        assert!(has_failed(failed, "unlisted_calls"));
        assert!(!has_failed(failed, "two_writers"));
        assert!(!has_failed("test result: ok. 1 passed; 0 failed", "unlisted_calls"));
        assert!(!has_failed("error: could not compile", "unlisted_calls"));
    }
}
