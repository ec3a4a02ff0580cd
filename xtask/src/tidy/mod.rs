//! `cargo xtask tidy`: checks what the compiler does not know about the code base.
//!
//! The rules are few and exact. Each has a file or a function of its own and a table where exceptions are entered
//! with their reason. A violation is printed as `file:line: rule: what, remedy`.

mod documents;
mod edges;
mod folders;
mod form;
mod language;
mod operators;
mod purity;
mod test_modules;
mod test_programs;
mod unit_tests;
mod unsafety;

use crate::failure::Failure;
use crate::package;
use crate::rust_source::{self, Line};
use crate::workspace::Workspace;
use serde_json::Value;
use std::fmt;
use std::path::Path;

/// Something that a rule forbids.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    file: String,
    /// Counted from 1.
    line: usize,
    rule: &'static str,
    /// What is wrong and how it is fixed.
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.rule, self.what)
    }
}

/// A text file of the project.
struct TextFile {
    /// Relative to the root, with `/` between folders.
    path: String,
    text: String,
}

/// A Rust file of the project, split into code, literals and comments.
struct RustFile<'a> {
    path: &'a str,
    lines: Vec<Line>,
}

impl<'a> RustFile<'a> {
    fn new(path: &'a str, text: &str) -> Self {
        Self { path, lines: rust_source::lines(text) }
    }

    /// The crate's folder below `crates/` and the module's path below its `src/`, without `.rs` and `/mod`:
    /// `("opgrid-core", "table")`. `None` for files that are not in the sources of such a crate.
    fn module(&self) -> Option<(&'a str, &'a str)> {
        let (name, module) = self.path.strip_prefix("crates/")?.split_once("/src/")?;
        let module = module.strip_suffix(".rs")?;
        Some((name, module.strip_suffix("/mod").unwrap_or(module)))
    }

    /// Whether the whole file is a test.
    fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// The numbered lines that are not under `#[cfg(test)]`.
    fn lines_outside_tests(&self) -> impl Iterator<Item = (usize, &Line)> {
        let lines = self.lines.iter().enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(|(_, line)| !line.is_test && !self.is_test())
    }

    fn violation(&self, line: usize, rule: &'static str, what: String) -> Violation {
        Violation { file: self.path.to_string(), line, rule, what }
    }
}

/// A rule that looks at one Rust file at a time.
type RustRule = fn(&RustFile) -> Vec<Violation>;

/// The rules that look at one Rust file at a time.
const RUST_RULES: &[RustRule] = &[
    form::header,
    form::size,
    form::marks,
    unsafety::listed_files_only,
    unsafety::say_who_guarantees,
    purity::no_operator_names,
    purity::no_locks_on_the_call_path,
];

/// Runs the command; it takes no arguments.
///
/// # Errors
/// There are arguments (a usage error), or violations.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        Some(argument) => {
            Err(Failure::usage(format!("`tidy` takes no arguments, found `{argument}`; leave it out")))
        }
        None => check(&Workspace::current()?),
    }
}

/// Checks the whole workspace and prints every violation.
///
/// # Errors
/// There are violations, or a file cannot be read.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    let files = text_files(workspace)?;
    let mut violations = violations(&files);
    violations.extend(documents::say_what_is_there(&files, &workspace.files()?));
    violations.extend(language::follows_the_glossary(&files));
    let packages = workspace.packages()?;
    violations.extend(edges::check(&packages, workspace.root(), &files));
    violations.extend(test_programs::hold_tests(&packages, workspace.root(), &files));
    violations.extend(packages.iter().flat_map(|package| unpublishable(package, workspace.root())));
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!("{} files are tidy", files.len());
            Ok(())
        }
        1 => Err(Failure::new("tidy found 1 violation; each line above names its remedy")),
        count => {
            Err(Failure::new(format!("tidy found {count} violations; each line above names its remedy")))
        }
    }
}

/// What `package` would refuse.
fn unpublishable(package: &Value, root: &Path) -> Vec<Violation> {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let file = manifest.strip_prefix(root).unwrap_or(manifest).display().to_string();
    let faults = package::faults(package).into_iter();
    faults.map(|what| Violation { file: file.clone(), line: 1, rule: "package", what }).collect()
}

fn text_files(workspace: &Workspace) -> Result<Vec<TextFile>, Failure> {
    let mut files = Vec::new();
    for path in workspace.files()? {
        if let Some(text) = workspace.read(&path)? {
            files.push(TextFile { path, text });
        }
    }
    Ok(files)
}

/// What the rules that need only the text of the files say.
fn violations(files: &[TextFile]) -> Vec<Violation> {
    let mut violations = operators::every_file_is_listed(files);
    violations.extend(test_modules::are_declared(files));
    violations.extend(unit_tests::are_compiled(files));
    violations.extend(folders::import_downwards(files));
    violations.extend(form::modules_are_in_their_folders(files));
    for file in files {
        violations.extend(form::machine_paths(file));
        if file.path.ends_with(".rs") {
            let rust = RustFile::new(&file.path, &file.text);
            violations.extend(RUST_RULES.iter().flat_map(|rule| rule(&rust)));
        }
    }
    violations
}

/// Checks that `rule` finds exactly these lines in a file at `path`.
#[cfg(test)]
fn check_rule(rule: RustRule, path: &str, text: &str, expected: &[usize]) {
    let found: Vec<usize> = rule(&RustFile::new(path, text)).iter().map(|violation| violation.line).collect();
    assert_eq!(found, expected, "{path}:\n{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_names_place_rule_and_remedy() {
        let files =
            [TextFile { path: "crates/opgrid/src/lib.rs".into(), text: "fn a() { todo!() }\n".into() }];
        let printed: Vec<String> = violations(&files).iter().map(Violation::to_string).collect();
        assert_eq!(printed.len(), 2, "{printed:?}");
        assert!(printed[0].starts_with("crates/opgrid/src/lib.rs:1: header: "), "{printed:?}");
        assert!(printed[1].starts_with("crates/opgrid/src/lib.rs:1: marks: `todo!`"), "{printed:?}");
    }

    #[test]
    fn a_module_is_named_without_folder_files() {
        let module = |path| RustFile::new(path, "").module();
        assert_eq!(module("crates/opgrid-core/src/calling/table.rs"), Some(("opgrid-core", "calling/table")));
        assert_eq!(module("crates/opgrid-tensor/src/ops/mod.rs"), Some(("opgrid-tensor", "ops")));
        assert_eq!(module("crates/opgrid-core/tests/table.rs"), None);
        assert_eq!(module("xtask/src/main.rs"), None);
    }
}
