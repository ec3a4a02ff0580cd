//! Every operator file is listed, so that none is silently left out of the registry.

use super::{TextFile, Violation};
use crate::rust_source::{self, words};
use std::collections::BTreeSet;

/// The folder of the operators and the file that lists them.
const FOLDER: &str = "crates/opgrid-tensor/src/ops/";
const LIST: &str = "crates/opgrid-tensor/src/ops/mod.rs";

/// Each file and each folder beside the list is named in it: `mod add;`, or in the braces of `operators!`.
pub(super) fn every_file_is_listed(files: &[TextFile]) -> Vec<Violation> {
    let list = files.iter().find(|file| file.path == LIST);
    let listed = list.map(|file| listed_modules(&file.text)).unwrap_or_default();
    let mut violations = Vec::new();
    for file in files {
        let Some(module) = file.path.strip_prefix(FOLDER).and_then(module_of) else { continue };
        if file.path != LIST && !listed.contains(module) {
            let what = format!("`{module}` is not listed in {LIST}, add a line for it");
            violations.push(Violation { file: file.path.clone(), line: 1, rule: "operators", what });
        }
    }
    violations
}

/// The module that a path below the folder belongs to: `add.rs` and `add/x.rs` to `add`.
fn module_of(path: &str) -> Option<&str> {
    let module = path.strip_suffix(".rs")?;
    Some(module.split_once('/').map_or(module, |(folder, _)| folder))
}

/// The names after `mod` and those in the braces of `operators!`.
fn listed_modules(text: &str) -> BTreeSet<String> {
    let lines = rust_source::lines(text);
    let code = lines.iter().map(|line| line.code.as_str()).collect::<Vec<_>>().join("\n");
    let mut listed = BTreeSet::new();
    let mut previous = "";
    for word in words(&code) {
        if previous == "mod" {
            listed.insert(word.to_string());
        }
        // `mod r#true;` is the module of the file `true.rs`.
        if !(previous == "mod" && word == "r") {
            previous = word;
        }
    }
    for (start, _) in code.match_indices("operators!") {
        let inside = code[start..].split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        listed.extend(inside.into_iter().flat_map(|(names, _)| words(names)).map(String::from));
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which of the files beside a list with this text are not listed.
    fn check(list: &str, files: &[&str], expected: &[&str]) {
        let file = |path: &str, text: &str| TextFile { path: format!("{FOLDER}{path}"), text: text.into() };
        let mut all: Vec<TextFile> = files.iter().map(|path| file(path, "")).collect();
        all.push(file("mod.rs", list));
        let found: Vec<String> =
            every_file_is_listed(&all).into_iter().map(|violation| violation.file).collect();
        assert_eq!(
            found,
            expected.iter().map(|path| format!("{FOLDER}{path}")).collect::<Vec<_>>(),
            "{list}"
        );
    }

    #[test]
    fn a_file_that_is_not_listed_is_found() {
        check("mod add;", &["add.rs", "mul.rs"], &["mul.rs"]);
        check("operators! { add, sub }", &["add.rs", "mul.rs", "sub.rs"], &["mul.rs"]);
        check("// mod mul;\nfn mul() {}", &["mul.rs"], &["mul.rs"]);
        check(
            "mod conv;",
            &["conv/forward.rs", "pool/max.rs", "pool/mod.rs"],
            &["pool/max.rs", "pool/mod.rs"],
        );
    }

    #[test]
    fn listed_files_pass() {
        check(
            "pub mod prelude;\noperators! {\n    add,\n    mul,\n}",
            &["add.rs", "mul.rs", "prelude.rs"],
            &[],
        );
        check("mod r#true;", &["true.rs"], &[]);
    }

    #[test]
    fn without_a_list_every_file_is_found() {
        let files = [TextFile { path: format!("{FOLDER}add.rs"), text: String::new() }];
        assert_eq!(every_file_is_listed(&files).len(), 1);
        assert!(every_file_is_listed(&[]).is_empty());
    }
}
