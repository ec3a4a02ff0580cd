//! Where the reader of a text stands: words, names, quotes, and errors with line and column.

use opgrid_core::{Error, Result};

use crate::error;

/// A text and how much of it is read.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// What is left, without space and comments in front.
    pub(super) fn rest(&mut self) -> &'t str {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            match trimmed.strip_prefix('#') {
                Some(comment) => self.at += 1 + comment.find('\n').unwrap_or(comment.len()),
                None => return trimmed,
            }
        }
    }

    /// Passes over a sign if it comes next.
    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    /// Passes over a sign.
    pub(super) fn expect(&mut self, sign: &str) -> Result<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    /// Whether the word comes next, as a whole.
    pub(super) fn sees_word(&mut self, word: &str) -> bool {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let rest = self.rest().strip_prefix(word);
        rest.is_some_and(|rest| !rest.as_bytes().first().is_some_and(is_part))
    }

    /// Passes over a word if it comes next.
    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let is_next = self.sees_word(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    /// The longest piece of such bytes, which may be empty.
    pub(super) fn piece(&mut self, is_part: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// An identifier.
    pub(super) fn identifier(&mut self, expected: &str) -> Result<&'t str> {
        let starts_well = self.rest().starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if !starts_well {
            return Err(self.unexpected(expected));
        }
        Ok(self.piece(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
    }

    /// An identifier, or any text in quotes.
    pub(super) fn name(&mut self, expected: &str) -> Result<String> {
        if self.rest().starts_with('"') {
            self.quoted(expected)
        } else {
            self.identifier(expected).map(str::to_owned)
        }
    }

    /// A text in quotes, with the escapes of JSON.
    pub(super) fn quoted(&mut self, expected: &str) -> Result<String> {
        let rest = self.rest();
        let mut is_escaped = false;
        let end = rest.bytes().enumerate().skip(1).find(|(_, byte)| {
            let ends = *byte == b'"' && !is_escaped;
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        });
        match end.filter(|_| rest.starts_with('"')) {
            Some((end, _)) => {
                let text = serde_json::from_str(&rest[..=end])
                    .map_err(|_| self.unexpected(&format!("{expected} with the escapes of JSON")))?;
                self.at += end + 1;
                Ok(text)
            }
            None => Err(self.unexpected(&format!("{expected} in quotes"))),
        }
    }

    /// An error at the place where the reader stands.
    #[cold]
    pub(super) fn unexpected(&mut self, expected: &str) -> Error {
        let rest = self.rest();
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let found: String = rest.chars().take_while(|letter| *letter != '\n').take(24).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        error::value(format!(
            "text of a graph: line {line}, column {column}: found {found}, expected {expected}"
        ))
    }
}
