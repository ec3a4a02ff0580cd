//! `cargo xtask instructions`: counts the machine instructions of a call, without a clock.
//!
//! A timing on a shared machine varies by more than a dispatch costs; an instruction count does not.
//! A measuring program runs a case `n` times; valgrind's callgrind counts a short and a long run, and the difference
//! divided by the difference of `n` is the cost of one call, start-up and exit cancelled out.
//!
//! The measuring program is the example or bench target [`PROGRAM`] of any package, or the one given with `--binary`:
//!
//! - `program --list` prints a line `CASE BUDGET` per case, the budget in instructions per call or `-` for none;
//! - `program CASE N` runs the case `N` times and ends with status 0.
//!
//! An instruction that locks the memory bus costs more than a whole dispatch and counts as one, so those that run at
//! least once per call are listed too.

pub mod callgrind;
mod disassembly;

use crate::failure::Failure;
use crate::workspace::{Workspace, output};
use callgrind::Profile;
use disassembly::Locked;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target that measures the calls of the dispatcher.
const PROGRAM: &str = "call_instructions";

/// How often a case runs in the short and in the long run. Start-up differs by some hundred instructions between two
/// runs, because the standard library's hash maps are seeded at random: the span makes that disappear.
const SHORT: u64 = 1_000;
const LONG: u64 = 21_000;

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Options {
    check: bool,
    json: Option<PathBuf>,
    binary: Option<PathBuf>,
    cases: Vec<String>,
}

/// Something the measuring program can run.
#[derive(Clone, Debug, PartialEq)]
struct Case {
    name: String,
    /// The most instructions that a call may take.
    budget: Option<f64>,
}

/// What a case costs.
#[derive(Debug)]
struct Figure {
    case: Case,
    /// Instructions per call.
    instructions: f64,
    /// The locked instructions that run at least once per call.
    locked: Vec<Locked>,
}

/// Measures the cases named in `arguments`, or all of them.
///
/// # Errors
/// The arguments are wrong or name an unknown case (usage errors); valgrind is missing; the measuring program does
/// not build or fails; with `--check`, a figure is above its budget.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    let program = match &options.binary {
        Some(binary) => std::path::absolute(binary)
            .map_err(|error| Failure::new(format!("cannot use {}: {error}", binary.display())))?,
        None => build(&Workspace::current()?)?,
    };
    let listed = parse_cases(&output(Command::new(&program).arg("--list"))?)?;
    let figures = measure_all(&program, &chosen(listed, &options.cases)?)?;
    println!("{}", table(&figures));
    if let Some(file) = &options.json {
        let text = format!("{:#}\n", report(&figures));
        std::fs::write(file, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    }
    if options.check { within_budget(&figures) } else { Ok(()) }
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut file = || {
                let file = arguments.next().map(PathBuf::from);
                file.ok_or_else(|| Failure::usage(format!("`{argument}` needs a file, add its name")))
            };
            match argument.as_str() {
                "--check" => options.check = true,
                "--json" => options.json = Some(file()?),
                "--binary" => options.binary = Some(file()?),
                flag if flag.starts_with('-') => {
                    let known = "`--check`, `--json FILE` and `--binary FILE`";
                    return Err(Failure::usage(format!("unknown option `{flag}`; options are {known}")));
                }
                case => options.cases.push(case.to_string()),
            }
        }
        Ok(options)
    }
}

/// Builds the measuring program with optimisation and says where it lies.
fn build(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let (package, kind) = find_target(&workspace.packages()?).ok_or_else(|| {
        Failure::new(format!(
            "no package has an example or bench `{PROGRAM}`; name a program with --binary FILE"
        ))
    })?;
    workspace.build(&["--package", &package, &format!("--{kind}"), PROGRAM], PROGRAM)
}

/// The package that has the measuring program, and which kind of target it is.
fn find_target(packages: &[Value]) -> Option<(String, &'static str)> {
    for package in packages {
        for target in package["targets"].as_array().into_iter().flatten() {
            let is_kind =
                |kind: &&str| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind));
            let kind = ["example", "bench"].into_iter().find(is_kind);
            if let (true, Some(kind), Some(name)) =
                (target["name"] == PROGRAM, kind, package["name"].as_str())
            {
                return Some((name.to_string(), kind));
            }
        }
    }
    None
}

/// Reads what `program --list` printed.
fn parse_cases(listed: &str) -> Result<Vec<Case>, Failure> {
    let lines = listed.lines().filter(|line| !line.trim().is_empty());
    let cases: Result<Vec<Case>, Failure> = lines.map(parse_case).collect();
    match cases {
        Ok(cases) if cases.is_empty() => {
            Err(Failure::new("the measuring program lists no cases, expected `CASE BUDGET`"))
        }
        cases => cases,
    }
}

