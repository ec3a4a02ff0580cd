//! The value of a string literal, plain or raw.

use proc_macro2::Literal;

/// Reads what a string literal means; `None` if it is another kind of literal.
pub(crate) fn string_value(literal: &Literal) -> Option<String> {
    let text = literal.to_string();
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inner = raw.get(hashes..raw.len().checked_sub(hashes)?)?;
        return inner.strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    }
    unescape(text.strip_prefix('"')?.strip_suffix('"')?)
}

fn unescape(text: &str) -> Option<String> {
    let mut value = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        value.push_str(before);
        let mut characters = after.chars();
        let escaped = match characters.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            same @ ('\\' | '\'' | '"') => same,
            'x' => {
                let digits = characters.as_str().get(..2)?;
                characters = characters.as_str()[2..].chars();
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            'u' => {
                let (digits, after) = characters.as_str().strip_prefix('{')?.split_once('}')?;
                characters = after.chars();
                char::from_u32(u32::from_str_radix(&digits.replace('_', ""), 16).ok()?)?
            }
            // A line end after a backslash is left out, with the blanks that follow it.
            '\n' | '\r' => {
                rest = characters.as_str().trim_start_matches([' ', '\t', '\n', '\r']);
                continue;
            }
            _ => return None,
        };
        value.push(escaped);
        rest = characters.as_str();
    }
    value.push_str(rest);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(source: &str) -> Option<String> {
        string_value(&source.parse().expect("a literal"))
    }

    #[test]
    fn plain_strings() {
        assert_eq!(value(r#""a(int x) -> ()""#).as_deref(), Some("a(int x) -> ()"));
        assert_eq!(value(r#""\"\\\'\n\t\r\0\x41\u{e9}""#).as_deref(), Some("\"\\'\n\t\r\0Aé"));
        assert_eq!(value("\"a \\\n     b\"").as_deref(), Some("a b"));
        assert_eq!(value("\"\"").as_deref(), Some(""));
    }

    #[test]
    fn raw_strings() {
        assert_eq!(value(r##"r#"s="a\n""#"##).as_deref(), Some(r#"s="a\n""#));
        assert_eq!(value(r#"r"\""#).as_deref(), Some("\\"));
    }

    #[test]
    fn other_literals() {
        for source in ["1", "'a'", "b\"a\"", "c\"a\"", "1.5"] {
            assert_eq!(value(source), None, "{source}");
        }
    }
}
