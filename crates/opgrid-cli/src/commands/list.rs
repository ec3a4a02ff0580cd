//! `opgrid list`: the registered operators.

use opgrid::schema::FunctionSchema;
use opgrid::{OperatorHandle, Result};
use serde_json::{Value as Json, json};

use crate::json;

/// List the registered operators with their schemas.
#[derive(clap::Args)]
pub(crate) struct List {
    /// Part of a name, or a whole one with `*` for any letters: `add`, `aten::add*`.
    pattern: Option<String>,
}

impl List {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let operators = opgrid::dispatcher()?.operators();
        let chosen = operators.iter().filter(|operator| self.admits(&operator.name().to_string()));
        let schemas = chosen.map(|operator| Ok((operator, operator.schema()?)));
        let schemas = schemas.collect::<Result<Vec<_>>>()?;
        if json {
            return Ok(json::line(&schemas.iter().map(describe).collect()));
        }
        Ok(schemas.iter().map(|(_, schema)| format!("{schema}\n")).collect())
    }

    fn admits(&self, name: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        if pattern.contains('*') { matches(pattern, name) } else { name.contains(pattern.as_str()) }
    }
}

fn describe((operator, schema): &(&OperatorHandle, FunctionSchema)) -> Json {
    json!({"name": operator.name().to_string(), "schema": schema.to_string(), "tags": operator.tags()})
}

/// Whether `name` is `pattern` with some letters for each `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_letters() {
        for (pattern, name, expected) in [
            ("aten::add*", "aten::add.Tensor", true),
            ("*.out", "aten::add.out", true),
            ("*add*", "aten::add.out", true),
            ("a*d*t", "aten::add.out", true),
            ("*add", "aten::add.out", false),
            ("add*", "aten::add.out", false),
            ("aa*a", "aa", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
