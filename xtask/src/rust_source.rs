//! Splits Rust text into code, literals and comments, line by line, and knows which lines are tests.
//!
//! A rule of `tidy` looks for words, and a word means something else in a comment or in a string than in code.
//! This is the part of Rust's lexical grammar that tells the three apart; it never fails, since the compiler has the
//! last word on what is Rust.

/// What a character of the source belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Code,
    /// Inside a string or character literal; its quotes count as code.
    Literal,
    Comment,
}

/// One line, three times: what belongs to something else is replaced by spaces, so that columns agree.
#[derive(Debug, Default)]
pub struct Line {
    /// Only code: no comments, literals empty.
    pub code: String,
    /// Code and the contents of literals, no comments.
    pub uncommented: String,
    /// Only comments, with their slashes.
    pub comment: String,
    /// Whether the line belongs to an item under `#[cfg(test)]`.
    pub is_test: bool,
}

/// Splits the text of a Rust file into its lines.
pub fn lines(source: &str) -> Vec<Line> {
    let characters: Vec<char> = source.chars().collect();
    let mut lines = vec![Line::default()];
    for (&character, class) in characters.iter().zip(classify(&characters)) {
        if character == '\n' {
            lines.push(Line::default());
            continue;
        }
        let line = lines.last_mut().expect("there is always a last line");
        let only = |wanted: bool| if wanted { character } else { ' ' };
        line.code.push(only(class == Class::Code));
        line.uncommented.push(only(class != Class::Comment));
        line.comment.push(only(class == Class::Comment));
    }
    mark_tests(&mut lines);
    lines
}

/// Whether `text` holds `word` and it is not a part of a longer word.
pub fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        let joins = |outside: Option<char>, inside: Option<char>| {
            outside.is_some_and(is_word_character) && inside.is_some_and(is_word_character)
        };
        !joins(before, word.chars().next()) && !joins(after, word.chars().next_back())
    })
}

/// The words of a text: names, keywords and numbers.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character| !is_word_character(character)).filter(|word| !word.is_empty())
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Gives every character its class.
fn classify(source: &[char]) -> Vec<Class> {
    let mut classes = Vec::with_capacity(source.len());
    while classes.len() < source.len() {
        let at = classes.len();
        let (class, end) = token(source, at);
        match class {
            Class::Literal => {
                // `token` gives the whole literal; its quotes and prefix are code, what they enclose is not.
                let quote = |character: &char| *character == '"' || *character == '\'';
                let open = at + source[at..end].iter().position(quote).expect("a literal has a quote");
                let close = at + source[at..end].iter().rposition(quote).expect("a literal has a quote");
                let inside = |index| if index > open && index < close { Class::Literal } else { Class::Code };
                classes.extend((at..end).map(inside));
            }
            Class::Code | Class::Comment => classes.extend(std::iter::repeat_n(class, end - at)),
        }
    }
    classes
}

/// The class of the token that begins at `at`, and where it ends.
fn token(source: &[char], at: usize) -> (Class, usize) {
    let next = source.get(at + 1);
    match (source[at], next) {
        ('/', Some('/')) => (Class::Comment, find(source, at, |rest| rest[0] == '\n')),
        ('/', Some('*')) => (Class::Comment, end_of_block_comment(source, at)),
        ('"', _) => (Class::Literal, end_of_string(source, at)),
        ('\'', Some('\\')) => (Class::Literal, end_of_character(source, at)),
        ('\'', Some(_)) if source.get(at + 2) == Some(&'\'') => (Class::Literal, at + 3),
        (first, _) if is_word_character(first) => word_or_raw_string(source, at),
        _ => (Class::Code, at + 1),
    }
}

/// A word; or, if the word is the prefix of a raw string (`r"`, `br#"`, …), that string.
fn word_or_raw_string(source: &[char], at: usize) -> (Class, usize) {
    let end = find(source, at, |rest| !is_word_character(rest[0]));
    let hashes = source[end..].iter().take_while(|character| **character == '#').count();
    let prefix: String = source[at..end].iter().collect();
    let is_raw = ["r", "br", "cr"].contains(&prefix.as_str()) && source.get(end + hashes) == Some(&'"');
    if !is_raw {
        return (Class::Code, end);
    }
    let closes = |rest: &[char]| {
        rest[0] == '"' && rest.len() > hashes && rest[1..=hashes].iter().all(|character| *character == '#')
    };
    let quote = find(source, end + hashes + 1, closes);
    (Class::Literal, (quote + 1 + hashes).min(source.len()))
}

fn end_of_string(source: &[char], at: usize) -> usize {
    let mut end = at + 1;
    while end < source.len() && source[end] != '"' {
        end += if source[end] == '\\' { 2 } else { 1 };
    }
    (end + 1).min(source.len())
}

