//! `cargo xtask budgets`: how much there is to build, beside what there may be.
//!
//! Times say little on a machine that does other things, too. What takes the time can be counted, and is the same everywhere:
//! packages, functions, and the bytes of their instructions. `bench/budgets.json` says how many each crate may have; to have
//! more, change it there (docs/design/0020-what-builds-take.md). Code is counted in the libraries that `cargo test` builds,
//! compiled without increments: with them, the compiler divides and inlines otherwise.

mod code;

use crate::dependencies::Dependencies;
use crate::failure::Failure;
use crate::workspace::{Workspace, host, output};
use code::Code;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Command;

/// The file of the budgets.
const FILE: &str = "bench/budgets.json";

/// The variable of cargo that says whether it compiles with increments.
const INCREMENTAL: &str = "CARGO_INCREMENTAL";

/// What budgets of code are above what was found when they were written: 10 %. Packages have no room, each is a decision.
const ROOM: u64 = 10;

/// What is counted of a crate, as in the file.
const PACKAGES: &str = "packages";
const FUNCTIONS: &str = "functions";
const TEXT: &str = "text";

/// Compares everything with the budgets, or with `--write` writes budgets after what is found.
///
/// # Errors
/// The argument is another one (a usage error); the crates do not build; a budget is exceeded.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let write = match arguments {
        [] => false,
        [option] if option == "--write" => true,
        _ => return Err(Failure::usage("expected no argument, or `--write`")),
    };
    let workspace = Workspace::current()?;
    let mut found = Found::counted(&workspace)?;
    found.add_code(&workspace)?;
    if write {
        let text = serde_json::to_string_pretty(&found.budgets())
            .map_err(|error| Failure::new(format!("cannot write {FILE}: {error}")))?;
        std::fs::write(workspace.root().join(FILE), text + "\n")
            .map_err(|error| Failure::new(format!("cannot write {FILE}: {error}")))?;
    }
    found.compare(&budgets(&workspace)?)
}

/// The step of `cargo xtask test`. Where the tests were compiled with increments, code is not counted, as everything would
/// have to be compiled again.
///
/// # Errors
/// As [`run`].
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    let mut found = Found::counted(workspace)?;
    if std::env::var(INCREMENTAL).is_ok_and(|value| value == "0") {
        found.add_code(workspace)?;
    } else {
        println!(
            "code is not counted, as the tests were compiled with increments; `cargo xtask budgets` counts it, and so does CI"
        );
    }
    found.compare(&budgets(workspace)?)
}

fn budgets(workspace: &Workspace) -> Result<Value, Failure> {
    let text = workspace.read(FILE)?.unwrap_or_default();
    serde_json::from_str(&text).map_err(|error| Failure::new(format!("{FILE}: {error}")))
}

/// What was counted.
#[derive(Debug, Default)]
struct Found {
    /// Packages from elsewhere.
    packages: u64,
    /// The code of each crate of the workspace.
    crates: BTreeMap<String, BTreeMap<&'static str, u64>>,
    /// What code depends on, if it was counted.
    made_by: Option<Maker>,
}

/// A compiler, and the system that it compiles for.
#[derive(Debug, PartialEq)]
struct Maker {
    compiler: String,
    target: String,
}

impl Maker {
    fn current() -> Result<Self, Failure> {
        let compiler = output(Command::new("rustc").arg("--version"))?.trim().to_owned();
        Ok(Self { compiler, target: host()? })
    }
}

impl Found {
    /// What manifests and the lock file tell.
    fn counted(workspace: &Workspace) -> Result<Self, Failure> {
        let dependencies = Dependencies::from_workspace(workspace)?;
        let packages = workspace.packages()?;
        let crates = packages.iter().filter(|package| is_library(package, workspace));
        let count = |name: &str| BTreeMap::from([(PACKAGES, dependencies.count(name) as u64)]);
        let crates = crates.filter_map(|package| package["name"].as_str());
        Ok(Self {
            packages: dependencies.foreign() as u64,
            crates: crates.map(|name| (name.to_owned(), count(name))).collect(),
            made_by: None,
        })
    }

