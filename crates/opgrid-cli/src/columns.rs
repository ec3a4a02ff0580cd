//! Sets rows of strings in columns.

/// The rows, one line each, columns as wide as their widest text and two spaces apart. Colours take no width.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let missing = width.saturating_sub(self::width(cell));
            line.push_str(&format!("{cell}{:missing$}  ", ""));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// How many characters of a text are seen.
fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style;

    #[test]
    fn columns_are_as_wide_as_their_widest_text() {
        let row = |a: &str, b: &str, c: &str| [a.to_owned(), b.to_owned(), c.to_owned()];
        assert_eq!(aligned(&[row("é", "bb", ""), row("aaa", "b", "c")]), "é    bb\naaa  b   c\n");
        let colored = aligned(&[row(&style::HEADING.apply("é"), "bb", ""), row("aaa", "b", "c")]);
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), "é    bb\naaa  b   c\n");
        assert_eq!(aligned::<2>(&[]), "");
    }
}
