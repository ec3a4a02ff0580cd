//! `cargo xtask test`: runs everything that must pass, and stops at the first failure.
//!
//! CI runs exactly this. Nothing here needs the network beyond cargo's crates, and the
//! packages that the tests in Python import, once.
//! Example crates are members of the workspace (`tidy` checks that), so the steps cover them like any other crate.

use crate::budgets;
use crate::failure::Failure;
use crate::python::Package;
use crate::tidy;
use crate::workspace::{Workspace, passes};
use std::time::Instant;

/// A part of the run that can be asked for by name.
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn(&Workspace) -> Result<(), Failure>,
}

/// The steps in the order in which they run: what is quick to mend comes first.
const STEPS: &[Step] = &[
    Step { name: "fmt", about: "the sources are formatted", run: fmt },
    Step { name: "clippy", about: "no warning in any crate or target", run: clippy },
    Step { name: "test", about: "unit, integration and documentation tests", run: tests },
    Step { name: "budgets", about: "no crate has more to build than it may have", run: budgets::check },
    Step { name: "python", about: "the Python package", run: python },
    Step { name: "doc", about: "the documentation builds without a warning", run: doc },
    Step { name: "tidy", about: "the rules of the code base", run: tidy::check },
];

/// Runs the steps named in `arguments`, or all of them.
///
/// # Errors
/// A step is unknown (a usage error) or fails.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let steps = chosen(arguments)?;
    let workspace = Workspace::current()?;
    let start = Instant::now();
    for (index, step) in steps.iter().enumerate() {
        println!("\n==> {}/{} {}: {}", index + 1, steps.len(), step.name, step.about);
        let started = Instant::now();
        let result = (step.run)(&workspace);
        let seconds = started.elapsed().as_secs_f64();
        if let Err(failure) = result {
            let left: Vec<&str> = steps[index + 1..].iter().map(|step| step.name).collect();
            let left =
                if left.is_empty() { String::new() } else { format!("; not run: {}", left.join(", ")) };
            return Err(Failure::new(format!("{} failed after {seconds:.1} s: {failure}{left}", step.name)));
        }
        println!("{} passed in {seconds:.1} s", step.name);
    }
    println!("\nall passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The steps to run, always in the order of [`STEPS`].
fn chosen(names: &[String]) -> Result<Vec<&'static Step>, Failure> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(Failure::usage(format!("unknown step `{unknown}`; steps are: {}", known.join(", "))));
    }
    Ok(STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)).collect())
}

/// The modules in these folders, and in folders below, are declared by macros, where rustfmt does not find them.
const DECLARED_BY_MACROS: [&str; 2] = ["crates/opgrid-tensor/src/ops/", "crates/opgrid-operators-"];

fn fmt(workspace: &Workspace) -> Result<(), Failure> {
    let mut command = workspace.cargo();
    command.args(["fmt", "--all", "--check", "--"]);
    let is_declared = |path: &String| {
        DECLARED_BY_MACROS.iter().any(|start| path.starts_with(start)) && path.ends_with(".rs")
    };
    command.args(workspace.files()?.into_iter().filter(is_declared));
    passes(command.current_dir(workspace.root())).map_err(|_| {
        let [declarations, crates] = DECLARED_BY_MACROS;
        let remedy = format!("run `cargo fmt --all -- {declarations}*.rs {crates}*/src/*/*.rs`");
        Failure::new(format!("rustfmt would write some lines otherwise, {remedy}"))
    })
}

fn clippy(workspace: &Workspace) -> Result<(), Failure> {
    passes(workspace.cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn tests(workspace: &Workspace) -> Result<(), Failure> {
    passes(workspace.cargo().args(["test", "--workspace"]))
}

/// The module is built with the profile of the Rust tests, of which only its own crate is left to compile.
fn python(workspace: &Workspace) -> Result<(), Failure> {
    let package = Package::prepare(workspace, "dev")?;
    let mut command = package.command();
    command.current_dir(workspace.root()).args([
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "python/tests",
    ]);
    passes(&mut command)
}

fn doc(workspace: &Workspace) -> Result<(), Failure> {
    passes(workspace.cargo().args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        let arguments: Vec<String> = arguments.iter().map(|name| name.to_string()).collect();
        chosen(&arguments).unwrap().iter().map(|step| step.name).collect()
    }

    #[test]
    fn without_names_every_step_runs() {
        assert_eq!(names(&[]), ["fmt", "clippy", "test", "budgets", "python", "doc", "tidy"]);
    }

    #[test]
    fn named_steps_run_once_and_in_the_usual_order() {
        assert_eq!(names(&["tidy", "fmt", "tidy"]), ["fmt", "tidy"]);
    }

    #[test]
    fn an_unknown_step_is_a_usage_error_that_lists_the_steps() {
        let failure = chosen(&["fmt".into(), "bench".into()]).err().unwrap();
        assert!(failure.is_usage());
        assert_eq!(
            failure.to_string(),
            "unknown step `bench`; steps are: fmt, clippy, test, budgets, python, doc, tidy"
        );
    }
}
