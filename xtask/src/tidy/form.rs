//! What every file looks like and where it lies: a header, a bounded size, nothing unfinished, no path of a machine, modules in
//! their folders.

use super::{RustFile, TextFile, Violation};
use crate::rust_source::{has_word, words};
use std::collections::HashSet;

/// The most lines that a file has, without comments and tests.
const MOST_LINES: usize = 800;

/// Files that are longer, each with the reason why one idea needs so much room.
const LONGER_FILES: &[(&str, &str)] = &[(
    "crates/opgrid-special/src/tables.rs",
    "coefficients of polynomials, which a program writes, one a line",
)];

/// Every Rust file begins by saying what it is for.
pub(super) fn header(file: &RustFile) -> Vec<Violation> {
    let first = file.lines.first().map_or("", |line| line.comment.as_str());
    let says_something = first.strip_prefix("//!").is_some_and(|sentence| !sentence.trim().is_empty());
    if says_something {
        return Vec::new();
    }
    vec![file.violation(
        1,
        "header",
        "the file does not begin with `//!`, add one sentence that says what it does".into(),
    )]
}

/// A file that grows beyond one idea lacks a folder.
pub(super) fn size(file: &RustFile) -> Vec<Violation> {
    let is_documentation = |comment: &str, code: &str| !comment.trim().is_empty() && code.trim().is_empty();
    let counted =
        file.lines_outside_tests().filter(|(_, line)| !is_documentation(&line.comment, &line.code)).count();
    if counted <= MOST_LINES || LONGER_FILES.iter().any(|(path, _)| *path == file.path) {
        return Vec::new();
    }
    let what = format!(
        "{counted} lines without comments and tests, at most {MOST_LINES} are allowed, \
         split the file or enter it with a reason in LONGER_FILES of tidy"
    );
    vec![file.violation(MOST_LINES + 1, "size", what)]
}

/// A module with modules of its own is the `mod.rs` of their folder, so that it lies with them.
pub(super) fn modules_are_in_their_folders(files: &[TextFile]) -> Vec<Violation> {
    let modules = || files.iter().filter_map(|file| file.path.strip_suffix(".rs"));
    let folders: HashSet<&str> =
        modules().flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end])).collect();
    let beside = modules().filter(|path| folders.contains(path) && !is_test_program(path));
    let violation = |path: &str| Violation {
        file: format!("{path}.rs"),
        line: 1,
        rule: "module-files",
        what: format!("the module has a folder beside it, move it to `{path}/mod.rs`"),
    };
    beside.map(violation).collect()
}

/// Whether this is `tests/<program>`, a crate of its own, which may read what lies in a folder of that name.
fn is_test_program(path: &str) -> bool {
    path.rsplit_once("/tests/")
        .is_some_and(|(package, program)| !package.contains("/src") && !program.contains('/'))
}

/// Nothing is unfinished, switched off or left over from looking for a mistake.
pub(super) fn marks(file: &RustFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in file.lines.iter().enumerate() {
        for (mark, remedy) in marks_in(&line.code, &line.comment) {
            violations.push(file.violation(index + 1, "marks", format!("`{mark}` stands here, {remedy}")));
        }
    }
    violations
}

/// The marks in one line, with the remedy for each.
fn marks_in(code: &str, comment: &str) -> Vec<(&'static str, &'static str)> {
    const FINISH: &str = "finish the code or return an error";
    const ASSERT: &str = "assert what happens today";
    let mut marks = Vec::new();
    for (mark, remedy) in [("todo!", FINISH), ("unimplemented!", FINISH), ("dbg!", "remove it")] {
        if has_word(code, mark) {
            marks.push((mark, remedy));
        }
    }
    let attribute = code.trim_start().starts_with("#[");
    let fence = comment.split_once("```").map_or("", |(_, language)| language);
    for mark in ["ignore", "should_panic"] {
        if attribute && has_word(code, mark) || words(fence).any(|word| word == mark) {
            marks.push((mark, ASSERT));
        }
    }
    marks
}

/// No text names a folder of the machine it was written on.
pub(super) fn machine_paths(file: &TextFile) -> Vec<Violation> {
    const FOLDERS: [&str; 4] = ["home", "root", "tmp", "work"];
    let mut violations = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if let Some(folder) = FOLDERS.iter().find(|folder| has_absolute_path(line, folder)) {
            let what = format!(
                "a path below `/{folder}` of some machine, make it relative or ask the system for it"
            );
            violations.push(Violation {
                file: file.path.clone(),
                line: index + 1,
                rule: "machine-paths",
                what,
            });
        }
    }
    violations
}

