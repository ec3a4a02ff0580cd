//! Every file of a test program is one of its modules, so that no test is silently left out.

use super::operators::listed_modules;
use super::{TextFile, Violation};

/// Cargo finds `tests/<program>/main.rs` by itself; what lies beside it is compiled where it is declared.
pub(super) fn are_declared(files: &[TextFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for main in files.iter().filter(|file| is_program(&file.path)) {
        let folder = main.path.trim_end_matches("main.rs");
        let declared = listed_modules(&main.text);
        for file in files.iter().filter(|file| file.path != main.path) {
            let Some(path) = file.path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs")) else {
                continue;
            };
            let module = path.split('/').next().unwrap_or_default();
            if !declared.contains(module) {
                let what = format!("`{module}` is never compiled; add `mod {module};` to {}", main.path);
                violations.push(Violation { file: file.path.clone(), line: 1, rule: "test-modules", what });
            }
        }
    }
    violations
}

/// Whether this is the first file of a test program that is a folder.
fn is_program(path: &str) -> bool {
    let folder = path.strip_suffix("/main.rs").and_then(|path| path.rsplit_once("/tests/"));
    folder.is_some_and(|(_, program)| !program.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_no_program_declares_are_found() {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        let files = [
            file("crates/a/tests/all/main.rs", "mod kept;\nmod deep;\n"),
            file("crates/a/tests/all/kept.rs", ""),
            file("crates/a/tests/all/deep/inner.rs", ""),
            file("crates/a/tests/all/forgotten.rs", ""),
            file("crates/a/tests/all/also/forgotten.rs", ""),
            file("crates/a/tests/all/words.txt", ""),
            file("crates/a/tests/alone.rs", ""),
            file("crates/a/tests/common/mod.rs", ""),
            file("crates/a/src/main.rs", ""),
        ];
        let found: Vec<_> = are_declared(&files).into_iter().map(|it| it.file).collect();
        assert_eq!(found, ["crates/a/tests/all/forgotten.rs", "crates/a/tests/all/also/forgotten.rs"]);
    }
}
