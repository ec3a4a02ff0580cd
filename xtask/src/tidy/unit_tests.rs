//! No unit test stands where it is never compiled.

use super::{TextFile, Violation};
use crate::rust_source;

/// Files whose unit tests are compiled in the program named.
const ELSEWHERE: &[(&str, &str)] = &[(
    "crates/opgrid-tensor/src/layers/autograd/graph/layout.rs",
    "crates/opgrid-operators/tests/all/drawing.rs",
)];

/// A module that `lib.rs` declares with `#[cfg(not(test))]` is not in the program of the crate's unit tests.
pub(super) fn are_compiled(files: &[TextFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for root in files.iter().filter(|file| file.path.ends_with("/src/lib.rs")) {
        let folder = root.path.trim_end_matches("lib.rs");
        for module in modules_without_tests(&root.text) {
            let (file, below) = (format!("{folder}{module}.rs"), format!("{folder}{module}/"));
            let within = files.iter().filter(|it| it.path == file || it.path.starts_with(&below));
            violations.extend(within.filter_map(first_test));
        }
    }
    violations
}

fn modules_without_tests(text: &str) -> Vec<String> {
    let lines = rust_source::lines(text);
    let left_out = lines.windows(2).filter(|pair| pair[0].code.trim() == "#[cfg(not(test))]");
    let declared = left_out.filter_map(|pair| pair[1].code.trim().strip_suffix(';')?.split_once("mod "));
    declared.map(|(_, module)| module.to_owned()).collect()
}

fn first_test(file: &TextFile) -> Option<Violation> {
    if !file.path.ends_with(".rs") || ELSEWHERE.iter().any(|(path, _)| file.path == *path) {
        return None;
    }
    let line = rust_source::lines(&file.text).iter().position(|line| line.is_test)?;
    let what = "these tests are never compiled, because `lib.rs` leaves the module out of them; move them to `tests/`";
    Some(Violation { file: file.path.clone(), line: line + 1, rule: "unit-tests", what: what.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_in_modules_that_are_left_out_are_found() {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        let test = "fn a() {}\n#[cfg(test)]\nmod tests {}\n";
        let files = [
            file("crates/a/src/lib.rs", "mod kept;\n#[cfg(not(test))]\npub mod left;\nmod lefts;\n"),
            file("crates/a/src/kept.rs", test),
            file("crates/a/src/left.rs", test),
            file("crates/a/src/left/deep/of.rs", test),
            file("crates/a/src/left/none.rs", "fn a() {}\n"),
            file("crates/a/src/lefts.rs", test),
            file("crates/b/src/left.rs", test),
        ];
        let found: Vec<_> = are_compiled(&files).into_iter().map(|it| (it.file, it.line)).collect();
        assert_eq!(found, [("crates/a/src/left.rs".into(), 2), ("crates/a/src/left/deep/of.rs".into(), 2)]);
    }
}
