//! What a run found, against what it may find.

use std::fmt;
use std::ops::RangeInclusive;

#[derive(Default)]
pub struct Verdict {
    rows: Vec<Row>,
    /// The first violations in words.
    details: Vec<String>,
}

struct Row {
    what: String,
    found: String,
    allowed: String,
    holds: bool,
}

impl Verdict {
    /// A figure that is only reported.
    pub fn note(&mut self, what: &str, found: impl fmt::Display) {
        self.row(what, found.to_string(), String::new(), true);
    }

    /// A figure that has to lie within `allowed`.
    pub fn within(&mut self, what: &str, found: i64, allowed: RangeInclusive<i64>) {
        let (first, last) = (*allowed.start(), *allowed.end());
        let expected = match (first, last) {
            (i64::MIN, last) => format!("at most {last}"),
            (first, i64::MAX) => format!("at least {first}"),
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first} to {last}"),
        };
        self.row(what, found.to_string(), expected, allowed.contains(&found));
    }

    /// A piece that passes as a whole, or says why not.
    pub fn piece(&mut self, what: &str, outcome: Result<String, String>) {
        let (found, holds) = match outcome {
            Ok(found) => (found, true),
            Err(reason) => {
                self.details.push(format!("{what}: {reason}"));
                ("failed".to_owned(), false)
            }
        };
        self.row(what, found, String::new(), holds);
    }

    /// Keeps a violation in words.
    pub fn detail(&mut self, text: String) {
        self.details.push(text);
    }

    fn row(&mut self, what: &str, found: String, allowed: String, holds: bool) {
        self.rows.push(Row { what: what.to_owned(), found, allowed, holds });
    }

    pub fn is_clean(&self) -> bool {
        self.rows.iter().all(|row| row.holds)
    }

    pub fn violations(&self) -> String {
        let broken = self.rows.iter().filter(|row| !row.holds);
        let rows = broken.map(|row| format!("{}: {}, allowed: {}", row.what, row.found, row.allowed));
        rows.chain(self.details.iter().cloned()).collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |cell: fn(&Row) -> &str| self.rows.iter().map(|row| cell(row).len()).max().unwrap_or(0);
        let (what, found) = (width(|row| &row.what), width(|row| &row.found));
        for row in &self.rows {
            let mark = if row.holds { "  " } else { "✗ " };
            let allowed = if row.allowed.is_empty() { String::new() } else { format!("({})", row.allowed) };
            let line = format!("{mark}{:what$}  {:>found$}  {allowed}", row.what, row.found);
            writeln!(f, "{}", line.trim_end())?;
        }
        f.write_str(if self.is_clean() { "verdict: no violation" } else { "verdict: VIOLATED" })
    }
}
