//! Every statement of `docs/statements.md`, which is what torch's own dispatcher tests say, is cited by a test.
//!
//! A test cites statements in its name (`d2_d3_…`, `k1_to_k6_…`) or in its doc comment, in lines that begin with their
//! numbers: `/// R55, R56: …`, `/// R63 to R70, R86: …`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What the statements are, one after the other in a list.
const DOCUMENT: &str = include_str!("../../../../docs/statements.md");

/// The groups of statements.
const GROUPS: &str = "DRFK";

/// A statement by its letter and number.
type Statement = (char, u32);

/// One piece of a citation.
#[derive(Debug, PartialEq)]
enum Piece {
    Statement(Statement),
    /// The word or the sign between the ends of a range.
    To,
}

fn statement(word: &str) -> Option<Statement> {
    let mut rest = word.chars();
    let letter = rest.next()?.to_ascii_uppercase();
    let digits = rest.as_str();
    let plain = digits.starts_with(|first: char| ('1'..='9').contains(&first));
    if GROUPS.contains(letter) && plain { Some((letter, digits.parse().ok()?)) } else { None }
}

/// The pieces at the start of `words`, up to the first word that belongs to no citation.
fn pieces<'w>(words: impl Iterator<Item = &'w str>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for word in words.filter(|word| !matches!(*word, "" | "and")) {
        match statement(word) {
            Some(found) => pieces.push(Piece::Statement(found)),
            None if matches!(word, "to" | "-" | "\u{2013}") && !pieces.is_empty() => pieces.push(Piece::To),
            None => break,
        }
    }
    pieces
}

/// The statements that pieces stand for, ranges filled in.
fn expanded(pieces: &[Piece]) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut open = false;
    for piece in pieces {
        match (piece, statements.last().copied()) {
            (Piece::To, _) => open = true,
            (Piece::Statement((letter, end)), Some((first, start))) if open && first == *letter => {
                statements.extend((start + 1..=*end).map(|number| (*letter, number)));
                open = false;
            }
            (Piece::Statement(found), _) => {
                statements.push(*found);
                open = false;
            }
        }
    }
    statements
}

/// The statements that the name of a test begins with.
fn cited_by_name(name: &str) -> Vec<Statement> {
    expanded(&pieces(name.split('_')))
}

/// The statements that a line of a doc comment begins with; nothing unless a colon, a stop or nothing follows them.
fn cited_by_line(line: &str) -> Vec<Statement> {
    let head = line.split([':', '.']).next().unwrap_or_default();
    let spaced = head.replace(['-', '\u{2013}'], " to ");
    let words: Vec<_> = spaced.split([' ', ',']).collect();
    let known = |word: &&str| matches!(*word, "" | "and" | "to") || statement(word).is_some();
    if words.iter().all(known) { expanded(&pieces(words.into_iter())) } else { Vec::new() }
}

/// The tests of a source text, each with the statements that it cites.
fn tests_of(source: &str) -> Vec<(String, Vec<Statement>)> {
    let (mut tests, mut cited, mut is_test) = (Vec::new(), Vec::new(), false);
    for line in source.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            cited.extend(cited_by_line(comment.trim()));
        } else if line == "#[test]" {
            is_test = true;
        } else if let Some(name) = line.strip_prefix("fn ").filter(|_| is_test) {
            let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            cited.extend(cited_by_name(&name));
            tests.push((name, std::mem::take(&mut cited)));
            is_test = false;
        } else if !line.starts_with("#[") {
            cited.clear();
            is_test = false;
        }
    }
    tests
}

/// The statements that the tests in this crate's `tests` folder cite.
fn cited() -> BTreeSet<Statement> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let listed = |folder: &Path| fs::read_dir(folder).expect("the crate has folders of tests");
    let paths = listed(&folder).chain(listed(&folder.join("all")));
    let mut cited = BTreeSet::new();
    for path in paths.map(|entry| entry.expect("a folder can be listed").path()) {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("a test file can be read");
            cited.extend(tests_of(&source).into_iter().flat_map(|(_, cited)| cited));
        }
    }
    cited
}

/// The statements of the document, each once.
fn stated() -> Vec<Statement> {
    let label = |line: &'static str| line.strip_prefix("- **")?.split_once("**").map(|(label, _)| label);
    DOCUMENT.lines().filter_map(label).flat_map(cited_by_line).collect()
}

#[test]
fn every_statement_is_cited_by_a_test() {
    let (cited, stated) = (cited(), BTreeSet::from_iter(stated()));
    let missing: Vec<_> = stated.difference(&cited).collect();
    assert!(missing.is_empty(), "no test cites {missing:?}");
    let unknown: Vec<_> = cited.difference(&stated).collect();
    assert!(unknown.is_empty(), "there is no statement {unknown:?}");
}

#[test]
fn statements_are_numbered_without_gaps() {
    let stated = stated();
    for (letter, count) in [('D', 43), ('R', 112), ('F', 6), ('K', 40)] {
        let numbers: Vec<_> =
            stated.iter().filter(|stated| stated.0 == letter).map(|stated| stated.1).collect();
        assert_eq!(numbers, Vec::from_iter(1..=count), "{letter}");
    }
}

#[test]
fn citations_are_read_from_names_and_comments() {
    for (name, expected) in [
        ("d2_d3_lines", vec![('D', 2), ('D', 3)]),
        ("k1_to_k3_parts", vec![('K', 1), ('K', 2), ('K', 3)]),
        ("two_tensors", vec![]),
        ("to_d2", vec![]),
        ("d02", vec![]),
        ("redispatch_d2", vec![]),
    ] {
        assert_eq!(cited_by_name(name), expected, "{name}");
    }
    for (line, expected) in [
        ("R55, R56: two kernels", vec![('R', 55), ('R', 56)]),
        ("R9 and R11.", vec![('R', 9), ('R', 11)]),
        ("R1 to R3, R7: kernels", vec![('R', 1), ('R', 2), ('R', 3), ('R', 7)]),
        ("R1\u{2013}R2: kernels", vec![('R', 1), ('R', 2)]),
        ("R1-R2", vec![('R', 1), ('R', 2)]),
        ("R1 is not tested here: see below", vec![]),
        ("As R1: the same", vec![]),
        ("T1: no such group", vec![]),
    ] {
        assert_eq!(cited_by_line(line), expected, "{line}");
    }
    let source = "\
/// D1: a comment on what is no test.
fn helper() {}

/// D2: a test
/// in two lines.
#[test]
#[cfg(unix)]
fn one() {}

/// D9: not on the test.
const X: u8 = 0;

#[test]
fn d4_two() {}
";
    let expected = vec![("one".to_owned(), vec![('D', 2)]), ("d4_two".to_owned(), vec![('D', 4)])];
    assert_eq!(tests_of(source), expected);
}