    /// Builds the libraries as for tests, and counts their code.
    fn add_code(&mut self, workspace: &Workspace) -> Result<(), Failure> {
        let mut build = workspace.cargo();
        // What `cargo xtask test` has built by now: with another selection features would be others, and all compiled anew.
        build.args(["test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics"]);
        let messages = output(build.env(INCREMENTAL, "0"))?;
        self.made_by = Some(Maker::current()?);
        for (name, file) in messages.lines().filter_map(library) {
            let Some(figures) = self.crates.get_mut(&name) else { continue };
            let unreadable =
                |error: String| Failure::new(format!("cannot count the code of {name} in {file}: {error}"));
            let archive = std::fs::read(&file).map_err(|error| unreadable(error.to_string()))?;
            let code = Code::from_archive(&archive).map_err(|error| unreadable(error.to_string()))?;
            // One that is built with several sets of features counts with the most code.
            for (figure, value) in [(FUNCTIONS, code.functions), (TEXT, code.text)] {
                let most = figures.entry(figure).or_default();
                *most = value.max(*most);
            }
        }
        Ok(())
    }

    /// Budgets for what was found, with room for code.
    fn budgets(&self) -> Value {
        let budget = |(figure, value): (&&'static str, &u64)| {
            let room = if *figure == PACKAGES { *value } else { rounded(value + value * ROOM / 100) };
            ((*figure).to_owned(), json!(room))
        };
        let crates = self
            .crates
            .iter()
            .map(|(name, figures)| (name.clone(), Value::Object(figures.iter().map(budget).collect())));
        let crates = Value::Object(crates.collect());
        let maker = self.made_by.as_ref();
        json!({
            "compiler": maker.map(|maker| &maker.compiler),
            "target": maker.map(|maker| &maker.target),
            "packages": self.packages,
            "crates": crates,
        })
    }

    /// Prints what was found beside budgets, and fails where there is more.
    fn compare(&self, budgets: &Value) -> Result<(), Failure> {
        let written = |key: &str| budgets[key].as_str().unwrap_or_default().to_owned();
        let written = Maker { compiler: written("compiler"), target: written("target") };
        // Other instructions are other figures.
        let is_comparable = self.made_by.as_ref().is_none_or(|maker| maker.target == written.target);
        if !is_comparable {
            println!("code is not compared: budgets are those of {}", written.target);
        }
        let mut exceeded = Vec::new();
        let mut row = |name: &str, figure: &str, found: u64, budget: &Value| {
            let shown = budget.as_u64().map_or("-".into(), |budget| budget.to_string());
            println!("{name:<32} {figure:<10} {found:>10} of {shown:>10}");
            if budget.as_u64().is_none_or(|budget| found > budget) {
                exceeded.push(format!("{name} has {found} {}, budget {shown}", unit(figure)));
            }
        };
        row("the workspace", PACKAGES, self.packages, &budgets["packages"]);
        for (name, figures) in &self.crates {
            for (figure, found) in figures.iter().filter(|(figure, _)| is_comparable || **figure == PACKAGES)
            {
                row(name, figure, *found, &budgets["crates"][name][*figure]);
            }
        }
        let listed = budgets["crates"].as_object().into_iter().flatten();
        let gone = listed.map(|(name, _)| name).filter(|name| !self.crates.contains_key(*name));
        exceeded.extend(gone.map(|name| format!("there is no crate `{name}`")));
        if exceeded.is_empty() {
            return Ok(());
        }
        let mut message = format!(
            "more to build than {FILE} allows:\n  {}\nmake it less, or change the budget in {FILE} and say in the commit why builds \
             may take longer (docs/design/0020-what-builds-take.md); `cargo xtask budgets --write` writes all budgets anew",
            exceeded.join("\n  ")
        );
        if let Some(maker) = self.made_by.as_ref().filter(|maker| maker.compiler != written.compiler) {
            message += &format!("\nbudgets are those of {}, this is {}", written.compiler, maker.compiler);
        }
        Err(Failure::new(message))
    }
}

