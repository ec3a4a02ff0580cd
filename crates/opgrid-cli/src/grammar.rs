//! The grammar of literals on the command line: words, quoted strings and lists.
//!
//! ```text
//! argument = list | text | word           a word here is the whole argument, whatever it contains
//! list     = "[" [ item { "," item } ] "]" [ ":" dtype ]
//! item     = list | text | word           a word here ends at "," or "]"
//! text     = a JSON string, in double quotes
//! ```
//!
//! What a word means (a number, a file, a device) the schema's type decides, in [`literal`](crate::literal).

use opgrid::{DType, Error, ErrorKind, Result};

/// A literal before it is given a type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    /// Anything without brackets and quotes.
    Word(String),
    /// What stood in quotes.
    Text(String),
    /// The items and the dtype behind the bracket.
    List(Vec<Literal>, Option<DType>),
}

/// Lists may be nested as deep as a tensor may have dimensions.
const DEEPEST: usize = 64;

impl Literal {
    /// Reads a whole argument.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] with the place where the text leaves the grammar.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if !text.starts_with(['[', '"']) {
            return Ok(Self::Word(text.to_owned()));
        }
        let mut reader = Reader { text, at: 0 };
        let literal = reader.item(0)?;
        if reader.at < text.len() { Err(reader.expected("the end")) } else { Ok(literal) }
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The byte to be read next.
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Steps over `mark` if it comes next.
    fn take(&mut self, mark: char) -> bool {
        let found = self.rest().starts_with(mark);
        self.at += if found { mark.len_utf8() } else { 0 };
        found
    }

    fn item(&mut self, depth: usize) -> Result<Literal> {
        match self.rest().chars().next() {
            Some('[') => self.list(depth),
            Some('"') => self.quoted(),
            _ => {
                let word = self.word(&[',', ']', '[', '"']);
                if word.is_empty() { Err(self.expected("an item")) } else { Ok(Literal::Word(word)) }
            }
        }
    }

    fn word(&mut self, ends: &[char]) -> String {
        let length = self.rest().find(ends).unwrap_or(self.rest().len());
        let word = self.rest()[..length].trim_end().to_owned();
        self.at += length;
        word
    }

    fn list(&mut self, depth: usize) -> Result<Literal> {
        if depth == DEEPEST {
            return Err(self.expected(&format!("at most {DEEPEST} levels of nested lists")));
        }
        self.take('[');
        self.skip_spaces();
        let mut items = Vec::new();
        while !self.take(']') {
            if !items.is_empty() && !self.take(',') {
                return Err(self.expected("`,` or `]`"));
            }
            self.skip_spaces();
            items.push(self.item(depth + 1)?);
            self.skip_spaces();
        }
        let dtype = if self.take(':') { Some(self.dtype()?) } else { None };
        Ok(Literal::List(items, dtype))
    }

    fn dtype(&mut self) -> Result<DType> {
        self.word(&[',', ']'])
            .parse()
            .map_err(|error: Error| error.within(format_args!("literal `{}`", self.text)))
    }

    fn quoted(&mut self) -> Result<Literal> {
        let mut texts = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
        let read = texts.next();
        let length = texts.byte_offset();
        match read {
            Some(Ok(text)) => {
                self.at += length;
                Ok(Literal::Text(text))
            }
            _ => Err(self.expected("a string in double quotes, with escapes as in JSON")),
        }
    }

    #[cold]
    fn expected(&self, what: &str) -> Error {
        let found = match self.rest().chars().next() {
            Some(letter) => {
                format!("found `{letter}` at character {}", self.text[..self.at].chars().count() + 1)
            }
            None => "it ends unexpectedly".to_owned(),
        };
        Error::new(ErrorKind::Value, format!("cannot read `{}`: {found}, expected {what}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Literal {
        Literal::Word(text.to_owned())
    }

    fn list(items: &[Literal]) -> Literal {
        Literal::List(items.to_vec(), None)
    }

    #[test]
    fn literals_are_read() {
        for (text, expected) in [
            ("2", word("2")),
            ("a file, with [odd] name.npy", word("a file, with [odd] name.npy")),
            ("", word("")),
            ("[]", list(&[])),
            ("[ 1, -2.5 ]", list(&[word("1"), word("-2.5")])),
            ("[[1,2],[]]", list(&[list(&[word("1"), word("2")]), list(&[])])),
            (r#""a \"b\", [c]""#, Literal::Text(r#"a "b", [c]"#.to_owned())),
            (r#"["x","y"]"#, list(&[Literal::Text("x".to_owned()), Literal::Text("y".to_owned())])),
            ("[1]:f64", Literal::List(vec![word("1")], Some(DType::F64))),
            ("[[1]:i64]", list(&[Literal::List(vec![word("1")], Some(DType::I64))])),
        ] {
            assert_eq!(Literal::parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_errors_at_their_place() {
        for (text, expected) in [
            ("[1, 2", "it ends unexpectedly, expected `,` or `]`"),
            ("[1,]", "found `]` at character 4, expected an item"),
            ("[1] 2", "found ` ` at character 4, expected the end"),
            ("[1][2]", "found `[` at character 4, expected the end"),
            ("[1:2", "it ends unexpectedly"),
            ("[1]:f33", "unknown dtype `f33`"),
            ("\"open", "expected a string in double quotes"),
            ("[é\"", "found `\"` at character 3, expected `,` or `]`"),
        ] {
            let error = Literal::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(text), "{text}: {error}");
        }
        let deep = "[".repeat(100_000);
        assert!(Literal::parse(&deep).is_err());
    }
}
