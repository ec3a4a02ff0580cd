//! `opgrid list`: the registered operators.

use std::sync::Arc;

use opgrid::dispatch::schema::FunctionSchema;
use opgrid::{OperatorHandle, Result};
use serde_json::{Value as Json, json};

use crate::answer::Answer;
use crate::{json, style, suggest};

/// List the registered operators with their schemas. Status 1: there is none.
#[derive(clap::Args)]
pub(crate) struct List {
    /// Part of a name in capitals or not, or a whole one with `*` for any letters: `add`, `aten::add*`.
    pattern: Option<String>,
}

impl List {
    pub(crate) fn run(&self, json: bool) -> Result<Answer> {
        let operators = opgrid::dispatcher()?.operators();
        let chosen = operators.iter().filter(|operator| self.admits(&operator.name().to_string()));
        let schemas = chosen.map(|operator| Ok((operator, operator.schema()?)));
        let schemas = schemas.collect::<Result<Vec<_>>>()?;
        let found = schemas.is_empty();
        if json {
            return Ok(Answer { text: json::line(&schemas.iter().map(describe).collect()), found });
        }
        if let Some(pattern) = self.pattern.as_deref().filter(|_| found) {
            anstream::eprintln!("{}: {}", style::NOTE.apply("note"), nothing(pattern, &operators));
        }
        Ok(Answer { text: schemas.iter().map(|(_, schema)| line(schema)).collect(), found })
    }

    fn admits(&self, name: &str) -> bool {
        self.pattern.as_deref().is_none_or(|pattern| admits(pattern, name))
    }
}

/// Whether a name has a pattern in it, or is one with stars.
pub(crate) fn admits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    if pattern.contains('*') { matches(&pattern, &name) } else { name.contains(&pattern) }
}

/// A schema on a line of its own, with its name in front.
fn line(schema: &FunctionSchema) -> String {
    let text = schema.to_string();
    let (name, rest) = text.split_at(text.find('(').unwrap_or(text.len()));
    format!("{}{rest}\n", style::HEADING.apply(name))
}

/// What to say where no operator has the pattern.
fn nothing(pattern: &str, operators: &[OperatorHandle]) -> String {
    let mut names: Vec<_> = operators.iter().map(|operator| operator.name().name.as_str()).collect();
    names.dedup();
    let word = pattern.trim_matches('*').to_lowercase();
    let near = if word.contains("::") {
        suggest::nearest(&word, names.iter().copied())
    } else {
        suggest::nearest(&word, names.iter().map(|name| name.rsplit("::").next().unwrap_or(name)))
    };
    let count = operators.len();
    match near.as_slice() {
        [] => format!(
            "none of {count} operators matches `{pattern}`; use a part of a name, such as add or aten::add*"
        ),
        near => format!("none of {count} operators matches `{pattern}`; did you mean {}?", near.join(" or ")),
    }
}

fn describe((operator, schema): &(&OperatorHandle, Arc<FunctionSchema>)) -> Json {
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
    fn capitals_do_not_matter() {
        assert!(admits("ADD", "aten::add.Tensor") && admits("*.tensor", "aten::add.Tensor"));
        assert!(!admits("zzz", "aten::add.Tensor"));
    }

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
