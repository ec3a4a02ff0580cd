//! The language between the run and the driver: lines of fields that are separated by tabs.

/// A field without tabs and line ends.
pub fn escaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    for c in field.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
    text
}

/// The fields of a line.
pub fn fields(line: &str) -> Vec<String> {
    line.split('\t').map(unescaped).collect()
}

fn unescaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut rest = field;
    while let Some(place) = rest.find('\\') {
        text.push_str(&rest[..place]);
        let mut marked = rest[place + 1..].chars();
        match marked.next() {
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some(c) => text.push(c),
            None => {}
        }
        rest = marked.as_str();
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_comes_back() {
        let all = ["", "plain", "a\tb\nc\\d", "\\t", "é\\"];
        let line = all.map(escaped).join("\t");
        assert!(!line.contains('\n'));
        assert_eq!(fields(&line), all);
    }
}
