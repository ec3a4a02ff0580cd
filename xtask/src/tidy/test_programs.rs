//! What cargo links and runs as tests is what holds tests, so that none is lost and no empty program is linked.
//!
//! Cargo makes a test program of every library and program of a package, and gives every library to rustdoc, unless its manifest
//! says `test = false` and `doctest = false`. Each of these programs links all operators.

use std::path::Path;

use serde_json::Value;

use super::{TextFile, Violation};
use crate::rust_source;

/// Checks the targets of the packages as `cargo metadata` prints them.
pub(super) fn hold_tests(packages: &[Value], root: &Path, files: &[TextFile]) -> Vec<Violation> {
    packages.iter().flat_map(|package| in_package(package, root, files)).collect()
}

/// A library, a program, an example or an integration test of a package.
struct Target<'a> {
    name: &'a str,
    kind: &'a str,
    /// Its first file, relative to the root.
    root: String,
    /// Whether `cargo test` makes a program of its `#[test]` functions.
    has_tests: bool,
    /// Whether `cargo test` runs the examples in its documentation.
    has_examples: bool,
}

impl<'a> Target<'a> {
    fn new(target: &'a Value, root: &Path) -> Option<Self> {
        Some(Self {
            name: target["name"].as_str()?,
            kind: target["kind"][0].as_str()?,
            root: relative(target["src_path"].as_str()?, root)?,
            has_tests: target["test"].as_bool()?,
            has_examples: target["doctest"].as_bool()?,
        })
    }

    fn is_library(&self) -> bool {
        !["bin", "example", "test", "bench", "custom-build"].contains(&self.kind)
    }

    /// How deep the folder lies in which this target's modules and the file at `path` lie; `None` if the file is of another target.
    fn depth(&self, path: &str) -> Option<usize> {
        if self.root == path {
            return Some(usize::MAX);
        }
        let (folder, file) = self.root.rsplit_once('/')?;
        let holds_modules = ["lib.rs", "main.rs"].contains(&file);
        let is_below = path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        // A library and a program in one folder: modules are the library's.
        (holds_modules && is_below).then_some(2 * folder.len() + usize::from(self.is_library()))
    }
}

fn relative(path: &str, root: &Path) -> Option<String> {
    Some(Path::new(path).strip_prefix(root).ok()?.to_str()?.replace(std::path::MAIN_SEPARATOR, "/"))
}

fn in_package(package: &Value, root: &Path, files: &[TextFile]) -> Vec<Violation> {
    let Some(manifest) = package["manifest_path"].as_str().and_then(|path| relative(path, root)) else {
        return Vec::new();
    };
    let folder = manifest.trim_end_matches("Cargo.toml");
    let targets: Vec<Target> =
        package["targets"].as_array().into_iter().flatten().filter_map(|it| Target::new(it, root)).collect();
    let mut sources: Vec<Vec<&TextFile>> = targets.iter().map(|_| Vec::new()).collect();
    for file in files.iter().filter(|file| file.path.starts_with(folder) && file.path.ends_with(".rs")) {
        let depths =
            targets.iter().enumerate().filter_map(|(index, it)| Some((it.depth(&file.path)?, index)));
        if let Some((_, index)) = depths.max() {
            sources[index].push(file);
        }
    }
    let mut violations = Vec::new();
    for (target, sources) in targets.iter().zip(&sources) {
        let mut compare = |key: &str, found: Option<&&TextFile>, is_on: bool, what: &str| {
            let what = match found {
                Some(file) if !is_on => {
                    format!("{} holds {what}, which never run; leave out `{key} = false`", file.path)
                }
                None if is_on => format!("it holds no {what}; write `{key} = false`"),
                _ => return,
            };
            let what = format!("{} `{}`: {what}", target.kind, target.name);
            violations.push(Violation { file: manifest.clone(), line: 1, rule: "test-programs", what });
        };
        compare("test", sources.iter().find(|file| has_test(&file.text)), target.has_tests, "tests");
        if target.is_library() {
            let found = sources.iter().find(|file| has_example(file, files));
            compare("doctest", found, target.has_examples, "examples in its documentation");
        }
    }
    violations
}

/// Whether there is a test, or a macro that makes some.
fn has_test(text: &str) -> bool {
    text.contains("#[test]") && rust_source::lines(text).iter().any(|line| line.code.contains("#[test]"))
}

/// Whether documentation comments, or a page that is included as documentation, hold code that rustdoc compiles.
fn has_example(file: &TextFile, files: &[TextFile]) -> bool {
    let comments = file.text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let pages =
        file.text.lines().filter_map(|line| line.split_once("doc = include_str!(\"")?.1.split('"').next());
    let mut pages = pages.filter_map(|page| {
        let path = joined(file.path.rsplit_once('/')?.0, page);
        files.iter().find(|file| file.path == path)
    });
    has_block(comments) || pages.any(|page| has_block(page.text.lines()))
}

