//! Cuts schema text into tokens, one at a time and without allocating.
//!
//! The lexer works on bytes and remembers only a position and the bracket depth, so that looking one token
//! ahead is a copy of two words. It never fails: text that is no token becomes [`TokenKind::Other`] or
//! [`TokenKind::Unterminated`], and the parser reports it as something it did not expect.

/// What a token is; the text itself stays in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Identifier,
    /// A word that may not be used as a name.
    Reserved,
    True,
    False,
    None,
    /// `NoneType`: a word that is only a type.
    NoneType,
    Number,
    StringLiteral,
    Arrow,
    Dots,
    /// A line end outside all brackets.
    Newline,
    End,
    /// One ASCII character of punctuation.
    Punctuation(u8),
    /// A character that no token begins with.
    Other,
    /// A quote without its partner.
    Unterminated,
}

impl TokenKind {
    /// Names the kind for "expected …" strings; kinds that are their own text give `None`.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            TokenKind::Identifier => Some("ident"),
            TokenKind::Number => Some("number"),
            TokenKind::StringLiteral => Some("string_literal"),
            TokenKind::Arrow => Some("arrow"),
            TokenKind::Dots => Some("dots"),
            TokenKind::Newline => Some("newline"),
            TokenKind::End => Some("eof"),
            _ => None,
        }
    }

    /// Whether the language has such a token at all.
    pub(crate) fn is_token(self) -> bool {
        let is_foreign = matches!(self, TokenKind::Punctuation(b'$' | b';' | b'\\' | b'`'));
        !is_foreign && !matches!(self, TokenKind::Other | TokenKind::Unterminated)
    }
}

/// A token: its kind and the bytes it covers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token {
    pub(crate) fn is(self, byte: u8) -> bool {
        self.kind == TokenKind::Punctuation(byte)
    }
}

