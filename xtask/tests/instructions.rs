//! Runs `cargo xtask instructions` on a program whose costs are known.
//!
//! Where valgrind is not installed, the command has to say so and how it is fixed.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The measuring program, compiled into the test's own folder.
fn program() -> PathBuf {
    // Relative, since cargo runs tests in the package's folder: checkouts may share a target folder.
    let source = "tests/programs/counted.rs";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Cargo makes the folder when it compiles the test, not when it is there already.
    std::fs::create_dir_all(folder).expect("the folder can be made");
    let program = folder.join("counted");
    let compiled =
        Command::new("rustc").args(["--edition=2024", "-O", "-o"]).arg(&program).arg(source).output();
    let compiled = compiled.expect("rustc runs");
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    program
}

fn instructions(program: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["instructions", "--binary"]).arg(program).args(arguments);
    command.output().expect("xtask runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn known_costs_are_measured() {
    let program = program();
    if !has_valgrind() {
        let output = instructions(&program, &["plain"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("install"), "{}", text(&output.stderr));
        return;
    }
    costs_and_locks_are_reported(&program);
    a_budget_is_checked_only_when_asked(&program);
    a_program_that_fails_is_quoted(&program);
}

fn costs_and_locks_are_reported(program: &Path) {
    let json = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instructions.json");
    let output =
        instructions(program, &["plain", "locked", "--check", "--json", json.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(json).expect("a report")).expect("JSON");
    let figure = |name: &str| {
        let figures = report["figures"].as_array().expect("figures");
        let row = figures.iter().find(|row| row["name"] == name).expect("a row per case");
        row["ours"].as_f64().expect("a number")
    };
    assert!((1.0..10.0).contains(&figure("plain")), "{report}");
    assert_eq!(figure("plain_locked"), 0.0, "{report}");
    assert_eq!(figure("locked_locked"), 1.0, "{report}");
    let table = text(&output.stdout);
    assert!(
        table.lines().any(|line| line.contains("1.0 times per call: lock") && line.contains("add")),
        "{table}"
    );
}

fn a_budget_is_checked_only_when_asked(program: &Path) {
    let output = instructions(program, &["slow"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = instructions(program, &["slow", "--check"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("above the budget: slow"), "{}", text(&output.stderr));
}

fn a_program_that_fails_is_quoted(program: &Path) {
    let output = instructions(program, &["fails"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("this case fails on purpose"), "{}", text(&output.stderr));
}
