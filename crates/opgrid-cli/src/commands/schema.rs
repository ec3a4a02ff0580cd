//! `opgrid schema`: reads a declaration and tells everything it says; compares two of them.

use std::sync::Arc;

use opgrid::dispatch::schema::{AliasAnalysis, Argument, FunctionSchema, Incompatibility};
use opgrid::{Error, ErrorKind, Result};
use serde_json::{Value as Json, json};

use super::meant;
use crate::columns::aligned;
use crate::json;

/// Print a schema in its canonical form with everything that it says.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Schema {
    /// A schema text, or the name of a registered operator: with its overload, or without for all of them.
    #[arg(required = true)]
    declaration: Option<String>,
    #[command(subcommand)]
    comparison: Option<Comparison>,
}

#[derive(clap::Subcommand)]
enum Comparison {
    /// Say whether a schema can replace an older one, for old callers and for old implementations.
    Compare {
        /// The schema text or the operator that is to replace the other.
        new: String,
        /// The schema text or the operator that there was before.
        old: String,
    },
}

impl Schema {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        match (&self.comparison, &self.declaration) {
            (Some(Comparison::Compare { new, old }), _) => compare(&*read(new)?, &*read(old)?, json),
            (None, declaration) => {
                let declaration = declaration.as_deref().unwrap_or_default();
                let said = |schema: &FunctionSchema, documentation: &str| {
                    if json {
                        json::line(&describe(schema, documentation))
                    } else {
                        print(schema, documentation)
                    }
                };
                if declaration.contains('(') {
                    return Ok(said(&*parse(declaration)?, ""));
                }
                let mut texts = Vec::new();
                for operator in meant(declaration)? {
                    texts.push(said(&*operator.schema()?, &operator.documentation()));
                }
                Ok(json::joined(&texts, json))
            }
        }
    }
}

/// A schema text, told by its parenthesis, or the schema of a registered operator.
fn read(declaration: &str) -> Result<Arc<FunctionSchema>> {
    if declaration.contains('(') {
        return parse(declaration);
    }
    match meant(declaration)?.as_slice() {
        [only] => only.schema(),
        several => {
            let names: Vec<_> = several.iter().map(|operator| operator.name().to_string()).collect();
            let message = format!(
                "`{declaration}` has {} overloads, expected one of {}",
                names.len(),
                names.join(", ")
            );
            Err(Error::new(ErrorKind::Value, message))
        }
    }
}

fn parse(declaration: &str) -> Result<Arc<FunctionSchema>> {
    FunctionSchema::parse(declaration)
        .map(Arc::new)
        .map_err(|error| Error::new(ErrorKind::Schema, error.to_string()).caused_by(error))
}

fn print(schema: &FunctionSchema, documentation: &str) -> String {
    let side = |title: &str, arguments: &[Argument]| match arguments {
        [] => format!("{title}: none\n"),
        _ => {
            let rows: Vec<_> = arguments.iter().enumerate().map(row).collect();
            format!("{title}:\n{}", aligned(&rows))
        }
    };
    let documentation: String = documentation.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "{schema}\n{documentation}{}{}mutable: {}\nalias analysis: {}\n",
        side("arguments", &schema.arguments),
        side("returns", &schema.returns),
        if schema.is_mutable() { "yes" } else { "no" },
        alias_analysis(schema),
    )
}

fn alias_analysis(schema: &FunctionSchema) -> String {
    match schema.alias_analysis {
        Some(kind) => kind.to_string(),
        None => format!("{} (default)", AliasAnalysis::Conservative),
    }
}

fn row((place, argument): (usize, &Argument)) -> [String; 4] {
    let mut notes = Vec::new();
    if let Some(size) = argument.size {
        notes.push(format!("{size} elements"));
    }
    if let Some(default) = &argument.default {
        notes.push(format!("default {default}"));
    }
    if argument.kwarg_only {
        notes.push("keyword-only".into());
    }
    if let Some(alias) = &argument.alias {
        notes.push(format!("alias {alias}"));
    }
    if argument.is_out() {
        notes.push("out".into());
    } else if argument.is_write() {
        notes.push("written".into());
    }
    let name = if argument.name.is_empty() { "-" } else { &argument.name };
    [format!("  {place}"), name.to_owned(), argument.real_type.to_string(), notes.join(", ")]
}

fn describe(schema: &FunctionSchema, documentation: &str) -> Json {
    json!({
        "schema": schema.to_string(),
        "documentation": documentation,
        "name": schema.name.name,
        "overload": schema.name.overload,
        "arguments": schema.arguments.iter().map(describe_argument).collect::<Vec<_>>(),
        "returns": schema.returns.iter().map(describe_argument).collect::<Vec<_>>(),
        "vararg": schema.is_vararg,
        "varret": schema.is_varret,
        "mutable": schema.is_mutable(),
        "alias_analysis": schema.alias_analysis_or_default().to_string(),
    })
}

fn describe_argument(argument: &Argument) -> Json {
    let alias = argument.alias.as_ref();
    json!({
        "name": argument.name,
        "type": argument.real_type.to_string(),
        "size": argument.size,
        "default": argument.default.as_ref().map(ToString::to_string),
        "keyword_only": argument.kwarg_only,
        "alias": alias.map(|alias| json!({
            "before": alias.before,
            "after": alias.after,
            "write": alias.is_write,
        })),
        "out": argument.is_out(),
    })
}

fn compare(new: &FunctionSchema, old: &FunctionSchema, json: bool) -> Result<String> {
    let backward = reasons(new.is_backward_compatible_with(old));
    let forward = reasons(new.is_forward_compatible_with(old));
    if json {
        let side = |reasons: &[String]| json!({"compatible": reasons.is_empty(), "reasons": reasons});
        return Ok(json::line(&json!({
            "new": new.to_string(),
            "old": old.to_string(),
            "backward": side(&backward),
            "forward": side(&forward),
        })));
    }
    let side = |title: &str, reasons: &[String]| {
        let answer = if reasons.is_empty() { "yes" } else { "no" };
        let reasons: String = reasons.iter().map(|reason| format!("  {reason}\n")).collect();
        format!("{title}: {answer}\n{reasons}")
    };
    Ok(format!(
        "new {new}\nold {old}\n{}{}",
        side("backward compatible", &backward),
        side("forward compatible", &forward)
    ))
}

fn reasons(answer: std::result::Result<(), Incompatibility>) -> Vec<String> {
    answer.err().map_or_else(Vec::new, |found| found.reasons().iter().map(ToString::to_string).collect())
}
