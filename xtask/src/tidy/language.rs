//! Public names and documentation comments do not use the words that `docs/glossary.md` tells to avoid.

use super::{RustFile, TextFile, Violation};
use crate::rust_source::{has_word, words};

/// Where the words to avoid are listed, and nowhere else.
const GLOSSARY: &str = "docs/glossary.md";

/// The section of the glossary that lists them.
const SECTION: &str = "## Words to avoid";

/// Visibility and qualifiers that may precede the keyword of an item.
const QUALIFIERS: [&str; 5] = ["const", "unsafe", "async", "extern", "C"];

/// Keywords that a name follows.
const ITEMS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];

/// The words to avoid, as the glossary lists them, each with what to write instead.
#[derive(Debug, Default, PartialEq, Eq)]
struct Glossary {
    /// Phrases in documentation comments.
    phrases: Vec<(String, String)>,
    /// Names of public items.
    names: Vec<(String, String)>,
    /// Words that a documentation comment does not begin with.
    beginnings: Vec<String>,
}

impl Glossary {
    /// Reads the section: two tables, whose headers are `instead of | write` and `name | use`, and a sentence that lists, in
    /// quotes, what documentation comments do not begin with.
    fn parse(text: &str) -> Self {
        let mut glossary = Self::default();
        let section = text.lines().skip_while(|line| line.trim() != SECTION).skip(1);
        let mut table = None;
        for line in section.take_while(|line| !line.starts_with("## ")) {
            if let Some(row) = line.trim().strip_prefix('|') {
                let cells: Vec<&str> = row.trim_end_matches('|').split('|').map(str::trim).collect();
                match (&cells[..], table) {
                    (["instead of", "write"], _) => table = Some(false),
                    (["name", "use"], _) => table = Some(true),
                    ([words, use_], Some(are_names)) if !words.starts_with("---") => {
                        let list = if are_names { &mut glossary.names } else { &mut glossary.phrases };
                        let words = words.split(',').map(|word| word.trim().trim_matches('`'));
                        list.extend(words.map(|word| (word.to_owned(), (*use_).to_owned())));
                    }
                    _ => {}
                }
            } else if line.contains("does not begin with") {
                glossary
                    .beginnings
                    .extend(line.split('"').skip(1).step_by(2).map(|word| word.trim_end_matches(',').into()));
            }
        }
        glossary
    }

    /// What a documentation comment begins with that it should not.
    fn beginning(&self, sentence: &str) -> Option<&str> {
        let begins = |word: &&String| {
            sentence.strip_prefix(word.as_str()).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        };
        self.beginnings.iter().find(begins).map(String::as_str)
    }
}

/// Every Rust file follows the glossary, whose tables are there.
pub(super) fn follows_the_glossary(files: &[TextFile]) -> Vec<Violation> {
    let text = files.iter().find(|file| file.path == GLOSSARY).map_or("", |file| &file.text);
    let glossary = Glossary::parse(text);
    if glossary.phrases.is_empty() || glossary.names.is_empty() || glossary.beginnings.is_empty() {
        let what = format!(
            "`{SECTION}` lacks a table (`instead of | write` or `name | use`) or the sentence about what documentation \
             comments do not begin with; write it, or change how tidy reads it"
        );
        return vec![Violation { file: GLOSSARY.into(), line: 1, rule: "glossary", what }];
    }
    let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
    rust.flat_map(|file| violations(&RustFile::new(&file.path, &file.text), &glossary)).collect()
}

fn violations(file: &RustFile, glossary: &Glossary) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut documentation: Vec<(usize, &str)> = Vec::new();
    for (number, line) in file.lines_outside_tests() {
        if let Some(text) = line.comment.trim().strip_prefix("///") {
            documentation.push((number, text.trim()));
            continue;
        }
        let code = line.code.trim();
        if code.is_empty() || code.starts_with("#[") || code.starts_with(')') || code.starts_with(']') {
            continue;
        }
        let documentation = std::mem::take(&mut documentation);
        if let Some((number, sentence)) = documentation.first()
            && let Some(word) = glossary.beginning(sentence)
        {
            let what = format!("the documentation begins with `{word}`, name what the item is or does");
            violations.push(file.violation(*number, "doc-sentences", what));
        }
        let name = declared(code);
        let is_public = code.starts_with("pub ");
        if let Some(name) = name
            && (is_public || name == "of")
            && let Some((_, instead)) = glossary.names.iter().find(|(word, _)| word == name)
        {
            violations.push(file.violation(
                number,
                "public-names",
                format!("`{name}` says little, use {instead}"),
            ));
        }
        if is_public {
            for (number, text) in documentation {
                for (phrase, instead) in &glossary.phrases {
                    if has_word(text, phrase) {
                        let what = format!("found \"{phrase}\", write {instead}");
                        violations.push(file.violation(number, "doc-words", what));
                    }
                }
            }
        }
    }
    violations
}

