//! What is wrong with a schema text, and where.

use std::error::Error;
use std::fmt;
use std::ops::Range;

/// The kinds of mistakes a schema text can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Another token was needed at this place.
    UnexpectedToken,
    /// The text has only an operator name where a whole schema was asked for, or the reverse.
    WrongDeclaration,
    /// The overload name is one that operators may not have.
    IllegalOverloadName,
    /// The word is not a type.
    UnknownType,
    /// The types cannot be combined so, such as a dictionary with lists as keys.
    InvalidType,
    /// The custom class is misspelt or not registered.
    UnknownClass,
    /// A default value is malformed, out of range, or not allowed for its type.
    InvalidDefault,
    /// A string literal has an escape that is not supported.
    InvalidString,
    /// A list size is not a small non-negative integer.
    InvalidSize,
    /// `...` is not the last element.
    MisplacedDots,
    /// The arguments together break a rule, such as a missing default after one that has it.
    InvalidArguments,
    /// A type is nested deeper than the limit.
    TooDeep,
}

/// A mistake in a schema text: what was found and expected, and the place.
///
/// `Display` shows the line with a mark under the place:
///
/// ```
/// use opgrid_schema::FunctionSchema;
///
/// let error = FunctionSchema::parse("foo(Tensor x,) -> Tensor").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "expected ident but found ')' here:\n\
///      foo(Tensor x,) -> Tensor\n             \
///                   ~ <--- HERE"
/// );
/// assert_eq!((error.span(), error.line(), error.column()), (13..14, 1, 14));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError(Box<Details>);

#[derive(Clone, PartialEq, Eq)]
struct Details {
    kind: ParseErrorKind,
    message: String,
    expected: Option<String>,
    found: Option<String>,
    span: Range<usize>,
    line: usize,
    column: usize,
    /// The part of the line that is shown, and the mark below it.
    excerpt: String,
    mark: String,
}

/// Characters shown on either side of the place; a schema may be one line of megabytes.
const SHOWN_EACH_SIDE: usize = 80;

/// Bytes of a message after which it is cut.
const LONGEST_MESSAGE: usize = 2_000;

impl ParseError {
    pub(crate) fn new(kind: ParseErrorKind, source: &str, span: Range<usize>, message: String) -> Self {
        let before = &source[..span.start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[span.start..].find('\n').map_or(source.len(), |at| span.start + at);
        let (excerpt, mark) = excerpt(&source[line_start..line_end], span.start - line_start, span.len());
        ParseError(Box::new(Details {
            kind,
            message: shorten(message),
            expected: None,
            found: None,
            line: before.matches('\n').count() + 1,
            column: source[line_start..span.start].chars().count() + 1,
            span,
            excerpt,
            mark,
        }))
    }

    pub(crate) fn unexpected(source: &str, span: Range<usize>, expected: &str, found: &str) -> Self {
        let message = format!("expected {expected} but found '{found}' here");
        let mut error = ParseError::new(ParseErrorKind::UnexpectedToken, source, span, message);
        error.0.expected = Some(expected.to_owned());
        error.0.found = Some(shorten(found.to_owned()));
        error
    }

    /// The kind of mistake.
    pub fn kind(&self) -> ParseErrorKind {
        self.0.kind
    }

    /// The message without the excerpt of the source.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What should have been there, for an unexpected token.
    pub fn expected(&self) -> Option<&str> {
        self.0.expected.as_deref()
    }

    /// What was there, for an unexpected token.
    pub fn found_token(&self) -> Option<&str> {
        self.0.found.as_deref()
    }

    /// The place as a range of bytes of the source.
    pub fn span(&self) -> Range<usize> {
        self.0.span.clone()
    }

    /// The line of the place, counted from one.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column of the place in characters, counted from one.
    pub fn column(&self) -> usize {
        self.0.column
    }
}

/// Cuts what a message quotes from a long source.
fn shorten(mut text: String) -> String {
    if text.len() > LONGEST_MESSAGE {
        let cut = (0..=LONGEST_MESSAGE).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(cut);
        text.push_str("...");
    }
    text
}

/// Cuts the shown part out of a line and draws the mark below it.
fn excerpt(line: &str, start: usize, length: usize) -> (String, String) {
    let first = line[..start].char_indices().rev().take(SHOWN_EACH_SIDE).last().map_or(start, |(at, _)| at);
    let shown_end = |from: usize| {
        line[from..].char_indices().nth(SHOWN_EACH_SIDE).map_or(line.len(), |(at, _)| from + at)
    };
    let end = (start + length).min(line.len());
    let last = shown_end(end.min(shown_end(start)));
    let (head, tail) = (if first > 0 { "..." } else { "" }, if last < line.len() { "..." } else { "" });
    let indent = head.len() + line[first..start].chars().count();
    let marked = line[start..end.min(last)].chars().count().max(1);
    let mark = format!("{}{} <--- HERE", " ".repeat(indent), "~".repeat(marked));
    (format!("{head}{}{tail}", &line[first..last]), mark)
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:\n{}\n{}", self.0.message, self.0.excerpt, self.0.mark)
    }
}

impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParseError({:?} at {}:{})\n{self}", self.0.kind, self.0.line, self.0.column)
    }
}

impl Error for ParseError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(source: &str, span: Range<usize>) -> ParseError {
        ParseError::new(ParseErrorKind::UnexpectedToken, source, span, "message".to_owned())
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        let error = error("ab\ncdé f", 8..9);
        assert_eq!((error.line(), error.column()), (2, 5));
        assert_eq!(error.to_string(), "message:\ncdé f\n    ~ <--- HERE");
    }

    #[test]
    fn the_end_can_be_marked() {
        assert_eq!(error("ab", 2..2).to_string(), "message:\nab\n  ~ <--- HERE");
        assert_eq!(error("", 0..0).to_string(), "message:\n\n~ <--- HERE");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let source = "x".repeat(1_000);
        let text = error(&source, 500..502).to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1].len(), 3 + 80 + 2 + 80 + 3);
        assert_eq!(lines[2], format!("{}~~ <--- HERE", " ".repeat(83)));
        assert!(error(&source, 0..1_000).to_string().len() < 500);
    }
}
