//! Every operator file is listed, so that none is silently left out of the registry.

use super::{TextFile, Violation};
use crate::rust_source::{self, words};
use std::collections::BTreeSet;

/// The folder of the operators and the file that lists them.
const FOLDER: &str = "crates/opgrid-tensor/src/ops/";
const LIST: &str = "crates/opgrid-tensor/src/ops/mod.rs";

/// Each group and each file of a group is named in the list, `pointwise { add }` in `operators!`; what is no group, as
/// a module beside it: `mod kinds;`.
pub(super) fn every_file_is_listed(files: &[TextFile]) -> Vec<Violation> {
    let list = files.iter().find(|file| file.path == LIST);
    let listed = list.map(|file| listed_modules(&file.text)).unwrap_or_default();
    let mut violations = Vec::new();
    for file in files {
        let Some(path) = file.path.strip_prefix(FOLDER).and_then(|path| path.strip_suffix(".rs")) else {
            continue;
        };
        let mut parts = path.split('/');
        let outer = parts.next().unwrap_or_default();
        let module = match parts.next() {
            Some(inner) if !listed.contains(outer) => format!("{outer}/{inner}"),
            _ => outer.to_owned(),
        };
        if file.path != LIST && !listed.contains(&module) {
            let what = format!("`{module}` is not listed in {LIST}, add a line for it");
            violations.push(Violation { file: file.path.clone(), line: 1, rule: "operators", what });
        }
    }
    violations
}

/// The names after `mod`, and `group/name` for those in the groups of `operators!`.
pub(super) fn listed_modules(text: &str) -> BTreeSet<String> {
    let lines = rust_source::lines(text);
    let code = lines.iter().map(|line| line.code.as_str()).collect::<Vec<_>>().join("\n");
    let mut listed = BTreeSet::new();
    let mut previous = "";
    for word in words(&code) {
        if previous == "mod" {
            listed.insert(word.to_string());
        }
        previous = word;
    }
    for (start, _) in code.match_indices("operators!") {
        let Some((_, mut rest)) = code[start..].split_once('{') else { continue };
        // Until the brace that closes the last group's is followed by that of the list.
        while let Some((before, after)) = rest.split_once('{') {
            let (Some(group), Some((names, tail))) = (words(before).last(), after.split_once('}')) else {
                break;
            };
            listed.extend(words(names).map(|name| format!("{group}/{name}")));
            if tail.trim_start().starts_with('}') {
                break;
            }
            rest = tail;
        }
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
        check(
            "operators! { sums { add, sub } }",
            &["sums/add.rs", "sums/mul.rs", "sub.rs"],
            &["sums/mul.rs", "sub.rs"],
        );
        check(
            "operators! { sums { add } products { mul, } }\nfn f() { g { h } }",
            &["sums/mul.rs", "products/mul.rs", "g/h.rs"],
            &["sums/mul.rs", "g/h.rs"],
        );
        check("// mod mul;\nfn mul() {}", &["mul.rs"], &["mul.rs"]);
        check("mod kinds;", &["kinds/pointwise.rs", "pool/max.rs"], &["pool/max.rs"]);
    }

    #[test]
    fn listed_files_pass() {
        check(
            "pub mod prelude;\noperators! {\n    /// Some.\n    sums {\n        add,\n        mul,\n    }\n}",
            &["sums/add.rs", "sums/mul.rs", "prelude.rs"],
            &[],
        );
    }

    #[test]
    fn without_a_list_every_file_is_found() {
        let files = [TextFile { path: format!("{FOLDER}add.rs"), text: String::new() }];
        assert_eq!(every_file_is_listed(&files).len(), 1);
        assert!(every_file_is_listed(&[]).is_empty());
    }
}