fn parse_case(line: &str) -> Result<Case, Failure> {
    let parsed = match line.split_whitespace().collect::<Vec<_>>()[..] {
        [name, "-"] => Some(Case { name: name.into(), budget: None }),
        [name, budget] => budget.parse().ok().map(|budget| Case { name: name.into(), budget: Some(budget) }),
        _ => None,
    };
    let expected = "expected `CASE BUDGET` with a number or `-` as the budget";
    parsed.ok_or_else(|| Failure::new(format!("the measuring program listed the case `{line}`, {expected}")))
}

/// The listed cases that were asked for, or all.
fn chosen(listed: Vec<Case>, names: &[String]) -> Result<Vec<Case>, Failure> {
    if let Some(unknown) = names.iter().find(|name| listed.iter().all(|case| case.name != **name)) {
        let known: Vec<&str> = listed.iter().map(|case| case.name.as_str()).collect();
        return Err(Failure::usage(format!("unknown case `{unknown}`; cases are: {}", known.join(", "))));
    }
    Ok(listed.into_iter().filter(|case| names.is_empty() || names.contains(&case.name)).collect())
}

fn measure_all(program: &Path, cases: &[Case]) -> Result<Vec<Figure>, Failure> {
    let mut disassembled = BTreeMap::new();
    cases.iter().map(|case| measure(program, case, &mut disassembled)).collect()
}

/// Measures one case; `disassembled` keeps the locked instructions of each object file from case to case.
fn measure(program: &Path, case: &Case, disassembled: &mut Disassembled) -> Result<Figure, Failure> {
    let short = callgrind::total(program, &case.name, SHORT)?;
    let long = callgrind::profile(program, &case.name, LONG)?;
    let instructions = (long.total as f64 - short as f64) / (LONG - SHORT) as f64;
    let locked = locked_on_path(&long, disassembled)?;
    Ok(Figure { case: case.clone(), instructions, locked })
}

/// The locked instructions of each object file by address.
type Disassembled = BTreeMap<String, BTreeMap<u64, disassembly::Instruction>>;

/// The locked instructions that ran at least once per call.
fn locked_on_path(profile: &Profile, disassembled: &mut Disassembled) -> Result<Vec<Locked>, Failure> {
    let mut found = Vec::new();
    for (object, executed) in profile.executed_at_least(LONG) {
        // Callgrind calls code that belongs to no file `???`.
        if !Path::new(object).is_file() {
            continue;
        }
        if !disassembled.contains_key(object) {
            disassembled.insert(object.to_string(), disassembly::locked_instructions(object)?);
        }
        let instructions = &disassembled[object];
        found.extend(executed.into_iter().filter_map(|(address, count)| {
            let instruction = instructions.get(&address)?.clone();
            Some(Locked { instruction, per_call: count as f64 / LONG as f64 })
        }));
    }
    Ok(found)
}

impl Figure {
    /// Locked instructions per call.
    fn locked_per_call(&self) -> f64 {
        // Not `sum`, which is -0.0 for no summands.
        self.locked.iter().fold(0.0, |sum, locked| sum + locked.per_call)
    }

    fn is_above_budget(&self) -> bool {
        self.case.budget.is_some_and(|budget| self.instructions > budget)
    }
}

/// The figures for people.
fn table(figures: &[Figure]) -> String {
    let width = figures.iter().map(|figure| figure.case.name.len()).max().unwrap_or(0).max("case".len());
    let mut text = format!("{:width$}  {:>13}  {:>8}  {:>8}", "case", "instructions", "budget", "locked");
    for figure in figures {
        let budget = figure.case.budget.map_or("-".into(), |budget| format!("{budget:.1}"));
        let above = if figure.is_above_budget() { "  above its budget" } else { "" };
        let (name, instructions, locked) = (&figure.case.name, figure.instructions, figure.locked_per_call());
        text += &format!("\n{name:width$}  {instructions:>13.1}  {budget:>8}  {locked:>8.1}{above}");
    }
    for figure in figures {
        for Locked { instruction, per_call } in &figure.locked {
            let disassembly::Instruction { text: found, function } = instruction;
            text += &format!("\n{}: {per_call:.1} times per call: {found} in {function}", figure.case.name);
        }
    }
    text
}