/// Whether the line holds a path that begins with the top folder `/folder/`; `a/folder/b` is not one.
fn has_absolute_path(line: &str, folder: &str) -> bool {
    line.match_indices(&format!("/{folder}/")).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !before.is_some_and(|character| character.is_alphanumeric() || "_-.~/})*".contains(character))
    })
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found() {
        check_rule(header, "a.rs", "//! Adds.\nfn a() {}", &[]);
        for text in ["", "fn a() {}", "// Adds.", "//!\n//! Adds.", "\n//! Adds.", "/// Adds."] {
            check_rule(header, "a.rs", text, &[1]);
        }
    }

    #[test]
    fn a_long_file_is_found() {
        let line = "fn a() {}\n";
        let documentation = "// Why.\n".repeat(100);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}", line.repeat(100));
        let long_enough = format!("{documentation}{}{tests}", line.repeat(MOST_LINES));
        check_rule(size, "crates/opgrid-core/src/a.rs", &long_enough, &[]);
        let too_long = format!("{documentation}{}{tests}", line.repeat(MOST_LINES + 1));
        check_rule(size, "crates/opgrid-core/src/a.rs", &too_long, &[MOST_LINES + 1]);
        check_rule(size, "crates/opgrid-core/tests/a.rs", &too_long, &[]);
    }

    #[test]
    fn every_exception_to_the_size_has_a_reason() {
        assert!(LONGER_FILES.iter().all(|(path, reason)| path.ends_with(".rs") && reason.len() > 20));
    }

    #[test]
    fn a_module_beside_its_folder_is_found() {
        let paths = [
            "crates/a/src/lib.rs",
            "crates/a/src/keys/mod.rs",
            "crates/a/src/keys/set.rs",
            "crates/a/src/calls.rs",
            "crates/a/src/calls/deep/inner.rs",
            "crates/a/src/read/tests.rs",
            "crates/a/src/read/tests/cases.rs",
            "crates/a/src/page.rs",
            "crates/a/src/page/page.css",
            "crates/a/tests/refused.rs",
            "crates/a/tests/refused/case.rs",
            "crates/a/tests/all/main.rs",
            "crates/a/tests/all/numbers.rs",
            "crates/a/tests/all/numbers/floats.rs",
        ];
        let files = paths.map(|path| TextFile { path: path.into(), text: String::new() });
        let found: Vec<String> =
            modules_are_in_their_folders(&files).into_iter().map(|violation| violation.file).collect();
        assert_eq!(
            found,
            ["crates/a/src/calls.rs", "crates/a/src/read/tests.rs", "crates/a/tests/all/numbers.rs"]
        );
    }

    #[test]
    fn marks_are_found_in_code_only() {
        for mark in ["todo!()", "unimplemented!(\"a\")", "dbg!(a)"] {
            check_rule(marks, "a.rs", &format!("fn a() {{\n    {mark}\n}}"), &[2]);
            check_rule(marks, "a.rs", &format!("// {mark}\nlet a = \"{mark}\";"), &[]);
        }
        check_rule(marks, "a.rs", "my_todo!()", &[]);
    }

    #[test]
    fn tests_that_are_switched_off_are_found() {
        for attribute in ["#[ignore]", "#[ignore = \"slow\"]", "#[should_panic(expected = \"a\")]"] {
            check_rule(marks, "a.rs", &format!("#[test]\n{attribute}\nfn a() {{}}"), &[2]);
        }
        for language in ["ignore", "rust,should_panic"] {
            check_rule(marks, "a.rs", &format!("/// ```{language}\n/// a();\n/// ```"), &[1]);
        }
        check_rule(marks, "a.rs", "/// ```text\n/// ignore\n/// ```\nlet ignore = 1;", &[]);
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        let check = |text: String, expected: &[usize]| {
            let file = TextFile { path: "a.md".into(), text };
            let found: Vec<usize> = machine_paths(&file).iter().map(|violation| violation.line).collect();
            assert_eq!(found, expected, "{}", file.text);
        };
        for folder in ["home", "root", "tmp", "work"] {
            check(format!("a\nsee \"/{folder}/a\""), &[2]);
            check(format!("cd /{folder}/a\n=/{folder}/b"), &[1, 2]);
            check(
                format!("a/{folder}/b ~/{folder}/c $OUT/{folder}/d https://e.org/{folder}/f /{folder}s/g"),
                &[],
            );
        }
    }
}