/// The path of a file that is named relative to a folder.
fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in name.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a text in Markdown has a block of Rust: one that names no other language.
fn has_block<'t>(lines: impl Iterator<Item = &'t str>) -> bool {
    let mut is_open = false;
    for line in lines {
        let Some(words) = line.trim().strip_prefix("```") else { continue };
        let is_attribute = |word: &str| {
            let attributes = ["rust", "ignore", "should_panic", "no_run", "compile_fail", "standalone_crate"];
            word.is_empty() || attributes.contains(&word) || word.starts_with("edition")
        };
        if !is_open && words.split([',', ' ']).all(is_attribute) {
            return true;
        }
        is_open = !is_open;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Checks the violations of a package with these targets: (kind, path, `test`, `doctest`).
    fn check(targets: &[(&str, &str, bool, bool)], files: &[(&str, &str)], expected: &[&str]) {
        let targets: Vec<Value> = targets
            .iter()
            .map(|(kind, path, test, doctest)| {
                let path = format!("/w/a/{path}");
                json!({"name": "a", "kind": [kind], "src_path": path, "test": test, "doctest": doctest})
            })
            .collect();
        let package = json!({"manifest_path": "/w/a/Cargo.toml", "targets": targets});
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile { path: format!("a/{path}"), text: text.to_string() })
            .collect();
        let found = hold_tests(&[package], Path::new("/w"), &files);
        let found: Vec<_> = found.iter().map(|violation| violation.what.as_str()).collect();
        assert_eq!(found, expected);
    }

    const TEST: &str = "#[test]\nfn holds() {}\n";

    #[test]
    fn a_target_without_tests_is_linked_for_nothing() {
        check(
            &[("lib", "src/lib.rs", true, false), ("bin", "src/main.rs", true, false)],
            &[("src/lib.rs", "// #[test]\n"), ("src/main.rs", "const A: &str = \"#[test]\";\n")],
            &[
                "lib `a`: it holds no tests; write `test = false`",
                "bin `a`: it holds no tests; write `test = false`",
            ],
        );
        check(
            &[("test", "tests/all/main.rs", true, false)],
            &[("tests/all/main.rs", "mod b;"), ("tests/all/b.rs", TEST)],
            &[],
        );
    }

    #[test]
    fn a_test_that_no_program_runs_is_lost() {
        let lost = "src/deep/b.rs holds tests, which never run; leave out `test = false`";
        check(
            &[("proc-macro", "src/lib.rs", false, false), ("bin", "src/main.rs", false, false)],
            &[("src/lib.rs", ""), ("src/deep/b.rs", "    #[test]\n"), ("src/main.rs", "")],
            &[&format!("proc-macro `a`: a/{lost}")],
        );
        // The file of a program in a folder of its own.
        check(
            &[("lib", "src/lib.rs", false, false), ("bin", "src/bin/b/main.rs", false, false)],
            &[("src/lib.rs", ""), ("src/bin/b/main.rs", ""), ("src/bin/b/c.rs", TEST)],
            &["bin `a`: a/src/bin/b/c.rs holds tests, which never run; leave out `test = false`"],
        );
        check(
            &[("example", "examples/b.rs", false, false), ("test", "tests/c.rs", false, false)],
            &[("examples/b.rs", ""), ("tests/c.rs", TEST), ("tests/common/mod.rs", TEST)],
            &["test `a`: a/tests/c.rs holds tests, which never run; leave out `test = false`"],
        );
    }

    #[test]
    fn examples_in_documentation_are_run_where_there_are_some() {
        let library = |doctest| [("lib", "src/lib.rs", false, doctest)];
        let without = &["lib `a`: it holds no examples in its documentation; write `doctest = false`"];
        let lost = &[
            "lib `a`: a/src/lib.rs holds examples in its documentation, which never run; leave out `doctest = false`",
        ];
        let example = [("src/lib.rs", "/// Adds.\n///\n/// ```\n/// a();\n/// ```\nfn a() {}\n")];
        check(&library(true), &example, &[]);
        check(&library(false), &example, lost);
        check(&library(false), &[("src/lib.rs", "    //! ```should_panic, edition2021\n")], lost);
        let text = [("src/lib.rs", "//! ```text\n//! a\n//! ```\n//!\n//! ```c\n//! a();\n//! ```\n")];
        check(&library(false), &text, &[]);
        check(&library(true), &text, without);
        // A page that is documentation.
        let page = |page| [("src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n"), ("README.md", page)];
        check(&library(false), &page("```rust\na();\n```\n"), lost);
        check(&library(true), &page("```console\na\n```\n"), without);
    }
}