/// The figures for programs, in the form that all suites share.
fn report(figures: &[Figure]) -> Value {
    let row = |name: &str, unit: &str, ours: f64, budget: Option<f64>| json!({"name": name, "unit": unit, "ours": ours, "peer": null, "ratio": null, "budget": budget});
    let rows: Vec<Value> = figures
        .iter()
        .flat_map(|figure| {
            let locked = format!("{}_locked", figure.case.name);
            [
                row(&figure.case.name, "instructions", figure.instructions, figure.case.budget),
                row(&locked, "locked instructions", figure.locked_per_call(), None),
            ]
        })
        .collect();
    json!({"suite": "instructions", "figures": rows})
}

fn within_budget(figures: &[Figure]) -> Result<(), Failure> {
    let above: Vec<&str> = figures
        .iter()
        .filter(|figure| figure.is_above_budget())
        .map(|figure| figure.case.name.as_str())
        .collect();
    if above.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "above the budget: {}; make the call shorter, the table says by how much",
        above.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, Failure> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    fn figure(name: &str, instructions: f64, budget: Option<f64>, locked: Vec<Locked>) -> Figure {
        Figure { case: Case { name: name.into(), budget }, instructions, locked }
    }

    fn locked(per_call: f64) -> Locked {
        let instruction =
            disassembly::Instruction { text: "lock incq (%rax)".into(), function: "clone".into() };
        Locked { instruction, per_call }
    }

    #[test]
    fn options_are_read_in_any_order() {
        let found = options("one --json a.json two --check").unwrap();
        assert_eq!(found.cases, ["one", "two"]);
        assert_eq!((found.check, found.json, found.binary), (true, Some("a.json".into()), None));
        assert_eq!(options("").unwrap(), Options::default());
    }

    #[test]
    fn wrong_options_are_usage_errors() {
        for line in ["--json", "one --binary", "--what"] {
            assert!(options(line).unwrap_err().is_usage(), "{line}");
        }
    }

    #[test]
    fn cases_have_a_budget_or_none() {
        let cases = parse_cases("typed_call_2 55\n\nboxed -\n").unwrap();
        assert_eq!(cases[0], Case { name: "typed_call_2".into(), budget: Some(55.0) });
        assert_eq!(cases[1], Case { name: "boxed".into(), budget: None });
        for wrong in ["", "typed_call_2", "typed_call_2 many", "a 1 2"] {
            assert!(parse_cases(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_unknown_case_is_a_usage_error_that_lists_the_cases() {
        let listed = parse_cases("one 1\ntwo 2").unwrap();
        assert_eq!(chosen(listed.clone(), &[]).unwrap().len(), 2);
        assert_eq!(chosen(listed.clone(), &["two".into()]).unwrap()[0].name, "two");
        let failure = chosen(listed, &["three".into()]).unwrap_err();
        assert!(failure.is_usage());
        assert_eq!(failure.to_string(), "unknown case `three`; cases are: one, two");
    }

    #[test]
    fn the_target_is_an_example_or_a_bench() {
        let package = |name: &str, target: &str, kind: &str| json!({"name": name, "targets": [{"name": target, "kind": [kind]}]});
        let packages =
            [package("a", "a", "lib"), package("b", PROGRAM, "test"), package("c", PROGRAM, "bench")];
        assert_eq!(find_target(&packages), Some(("c".into(), "bench")));
        assert_eq!(find_target(&packages[..2]), None);
    }

    #[test]
    fn a_figure_above_its_budget_fails_the_check() {
        let within = [figure("one", 55.0, Some(55.0), vec![]), figure("two", 900.0, None, vec![])];
        assert!(within_budget(&within).is_ok());
        let above = [figure("one", 55.1, Some(55.0), vec![])];
        let failure = within_budget(&above).unwrap_err();
        assert!(failure.to_string().starts_with("above the budget: one;"), "{failure}");
        assert!(table(&above).lines().last().unwrap().ends_with("above its budget"));
    }

    #[test]
    fn the_report_has_a_row_for_the_count_and_one_for_the_locks() {
        let report = report(&[figure("one", 44.0, Some(55.0), vec![locked(1.0), locked(2.0)])]);
        assert_eq!(report["suite"], "instructions");
        let expected = json!([
            {"name": "one", "unit": "instructions", "ours": 44.0, "peer": null, "ratio": null, "budget": 55.0},
            {"name": "one_locked", "unit": "locked instructions", "ours": 3.0, "peer": null, "ratio": null, "budget": null},
        ]);
        assert_eq!(report["figures"], expected);
    }

    #[test]
    fn the_table_names_each_locked_instruction_and_its_function() {
        let table = table(&[figure("one", 44.0, None, vec![locked(2.0)])]);
        assert_eq!(table.lines().last().unwrap(), "one: 2.0 times per call: lock incq (%rax) in clone");
    }
}