/// The end of a character literal whose first character is a backslash: `'\''`, `'\n'`, `'\u{1f600}'`.
fn end_of_character(source: &[char], at: usize) -> usize {
    (find(source, at + 3, |rest| rest[0] == '\'') + 1).min(source.len())
}

/// Block comments nest.
fn end_of_block_comment(source: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut end = at;
    while end < source.len() {
        match (source[end], source.get(end + 1)) {
            ('/', Some('*')) => (depth, end) = (depth + 1, end + 2),
            ('*', Some('/')) => (depth, end) = (depth - 1, end + 2),
            _ => end += 1,
        }
        if depth == 0 {
            break;
        }
    }
    end
}

/// The first index from `from` where `stop` holds for the rest, or the end.
fn find(source: &[char], from: usize, stop: impl Fn(&[char]) -> bool) -> usize {
    (from..source.len()).find(|&index| stop(&source[index..])).unwrap_or(source.len())
}

/// Marks the lines from each `#[cfg(test)]` to the end of its item.
fn mark_tests(lines: &mut [Line]) {
    let mut next = 0;
    while next < lines.len() {
        let is_attribute = |code: &str| code.contains("#[cfg(test)]") || code.contains("#[cfg(all(test");
        let end = if is_attribute(&lines[next].code) { end_of_item(lines, next) } else { next };
        if end > next {
            lines[next..end].iter_mut().for_each(|line| line.is_test = true);
        }
        next = end.max(next + 1);
    }
}

/// One past the line that ends the item which begins at `start`: at its closing brace, or at the semicolon of an
/// item without a body.
fn end_of_item(lines: &[Line], start: usize) -> usize {
    let mut depth = 0_usize;
    for (index, line) in lines.iter().enumerate().skip(start) {
        for character in line.code.chars() {
            match character {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && matches!(character, ';' | '}') {
                return index + 1;
            }
        }
    }
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what is left of one line as code, with the literals, and as comment (spaces at the end dropped).
    fn check(source: &str, code: &str, uncommented: &str, comment: &str) {
        let line = &lines(source)[0];
        assert_eq!(line.code.trim_end(), code, "code of {source}");
        assert_eq!(line.uncommented.trim_end(), uncommented, "uncommented {source}");
        assert_eq!(line.comment.trim(), comment, "comment of {source}");
    }

    #[test]
    fn comments_end_with_the_line() {
        check("a(); // \"b\" 'c", "a();", "a();", "// \"b\" 'c");
    }

    #[test]
    fn block_comments_nest() {
        check("a /* b /* c */ d */ e", "a                   e", "a                   e", "/* b /* c */ d */");
    }

    #[test]
    fn strings_hide_comments_and_escaped_quotes() {
        check(r#"a("// \" b", c)"#, r#"a("       ", c)"#, r#"a("// \" b", c)"#, "");
    }

    #[test]
    fn raw_strings_end_at_their_own_quote() {
        check(r##"a(r#"x "y" \"#, b)"##, r##"a(r#"       "#, b)"##, r##"a(r#"x "y" \"#, b)"##, "");
        check(r#"br"\" + c"#, r#"br" " + c"#, r#"br"\" + c"#, "");
    }

    #[test]
    fn raw_names_are_no_strings() {
        check("r#type(r)", "r#type(r)", "r#type(r)", "");
    }

    #[test]
    fn lifetimes_are_no_characters() {
        check(
            "f::<'a>('b', '\\'', '\"', '\\u{61}') // c",
            "f::<'a>(' ', '  ', ' ', '      ')",
            "f::<'a>('b', '\\'', '\"', '\\u{61}')",
            "// c",
        );
    }

    #[test]
    fn a_text_that_ends_early_is_no_error() {
        for source in ["\"a", "r#\"a", "r#\"a\"", "'\\", "'", "/* a", "\"\\", "r#", "/"] {
            assert_eq!(lines(source).len(), 1, "{source}");
        }
    }

    #[test]
    fn a_literal_goes_on_over_lines() {
        let lines = lines("let a = \"b // c\nd\"; // e");
        assert_eq!(lines[1].code, " \";     ");
        assert_eq!(lines[1].comment.trim(), "// e");
    }

    #[test]
    fn test_items_are_marked_to_their_end() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() { c(\"}\") }\n}\nfn d() {}\n\
            #[cfg(test)]\nuse e::[u8; 2];\nfn g() {}";
        let marked: Vec<bool> = lines(source).iter().map(|line| line.is_test).collect();
        assert_eq!(marked, [false, true, true, true, true, false, true, true, false]);
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("unsafe { }", "unsafe"));
        assert!(has_word("#[unsafe(no_mangle)]", "unsafe"));
        assert!(!has_word("#![deny(unsafe_code)]", "unsafe"));
        assert!(!has_word("OnceRwLock", "RwLock"));
        assert!(has_word("a.lock()", ".lock()"));
        assert_eq!(words("mod r#add, sub_;").collect::<Vec<_>>(), ["mod", "r", "add", "sub_"]);
    }
}
