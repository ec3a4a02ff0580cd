//! Every operator file is declared, listed and there, so that none is silently left out of the registry.

use super::{TextFile, Violation};
use crate::rust_source::{self, words};
use std::collections::{BTreeMap, BTreeSet};

/// The folder with the declarations, one file for each group.
const DECLARATIONS: &str = "crates/opgrid-tensor/src/ops/";
/// What the folders of the crates begin with that implement operators.
const CRATES: &str = "crates/opgrid-operators-";

/// Each file of a crate of operators is in the list of its `lib.rs`, `pointwise { add }` in `operators!`, or is no operator and a
/// module there (`mod kinds;`). Each name in such a list is declared, `pointwise { add { … } }` in `declarations!`, and the reverse.
pub(super) fn every_file_is_listed(files: &[TextFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut listed = BTreeMap::new();
    for list in files.iter().filter(|file| is_list(&file.path)) {
        let folder = list.path.trim_end_matches("lib.rs");
        let modules = listed_modules(&list.text);
        for file in files.iter().filter(|file| file.path != list.path) {
            let Some(path) = file.path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs")) else {
                continue;
            };
            let outer = path.split('/').next().unwrap_or_default();
            if !modules.contains(outer) && !modules.contains(path) {
                let what = format!("`{path}` is not listed in {}, add a line for it", list.path);
                violations.push(violation(&file.path, what));
            }
        }
        listed.extend(
            modules.into_iter().filter(|module| module.contains('/')).map(|module| (module, &list.path)),
        );
    }
    let groups =
        files.iter().filter(|file| file.path.starts_with(DECLARATIONS) && !file.path.ends_with("/mod.rs"));
    let declared: BTreeMap<String, &String> = groups
        .flat_map(|file| declared_modules(&file.text).into_iter().map(|module| (module, &file.path)))
        .collect();
    for (module, path) in &listed {
        if !declared.contains_key(module) {
            let what = format!("`{module}` is listed and not declared, declare it below {DECLARATIONS}");
            violations.push(violation(path, what));
        }
    }
    for (module, path) in &declared {
        if !listed.contains_key(module) {
            let what = format!(
                "`{module}` is declared and in no list of `operators!`, so that calls of it do not link"
            );
            violations.push(violation(path, what));
        }
    }
    violations
}

fn violation(file: &str, what: String) -> Violation {
    Violation { file: file.to_owned(), line: 1, rule: "operators", what }
}

/// Whether this is the root of a crate that implements operators.
fn is_list(path: &str) -> bool {
    path.strip_prefix(CRATES)
        .is_some_and(|rest| rest.split_once('/').is_some_and(|(_, file)| file == "src/lib.rs"))
}

/// `group/name` for the operator files that a text declares.
fn declared_modules(text: &str) -> BTreeSet<String> {
    let lines = rust_source::lines(text);
    let code = lines.iter().map(|line| line.code.as_str()).collect::<Vec<_>>().join("\n");
    let mut declared = BTreeSet::new();
    for (start, found) in code.match_indices("declarations!") {
        let (mut depth, mut group, mut begins) = (0, "", 0);
        let rest = &code[start + found.len()..];
        for (at, character) in rest.char_indices() {
            // What a file defines by schema strings stands in parentheses behind its name.
            let name = || words(&rest[begins..at]).next().unwrap_or_default();
            match character {
                '{' => {
                    depth += 1;
                    match depth {
                        2 => group = name(),
                        3 => drop(declared.insert(format!("{group}/{}", name()))),
                        _ => {}
                    }
                    begins = at + 1;
                }
                '}' => {
                    depth -= 1;
                    begins = at + 1;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    declared
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

    const SRC: &str = "crates/opgrid-operators-some/src/";

    /// Checks which files break the rule in a crate with this list and these files, and a file of these declarations.
    fn check(list: &str, files: &[&str], declarations: &str, expected: &[&str]) {
        let file = |path: String, text: &str| TextFile { path, text: text.into() };
        let mut all: Vec<TextFile> = files.iter().map(|path| file(format!("{SRC}{path}"), "")).collect();
        all.push(file(format!("{SRC}lib.rs"), list));
        all.push(file(format!("{DECLARATIONS}sums.rs"), declarations));
        let found: Vec<String> =
            every_file_is_listed(&all).into_iter().map(|violation| violation.file).collect();
        let shown: Vec<&str> =
            found.iter().map(|path| path.trim_start_matches(SRC).trim_start_matches(DECLARATIONS)).collect();
        assert_eq!(shown, expected, "{list} {declarations}");
    }

    #[test]
    fn what_is_declared_listed_and_there_passes() {
        check(
            "pub mod prelude;\nmod kinds;\noperators! {\n    /// Some.\n    sums {\n        add,\n        mul,\n    }\n}",
            &["sums/add.rs", "sums/mul.rs", "prelude.rs", "kinds/mod.rs", "kinds/some.rs"],
            "declarations! { sums { add { pub Add = \"a(b) { c }\", out; } mul (\"d\") { /// E.\n pub Mul = \"f\"; } } }\nimpl A { fn b() {} }",
            &[],
        );
    }

    #[test]
    fn a_file_that_is_not_listed_is_found() {
        let declared = "declarations! { sums { add {} } }";
        check(
            "operators! { sums { add } }",
            &["sums/add.rs", "sums/mul.rs", "sub.rs"],
            declared,
            &["sums/mul.rs", "sub.rs"],
        );
        check(
            "// mod mul;\noperators! { sums { add } }\nfn f() { g { h } }",
            &["mul.rs", "g/h.rs"],
            declared,
            &["mul.rs", "g/h.rs"],
        );
    }

    #[test]
    fn a_declaration_without_an_implementation_is_found() {
        check("operators! { sums { add } }", &[], "declarations! { sums { add {} mul {} } }", &["sums.rs"]);
    }

    #[test]
    fn an_implementation_without_a_declaration_is_found() {
        check(
            "operators! { sums { add, mul } products { add } }",
            &[],
            "declarations! { sums { add {} } }",
            &["lib.rs", "lib.rs"],
        );
    }

    #[test]
    fn groups_are_those_of_their_own_braces() {
        let listed = listed_modules("operators! { sums { add } products { mul, } }\nfn f() { g { h } }");
        assert_eq!(listed.into_iter().collect::<Vec<_>>(), ["products/mul", "sums/add"]);
    }
}
