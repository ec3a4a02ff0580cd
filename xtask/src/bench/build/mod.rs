//! Measures what the compiler takes: builds after an edit, with many more operators too, and from nothing.
//!
//! Everything happens in a copy of the tree with a target folder of its own, so that neither touches the other. Wall time
//! varies with what else the machine does, the processor's time hardly: compare that.

mod copy;
mod cost;
mod lines;

use super::definition::Definition;
use super::samples::Samples;
use crate::dependencies::Dependencies;
use crate::failure::Failure;
use crate::workspace::{Workspace, output, shown};
use copy::{Copy, Place};
use cost::Cost;
use lines::Lines;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// How many families are added for the figures that say how builds grow, and what those figures end in.
const MORE: usize = 300;

/// Examples that link the operators they name, with their figures.
const EXAMPLES: [(&str, &str); 2] = [("small_binary", "few-operators"), ("model_binary", "run-model")];

/// An edit, and what is built after it.
struct Step {
    /// The figure of its time.
    name: &'static str,
    place: Place,
    arguments: &'static [&'static str],
}

const STEPS: [Step; 4] = [
    Step { name: "edit_build", place: copy::OPERATOR, arguments: &["build"] },
    Step { name: "edit_loop", place: copy::LOOP, arguments: &["build"] },
    Step { name: "edit_release", place: copy::OPERATOR, arguments: &["build", "--release"] },
    Step { name: "edit_tests", place: copy::OPERATOR, arguments: TESTS },
];

/// What an author runs after an edit: every check on the samples of the operator, which [`OPERATORS`] names. It compiles the crate
/// of the operator with its samples, and one program with all operators; what else tests operators is other programs.
const TESTS: &[&str] = &["test", "--package", "opgrid-testing", "--test", "cpu"];

/// The variable that names operators to the suite, and the one that is edited.
const OPERATORS: [&str; 2] = ["OPERATORS", "aten::exp"];

/// The crates whose lines are counted apart: macros run in the compiler, and generics of the core are compiled in other crates.
const MACROS: &str = "opgrid-macros";
const CORE: &str = "opgrid-core";

/// The package of the command line.
const PROGRAM: &str = "opgrid-cli";

/// What was measured, and what people should know about it.
pub struct Measured {
    pub samples: Samples,
    pub notes: Vec<String>,
}

/// Measures the figures, those of edits `rounds` times; with `cold` the tests from nothing, too.
///
/// # Errors
/// The copy does not build, or the edits no longer fit the operators.
pub fn measure(
    workspace: &Workspace,
    figures: &[Definition],
    rounds: u32,
    cold: bool,
) -> Result<Measured, Failure> {
    let wants = |name: &str| figures.iter().any(|figure| figure.name == name || figure.name == cpu(name));
    let mut session =
        Session { copy: Copy::create(workspace)?, samples: Samples::default(), notes: Vec::new() };
    session.notes.push(load());
    if wants("cold_demo") || wants("binary") {
        session.time("cold_demo", &["run", "--release", "--", "demo"])?;
    }
    if wants("binary") {
        session.weigh("binary", "opgrid")?;
    }
    for (figure, example) in EXAMPLES.into_iter().filter(|(figure, _)| wants(figure)) {
        session.cargo(&["build", "--release", "--package", example])?;
        session.weigh(figure, example)?;
    }
    for (families, ending) in [(0, String::new()), (MORE, format!("_{MORE}"))] {
        let is_wanted = |step: &&Step| {
            wants(&format!("{}{ending}", step.name)) || wants(&format!("{}_growth", step.name))
        };
        let steps: Vec<&Step> = STEPS.iter().filter(is_wanted).collect();
        if steps.is_empty() {
            continue;
        }
        session.copy.add_families(families)?;
        for step in steps {
            session.cargo(step.arguments)?;
            for _ in 0..rounds {
                session.copy.edit(step.place)?;
                let processor = session.time(&format!("{}{ending}", step.name), step.arguments)?;
                let part = if families == 0 { "one" } else { "two" };
                session.samples.add(&format!("{}_growth.{part}", step.name), processor);
            }
        }
        session.copy.remove_families(families)?;
    }
    if wants("llvm_lines") || wants("llvm_lines_core") {
        session.count_lines(workspace)?;
    }
    if cold && wants("cold_test") {
        // Last, because everything that was built is built anew.
        session.copy.take_edits_back()?;
        session.copy.empty_target()?;
        session.time("cold_test", &["xtask", "test"])?;
    }
    Ok(Measured { samples: session.samples, notes: session.notes })
}

