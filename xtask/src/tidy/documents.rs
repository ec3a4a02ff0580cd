//! What the documents name exists: files and folders, and the identifiers of `docs/from-pytorch.md`.

use super::{TextFile, Violation};
use crate::rust_source::{has_word, words};
use std::collections::HashMap;

/// The documents that lead readers to files. Each may be missing; what there is of it is checked.
const DOCUMENTS: [&str; 5] =
    [COUNTERPARTS, "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/recipes.md"];

/// The document whose table rows are `| name in PyTorch | names in opgrid | files | difference |`.
const COUNTERPARTS: &str = "docs/from-pytorch.md";

/// Every path in backticks exists, and every identifier stands in a file that its row names.
pub(super) fn say_what_is_there(files: &[TextFile], paths: &[String]) -> Vec<Violation> {
    let texts: HashMap<&str, &str> =
        files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let mut violations = Vec::new();
    for document in files.iter().filter(|file| DOCUMENTS.contains(&file.path.as_str())) {
        for (number, line) in lines_outside_fences(&document.text) {
            let mut report = |rule, what| {
                violations.push(Violation { file: document.path.clone(), line: number, rule, what });
            };
            for path in codes(line).filter(|code| is_path(code) && !exists(paths, code)) {
                report("document-paths", format!("`{path}` does not exist, write the path from the root"));
            }
            if document.path == COUNTERPARTS {
                for name in names_without_a_place(line, &texts) {
                    report(
                        "document-names",
                        format!("`{name}` stands in no file of its row, correct the name or the file"),
                    );
                }
            }
        }
    }
    violations
}

/// The numbered lines that belong to no fenced block.
fn lines_outside_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// What stands in backticks.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether the code is a path of the repository: below a folder, with an extension or a slash at its end.
fn is_path(code: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
    let Some((folders, name)) = code.rsplit_once('/') else { return false };
    let named =
        name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && !extension.is_empty());
    code.chars().all(plain) && !folders.is_empty() && !code.starts_with('/') && (name.is_empty() || named)
}

/// Whether a file has that path, or one lies in the folder of that path.
fn exists(paths: &[String], wanted: &str) -> bool {
    paths.iter().any(|path| path == wanted || wanted.ends_with('/') && path.starts_with(wanted))
}

/// The identifiers in the second cell of a row that occur in none of the files in its third cell.
///
/// Crates (`opgrid_core`) and modules (`key` for `key.rs`) say where to look, and are not looked for.
fn names_without_a_place<'a>(line: &'a str, texts: &HashMap<&str, &str>) -> Vec<&'a str> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").collect();
    let [_, names, files, _] = cells[..] else { return Vec::new() };
    let files: Vec<&str> = codes(files).filter(|code| is_path(code)).collect();
    let is_there = |word: &str| {
        files.iter().any(|path| {
            let is_module = path.split(['/', '.']).any(|part| part == word);
            is_module || texts.get(path).is_some_and(|text| has_word(text, word))
        })
    };
    codes(names).flat_map(words).filter(|word| !word.starts_with("opgrid_") && !is_there(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which lines of a document break a rule, in a project with one source file.
    fn check(document: &str, text: &str, expected: &[(usize, &str)]) {
        let source = "crates/opgrid-core/src/keys/key.rs";
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        let files = [file(document, text), file(source, "pub struct DispatchKey(u16);\n")];
        let paths = [document.into(), source.into(), "examples/data/a.npy".into()];
        let violations = say_what_is_there(&files, &paths);
        let found: Vec<(usize, &str)> =
            violations.iter().map(|violation| (violation.line, violation.rule)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        check("README.md", "`crates/opgrid-core/src/keys/key.rs` `examples/data/a.npy`\n`crates/`", &[]);
        for path in
            ["crates/opgrid-core/src/lock.rs", "core/src/key.rs", "examples/dat/", "examples/data/b.npy"]
        {
            check("ARCHITECTURE.md", &format!("See `{path}`."), &[(1, "document-paths")]);
        }
        check("CONTRIBUTING.md", "a\n`x/y.rs`, `crates/`, `x/z.rs`", &[(2, "document-paths"); 2]);
    }

    #[test]
    fn what_is_no_path_of_the_repository_is_left_alone() {
        let text =
            "x/y.rs `y.rs` `and/or` `/usr/a.so` `a / b.c` `https://e.org/a.html` `x/*.rs` `x/{a,b}.rs` `/`";
        check("README.md", text, &[]);
        check("README.md", "```\n`x/y.rs`\n```\nthen\n`x/y.rs`", &[(5, "document-paths")]);
        check("crates/opgrid-core/notes.md", "`x/y.rs`", &[]);
    }

    #[test]
    fn an_identifier_that_its_file_does_not_have_is_found() {
        let row = |names: &str| format!("| A | {names} | `crates/opgrid-core/src/keys/key.rs` | Same. |");
        for right in ["`opgrid_core::DispatchKey`", "`key::DispatchKey(u16)`", "none", "DispatchLock"] {
            check(COUNTERPARTS, &row(right), &[]);
        }
        check(COUNTERPARTS, &row("`opgrid_core::DispatchLock`"), &[(1, "document-names")]);
        check(COUNTERPARTS, &row("`DispatchKey`, `DispatchKey::lock`"), &[(1, "document-names")]);
        check(COUNTERPARTS, "| A | `DispatchKey` | – | No file. |", &[(1, "document-names")]);
        check("README.md", &row("`DispatchLock`"), &[]);
    }
}