/// What a figure counts.
fn unit(figure: &str) -> &str {
    match figure {
        TEXT => "bytes of instructions",
        PACKAGES => "packages to build",
        figure => figure,
    }
}

/// Up to three digits that say something.
fn rounded(value: u64) -> u64 {
    let unit = 10u64.pow(value.max(1).ilog10().saturating_sub(2));
    value.div_ceil(unit) * unit
}

/// Whether a package is one of the libraries, and no example or tool.
fn is_library(package: &Value, workspace: &Workspace) -> bool {
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    let is_crate = std::path::Path::new(manifest).starts_with(workspace.root().join("crates"));
    let targets = package["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
    is_crate
        && targets
            .iter()
            .any(|target| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&json!("lib"))))
}

/// The name and the file of a library in what cargo says of a build. What runs in the compiler is built apart and not optimised.
fn library(line: &str) -> Option<(String, String)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let (target, profile) = (&message["target"], &message["profile"]);
    let is_library = target["kind"].as_array()?.contains(&json!("lib"));
    if !is_library || profile["test"] == true || profile["opt_level"] == "0" {
        return None;
    }
    let file = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
    let file = file.into_iter().find(|file| file.ends_with(".rlib"))?;
    Some((target["name"].as_str()?.replace('_', "-"), file.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: u64) -> Found {
        let figures = BTreeMap::from([(PACKAGES, 3), (FUNCTIONS, 20), (TEXT, text)]);
        Found {
            packages: 7,
            crates: BTreeMap::from([("opgrid-core".to_owned(), figures)]),
            made_by: Some(Maker { compiler: "rustc 1".into(), target: "x".into() }),
        }
    }

    #[test]
    fn budgets_leave_room_for_code_and_none_for_packages() {
        let budgets = found(123_456).budgets();
        let expected = json!({"packages": 3, "functions": 22, "text": 136_000});
        assert_eq!(budgets["crates"]["opgrid-core"], expected);
        assert_eq!((&budgets["packages"], &budgets["compiler"]), (&json!(7), &json!("rustc 1")));
        assert!(found(123_456).compare(&budgets).is_ok());
    }

    #[test]
    fn what_is_exceeded_is_told_with_the_crate_and_where_to_change_it() {
        let mut budgets = found(1000).budgets();
        budgets["compiler"] = json!("rustc 0");
        budgets["crates"]["opgrid-gone"] = json!({});
        let told = found(1200).compare(&budgets).unwrap_err().to_string();
        for part in [
            "opgrid-core has 1200 bytes of instructions, budget 1100",
            "there is no crate `opgrid-gone`",
            "change the budget in bench/budgets.json",
            "0020",
            "budgets are those of rustc 0, this is rustc 1",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!told.contains("functions"), "{told}");
    }

    #[test]
    fn a_crate_without_a_budget_fails() {
        let told = found(1).compare(&json!({"packages": 7, "target": "x"})).unwrap_err().to_string();
        assert!(told.contains("opgrid-core has 3 packages to build, budget -"), "{told}");
    }

    #[test]
    fn code_for_other_systems_is_not_compared() {
        let mut budgets = found(1000).budgets();
        budgets["target"] = json!("y");
        assert!(found(5000).compare(&budgets).is_ok());
    }

    #[test]
    fn libraries_are_found_in_what_cargo_says() {
        let said = |kind: &str, test: bool, level: &str| {
            json!({
                "target": {"kind": [kind], "name": "opgrid_core"},
                "profile": {"test": test, "opt_level": level},
                "filenames": ["/t/libopgrid_core-1.rlib", "/t/libopgrid_core-1.rmeta"],
            })
            .to_string()
        };
        let expected = Some(("opgrid-core".to_owned(), "/t/libopgrid_core-1.rlib".to_owned()));
        assert_eq!(library(&said("lib", false, "1")), expected);
        for other in
            [said("test", false, "1"), said("lib", true, "1"), said("lib", false, "0"), "text".into()]
        {
            assert_eq!(library(&other), None);
        }
    }
}