/// The name that a line of code declares, if it declares a function, a type, a trait, a constant or a static.
fn declared(code: &str) -> Option<&str> {
    let code = code.strip_prefix("pub ").unwrap_or(code);
    let code = if code.starts_with("pub(") { code.split_once(") ")?.1 } else { code };
    let mut words =
        words(code).skip_while(|word| QUALIFIERS.contains(word) && !ITEMS.contains(word)).peekable();
    let mut keyword = words.next()?;
    // `const fn`, `const unsafe fn`: a constant's name is no keyword.
    while ITEMS.contains(&keyword)
        && words.peek().is_some_and(|next| QUALIFIERS.contains(next) || *next == "fn")
    {
        keyword = words.next()?;
    }
    ITEMS.contains(&keyword).then(|| words.next()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Glossary\n\n| word | meaning |\n|---|---|\n| view | shared |\n\n## Words to avoid\n\n\
        | instead of | write |\n|---|---|\n| way back | backward pass |\n| mended, makes good | fixed |\n\n\
        The first sentence does not begin with \"The same\", \"Of\": it names the subject.\n\n\
        | name | use |\n|---|---|\n| `of` | `from_x` |\n| `made`, `make` | `new` |\n";

    fn check(code: &str, expected: &[(usize, &str)]) {
        let glossary = Glossary::parse(TEXT);
        let file = RustFile::new("crates/a/src/a.rs", code);
        let found = violations(&file, &glossary);
        let found: Vec<_> = found.iter().map(|violation| (violation.line, violation.rule)).collect();
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn the_glossary_is_read() {
        let glossary = Glossary::parse(TEXT);
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect()
        };
        let fixed = "fixed";
        assert_eq!(
            glossary.phrases,
            pairs(&[("way back", "backward pass"), ("mended", fixed), ("makes good", fixed)])
        );
        assert_eq!(glossary.names, pairs(&[("of", "`from_x`"), ("made", "`new`"), ("make", "`new`")]));
        assert_eq!(glossary.beginnings, ["The same", "Of"]);
    }

    #[test]
    fn a_glossary_without_its_tables_is_found() {
        let glossary = |text: &str| TextFile { path: GLOSSARY.into(), text: text.into() };
        assert_eq!(follows_the_glossary(&[glossary(TEXT)]), []);
        for files in
            [vec![], vec![glossary("")], vec![glossary(&TEXT.replace("| name | use |", "| a | b |"))]]
        {
            assert_eq!(follows_the_glossary(&files).len(), 1);
        }
    }

    #[test]
    fn banned_names_of_public_items_are_found() {
        for code in [
            "pub fn made() {}",
            "pub const fn make() {}",
            "    pub unsafe fn made() {}",
            "pub static made: u8 = 1;",
        ] {
            check(code, &[(1, "public-names")]);
        }
        for code in
            ["fn made() {}", "pub(crate) fn made() {}", "pub fn made_of() {}", "pub fn new(made: u8) {}"]
        {
            check(code, &[]);
        }
    }

    #[test]
    fn functions_named_of_are_found_wherever_they_are() {
        for code in ["fn of() {}", "pub(crate) const fn of() {}", "pub fn of<T>() {}"] {
            check(code, &[(1, "public-names")]);
        }
        check("let of = |x| x;", &[]);
        check("#[cfg(test)]\nmod tests {\n    fn of() {}\n}", &[]);
    }

    #[test]
    fn documentation_that_begins_with_a_banned_word_is_found() {
        check("/// The same for floats.\nfn f() {}", &[(1, "doc-sentences")]);
        check("/// Of one value.\n///\n/// More.\n#[inline]\npub fn f() {}", &[(1, "doc-sentences")]);
        check("/// Offsets.\nfn f() {}\n\n/// Adds.\n///\n/// Of both.\nfn g() {}", &[]);
        check("// Of one value.\nfn f() {}", &[]);
    }

    #[test]
    fn banned_phrases_in_documentation_of_public_items_are_found() {
        check(
            "/// Adds.\n///\n/// It is mended, on the way back.\npub fn f() {}",
            &[(3, "doc-words"), (3, "doc-words")],
        );
        check("/// It is mended.\npub(crate) fn f() {}", &[]);
        check("/// Recommended.\npub fn f() {}", &[]);
    }
}