/// Reads tokens from schema text.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'s> {
    text: &'s str,
    position: usize,
    depth: usize,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        Lexer { text, position: 0, depth: 0 }
    }

    fn byte(&self, at: usize) -> u8 {
        // A zero byte is no token, so it can stand for the end as well.
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Reads the next token; at the end it keeps giving [`TokenKind::End`].
    pub(crate) fn next(&mut self) -> Token {
        if let Some(newline) = self.skip_blank() {
            return newline;
        }
        let start = self.position;
        let (kind, length) = match self.byte(start) {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(start),
            b'0'..=b'9' => (TokenKind::Number, self.number(start)),
            b'.' if self.byte(start + 1).is_ascii_digit() => (TokenKind::Number, self.number(start)),
            b'.' if self.text.as_bytes()[start..].starts_with(b"...") => (TokenKind::Dots, 3),
            b'-' if self.byte(start + 1) == b'>' => (TokenKind::Arrow, 2),
            quote @ (b'"' | b'\'') => self.string(start, quote),
            byte => self.single(start, byte),
        };
        self.position = start + length;
        Token { kind, start, end: self.position }
    }

    /// Reads the token after the next without moving.
    pub(crate) fn peek(&self) -> Token {
        let mut ahead = *self;
        ahead.next()
    }

    /// Skips blanks, comments and, inside brackets, line ends; gives a line end found outside.
    fn skip_blank(&mut self) -> Option<Token> {
        loop {
            match self.byte(self.position) {
                b'\n' if self.depth == 0 => {
                    let start = self.position;
                    self.position += 1;
                    return Some(Token { kind: TokenKind::Newline, start, end: start + 1 });
                }
                b'\\' if self.byte(self.position + 1) == b'\n' => self.position += 2,
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => self.position += 1,
                b'#' => {
                    let rest = &self.text.as_bytes()[self.position..];
                    self.position += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                }
                _ => return None,
            }
        }
    }

    fn word(&self, start: usize) -> (TokenKind, usize) {
        let rest = &self.text.as_bytes()[start..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        (classify(&rest[..length]), length)
    }

    /// Measures a number in C's notation, decimal or hexadecimal, with an optional `j` at the end.
    fn number(&self, start: usize) -> usize {
        let hexadecimal = self.byte(start) == b'0'
            && self.byte(start + 1) | 0x20 == b'x'
            && (self.byte(start + 2).is_ascii_hexdigit()
                || (self.byte(start + 2) == b'.' && self.byte(start + 3).is_ascii_hexdigit()));
        let (mut at, exponent) = if hexadecimal { (start + 2, b'p') } else { (start, b'e') };
        let is_digit = |byte: u8| if hexadecimal { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() };
        let digits = |mut at: usize| {
            while is_digit(self.byte(at)) {
                at += 1;
            }
            at
        };
        at = digits(at);
        if self.byte(at) == b'.' {
            at = digits(at + 1);
        }
        if self.byte(at) | 0x20 == exponent {
            let sign = usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
            if self.byte(at + 1 + sign).is_ascii_digit() {
                at += 1 + sign;
                while self.byte(at).is_ascii_digit() {
                    at += 1;
                }
            }
        }
        at + usize::from(self.byte(at) == b'j') - start
    }

    /// Measures a string in single or tripled quotes; only the tripled form may hold line ends.
    fn string(&self, start: usize, quote: u8) -> (TokenKind, usize) {
        let rest = &self.text.as_bytes()[start..];
        let tripled = [quote; 3];
        let width = if rest.starts_with(&tripled) { 3 } else { 1 };
        let mut at = width;
        while at < rest.len() {
            match rest[at] {
                b'\\' => at += 2,
                b'\n' if width == 1 => break,
                _ if rest[at..].starts_with(&tripled[..width]) => {
                    return (TokenKind::StringLiteral, at + width);
                }
                _ => at += 1,
            }
        }
        (TokenKind::Unterminated, width)
    }

    fn single(&mut self, start: usize, byte: u8) -> (TokenKind, usize) {
        match byte {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if byte.is_ascii_punctuation() {
            return (TokenKind::Punctuation(byte), 1);
        }
        match self.text[start..].chars().next() {
            Some(character) => (TokenKind::Other, character.len_utf8()),
            None => (TokenKind::End, 0),
        }
    }
}

/// Whether the text is one name and nothing else.
pub(crate) fn is_identifier(text: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|first| !first.is_ascii_digit())
        && bytes.iter().all(is_part)
        && classify(bytes) == TokenKind::Identifier
}

/// Tells names from the words of the language, first by their first letter because most words are names.
fn classify(word: &[u8]) -> TokenKind {
    let reserved = match word[0] {
        b'N' if word == b"None" => return TokenKind::None,
        b'N' if word == b"NoneType" => return TokenKind::NoneType,
        b'T' if word == b"True" => return TokenKind::True,
        b'F' if word == b"False" => return TokenKind::False,
        b'E' => word == b"Ellipsis",
        b'a' => matches!(word, b"and" | b"as" | b"assert"),
        b'b' => word == b"break",
        b'c' => matches!(word, b"class" | b"continue"),
        b'd' => matches!(word, b"def" | b"del"),
        b'e' => matches!(word, b"elif" | b"else"),
        b'f' => word == b"for",
        b'g' => word == b"global",
        b'i' => matches!(word, b"if" | b"in" | b"is" | b"import"),
        b'n' => word == b"not",
        b'o' => word == b"or",
        b'p' => word == b"pass",
        b'r' => matches!(word, b"return" | b"raise"),
        b'w' => matches!(word, b"while" | b"with"),
        _ => false,
    };
    if reserved { TokenKind::Reserved } else { TokenKind::Identifier }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(text);
        let mut found = Vec::new();
        loop {
            let token = lexer.next();
            if token.kind == TokenKind::End {
                return found;
            }
            found.push(token.kind);
        }
    }

    fn texts(text: &str) -> Vec<&str> {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| Some(lexer.next()).filter(|token| token.kind != TokenKind::End))
            .map(|token| &text[token.start..token.end])
            .collect()
    }

    #[test]
    fn punctuation_and_longer_tokens() {
        use TokenKind::*;
        assert_eq!(kinds("( -> - ..."), [Punctuation(b'('), Arrow, Punctuation(b'-'), Dots]);
        assert_eq!(texts("foo.1"), ["foo", ".1"]);
        assert_eq!(texts("a::b.c"), ["a", ":", ":", "b", ".", "c"]);
    }

    #[test]
    fn numbers_follow_c() {
        for number in ["0", "12", "1.", ".5", "1.5", "1e5", "1E-05", "1.e+3", "2j", "2.5j", "0x1F", "0x1.8p3"]
        {
            assert_eq!(texts(number), [number]);
        }
        assert_eq!(texts("1e"), ["1", "e"]);
        assert_eq!(texts("1e+"), ["1", "e", "+"]);
        assert_eq!(texts("0x"), ["0", "x"]);
    }

    #[test]
    fn strings_end_at_their_own_quote() {
        assert_eq!(texts(r#"'a"b' "c'd" 'e\'f'"#), [r#"'a"b'"#, r#""c'd""#, r"'e\'f'"]);
        assert_eq!(texts("'''a\n'b'''"), ["'''a\n'b'''"]);
        assert_eq!(kinds("'a\nb'")[0], TokenKind::Unterminated);
        assert_eq!(kinds("'a\\")[0], TokenKind::Unterminated);
    }

    #[test]
    fn newlines_count_only_outside_brackets() {
        assert_eq!(kinds("(\n)"), [TokenKind::Punctuation(b'('), TokenKind::Punctuation(b')')]);
        assert_eq!(kinds("a\n"), [TokenKind::Identifier, TokenKind::Newline]);
        assert_eq!(
            kinds("a # rest ( [\nb"),
            [TokenKind::Identifier, TokenKind::Newline, TokenKind::Identifier]
        );
    }

    #[test]
    fn other_characters_are_whole() {
        assert_eq!(texts("é\u{0}"), ["é", "\u{0}"]);
        assert_eq!(kinds("é\u{0}"), [TokenKind::Other, TokenKind::Other]);
    }
}
