//! Names of values and nodes that torch can make variables of Python from.

use std::collections::BTreeSet;

use crate::graph::expression::is_identifier;

/// Words of Python, and what the code that torch makes of a graph uses itself.
const TAKEN: [&str; 47] = [
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "self",
    "torch",
    "device",
    "inf",
    "nan",
    "NoneType",
    "fx_pytree",
    "pytree",
    "math",
    "operator",
    "cond",
    "_",
];

/// The names of a block that are given away.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Whether torch can use the name as it is.
    pub(super) fn is_usable(name: &str) -> bool {
        is_identifier(name) && !TAKEN.contains(&name)
    }

    /// Gives a usable name away; false if somebody has it.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.0.insert(name.to_owned())
    }

    /// Gives away a name like `wanted` that nobody has.
    pub(super) fn make(&mut self, wanted: &str) -> String {
        let mut base: String =
            wanted.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        if !base.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            base.insert(0, '_');
        }
        if Self::is_usable(&base) && self.take(&base) {
            return base;
        }
        let free = (1u64..).map(|number| format!("{base}_{number}")).find(|name| self.take(name));
        free.expect("there are more numbers than names")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_usable_and_unique() {
        let mut names = Names::default();
        assert!(names.take("x"));
        for (wanted, made) in [
            ("x", "x_1"),
            ("x", "x_2"),
            ("lambda", "lambda_1"),
            ("a.b", "a_b"),
            ("1", "_1"),
            ("", "__1"),
            ("é", "__2"),
        ] {
            assert_eq!(names.make(wanted), made, "{wanted}");
        }
    }
}
