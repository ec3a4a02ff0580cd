//! What the documents name exists: files and folders, targets of links, and the identifiers of `docs/from/pytorch.md`.

use super::{TextFile, Violation};
use crate::rust_source::{has_word, words};
use std::collections::HashMap;

/// The documents at the root that lead readers to files, beside the pages below `docs`.
const DOCUMENTS: [&str; 4] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];

/// The pages below `docs` that are not checked: design notes may name what is gone, and the page of differences, which is generated, names tests
/// below `crates`.
const UNCHECKED: [&str; 2] = ["docs/design/", "docs/reference/differences.md"];

/// The document whose table rows are `| name in PyTorch | names in opgrid | files | difference |`.
const COUNTERPARTS: &str = "docs/from/pytorch.md";

/// Every path in backticks and every target of a link exists, and every identifier is in a file that its row names.
pub(super) fn say_what_is_there(files: &[TextFile], paths: &[String]) -> Vec<Violation> {
    let texts: HashMap<&str, &str> =
        files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let mut violations = Vec::new();
    for document in files.iter().filter(|file| is_document(&file.path)) {
        for (number, line) in lines_outside_fences(&document.text) {
            let mut report = |rule, what| {
                violations.push(Violation { file: document.path.clone(), line: number, rule, what });
            };
            for path in codes(line).filter(|code| is_path(code) && !exists(paths, code)) {
                report("document-paths", format!("`{path}` does not exist, write the path from the root"));
            }
            let prose: String = line.split('`').step_by(2).collect();
            for link in links(&prose).filter(|link| !leads_somewhere(&document.path, link, &texts, paths)) {
                report(
                    "document-links",
                    format!("the link `{link}` leads nowhere, correct its file or its heading"),
                );
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

fn is_document(path: &str) -> bool {
    let is_page = path.starts_with("docs/") && path.ends_with(".md");
    DOCUMENTS.contains(&path) || is_page && !UNCHECKED.iter().any(|unchecked| path.starts_with(unchecked))
}

/// The targets of a line's links to files or headings of the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://"))
}

/// Whether a link in a document leads to a file or a folder and, behind `#`, to one of its headings.
fn leads_somewhere(document: &str, link: &str, texts: &HashMap<&str, &str>, paths: &[String]) -> bool {
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let target = if file.is_empty() { Some(document.to_owned()) } else { beside(document, file) };
    let Some(target) = target else { return false };
    let folder = format!("{target}/");
    let is_there = paths.iter().any(|path| *path == target || path.starts_with(&folder));
    let has =
        |heading| texts.get(target.as_str()).is_some_and(|text| anchors(text).iter().any(|it| it == heading));
    is_there && heading.is_none_or(has)
}

/// The path from the root of a file that a document names relative to its own folder; none above the root.
fn beside(document: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in file.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

/// The names by which links reach the headings of a text: lower case, with hyphens for spaces, without other signs, and numbered where
/// a name repeats.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in lines_outside_fences(text) {
        let Some(heading) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let signs =
            heading.trim().chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
        let anchor: String =
            signs.flat_map(char::to_lowercase).map(|sign| if sign == ' ' { '-' } else { sign }).collect();
        let numbered = |count| if count == 0 { anchor.clone() } else { format!("{anchor}-{count}") };
        let free = (0..).map(numbered).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
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
    fn a_link_that_leads_nowhere_is_found() {
        let text = "[`a`](../README.md) `[](…)` [b](#two-words-1) [c](tutorial/) [d](https://e.org/x) [e](tutorial)\n\
                    # Two words\n## `Two` words!\n```\n[x](gone.md)\n# Fenced\n```";
        let page = |text: &str| TextFile { path: "docs/README.md".into(), text: text.into() };
        let paths = ["README.md", "docs/README.md", "docs/tutorial/rust.md"].map(String::from);
        assert!(say_what_is_there(&[page(text)], &paths).is_empty());
        for broken in
            ["README.me", "../docs.md", "#fenced", "#two-words-2", "tutorial/rust.md#none", "../../README.md"]
        {
            let text = format!("{text}\n[x]({broken})");
            let violations = say_what_is_there(&[page(&text)], &paths);
            assert!(matches!(&violations[..], [one] if one.rule == "document-links"), "{broken}");
        }
    }

    #[test]
    fn pages_are_checked_and_design_notes_are_not() {
        check("docs/how-to/recipes.md", "`x/y.rs`", &[(1, "document-paths")]);
        check("docs/design/0001-publication.md", "`x/y.rs` [a](gone.md)", &[]);
        check("docs/reference/differences.md", "`x/y.rs`", &[]);
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