/// The figure of the processor's time beside that of time.
fn cpu(name: &str) -> String {
    format!("{name}_cpu")
}

/// What else the machine does, as wall times depend on it.
fn load() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("unknown").to_owned();
    format!("{cores} cores, load before the first build: {load}")
}

/// The copy, and what was measured in it so far.
struct Session {
    copy: Copy,
    samples: Samples,
    notes: Vec<String>,
}

impl Session {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.copy.cargo();
        command.args(arguments);
        if arguments == TESTS {
            let [variable, operator] = OPERATORS;
            command.env(variable, operator);
        }
        command
    }

    fn cargo(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut command = self.command(arguments);
        let output = command.stdin(Stdio::null()).output();
        let shown = shown(&command);
        let output = output.map_err(|error| Failure::new(format!("cannot run `{shown}`: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Failure::new(format!("`{shown}` failed in a copy of the tree with {}:\n{said}", output.status)))
    }

    /// Measures both times of a command, and gives the processor's.
    fn time(&mut self, name: &str, arguments: &[&str]) -> Result<f64, Failure> {
        println!("measuring {name}: cargo {}", arguments.join(" "));
        let cost = Cost::measure(|| self.cargo(arguments))?;
        println!("  {:.1} s, {:.1} s of the processor", cost.wall, cost.processor);
        self.samples.add(name, cost.wall);
        self.samples.add(&cpu(name), cost.processor);
        Ok(cost.processor)
    }

    /// Measures the size of a program without symbols.
    fn weigh(&mut self, name: &str, program: &str) -> Result<(), Failure> {
        let stripped = self.copy.target().join("stripped");
        let program = self.copy.target().join("release").join(program);
        output(Command::new("strip").arg("-o").arg(&stripped).arg(program))?;
        self.samples.add(name, size(&stripped)? as f64 / 1e6);
        Ok(())
    }

    /// Counts what the compiler gives LLVM for all of our crates that the command line consists of.
    fn count_lines(&mut self, workspace: &Workspace) -> Result<(), Failure> {
        let installed = self.command(&["llvm-lines", "--version"]).output();
        if !installed.is_ok_and(|output| output.status.success()) {
            self.notes.push(
                "LLVM's lines are not counted: `cargo install cargo-llvm-lines` brings the program".into(),
            );
            return Ok(());
        }
        let dependencies = Dependencies::from_workspace(workspace)?;
        let crates: Vec<&str> = dependencies.ours_in(PROGRAM).filter(|name| *name != MACROS).collect();
        let (mut all, mut above, mut core) = (0, 0, 0);
        for name in crates {
            println!("counting LLVM's lines of {name}");
            let arguments = ["llvm-lines", "--quiet", "--release", "--package", name, "--lib"];
            let lines = Lines::read(&output(&mut self.command(&arguments))?)?;
            println!("  {} lines, {} of them of generics of the core", lines.all, lines.core);
            all += lines.all;
            if name != CORE {
                (above, core) = (above + lines.all, core + lines.core);
            }
        }
        self.samples.add("llvm_lines", all as f64 / 1e6);
        self.samples.add("llvm_lines_core", 100.0 * core as f64 / above as f64);
        Ok(())
    }
}

fn size(file: &Path) -> Result<u64, Failure> {
    let unreadable = |error| {
        let name = file.file_name().unwrap_or(OsStr::new("")).to_string_lossy().into_owned();
        Failure::new(format!("cannot look at {name}: {error}"))
    };
    Ok(std::fs::metadata(file).map_err(unreadable)?.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::definition::Suite;
    use std::collections::BTreeSet;

    #[test]
    fn every_figure_is_defined_and_measured() {
        let suite = Suite::parse(include_str!("../../../../bench/build.json")).unwrap();
        let defined: BTreeSet<String> = suite.figures.into_iter().map(|figure| figure.name).collect();
        let mut timed = vec!["cold_demo".to_owned(), "cold_test".to_owned()];
        timed.extend(STEPS.iter().flat_map(|Step { name, .. }| [name.to_string(), format!("{name}_{MORE}")]));
        let mut measured: BTreeSet<String> = timed.iter().map(|name| cpu(name)).collect();
        measured.extend(timed);
        measured.extend(STEPS.iter().map(|Step { name, .. }| format!("{name}_growth")));
        measured.extend(["llvm_lines", "llvm_lines_core", "binary"].map(String::from));
        measured.extend(EXAMPLES.map(|(figure, _)| figure.to_owned()));
        assert_eq!(defined, measured);
    }
}
