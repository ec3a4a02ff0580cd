//! `opgrid lint`: what is probably wrong in what is registered.

use std::fmt::Write;

use opgrid::{Error, ErrorKind, Result};
use opgrid_inspect::{Fault, Finding, lint};
use serde_json::json;

use crate::answer::Answer;
use crate::columns::aligned;
use crate::{json, style, suggest};

/// Find what is probably wrong in what is registered: here, by plugins, by this program.
///
/// Every operator is looked at, or those of --namespace. Status 0: nothing was found; 1: something was; 2: it could not be
/// looked for. `--list` prints the faults that are looked for.
#[derive(clap::Args)]
pub(crate) struct Lint {
    /// Look at the operators of this namespace only; may be given several times.
    #[arg(long, value_name = "NS")]
    namespace: Vec<String>,
    /// Leave a fault out, everywhere or at one operator, as in missing-meta or missing-meta=my::op; may be given several
    /// times.
    #[arg(long, value_name = "FAULT[=OPERATOR]")]
    allow: Vec<String>,
    /// Print what is looked for.
    #[arg(long)]
    list: bool,
}

impl Lint {
    pub(crate) fn run(&self, json: bool) -> Result<Answer> {
        if self.list {
            return Ok(faults(json).into());
        }
        let allowed = self.allow.iter().map(|text| allowance(text)).collect::<Result<Vec<_>>>()?;
        let dispatcher = opgrid::dispatcher()?;
        let is_allowed = |finding: &Finding| {
            allowed.iter().any(|(fault, operator)| {
                *fault == finding.fault && operator.is_none_or(|operator| operator == finding.operator)
            })
        };
        let of_namespace = |operator: &str| {
            let namespace = operator.split("::").next().unwrap_or_default();
            self.namespace.is_empty() || self.namespace.iter().any(|known| known == namespace)
        };
        let count = dispatcher.operators().iter().filter(|it| of_namespace(&it.name().to_string())).count();
        if count == 0 && !self.namespace.is_empty() {
            return Err(no_namespace(&self.namespace));
        }
        let mut findings = lint(dispatcher);
        findings.retain(|finding| of_namespace(&finding.operator) && !is_allowed(finding));
        let found = !findings.is_empty();
        if json {
            let findings: Vec<_> = findings.iter().map(Finding::to_json).collect();
            let text = json::line(&json!({"operators": count, "findings": findings}));
            return Ok(Answer { text, found });
        }
        let mut text = String::new();
        for finding in &findings {
            let place = finding
                .place
                .as_deref()
                .map_or(String::new(), |place| style::QUIET.apply(format!("{place}: ")));
            let fault = style::CHANGED.apply(finding.fault);
            let _ = writeln!(
                text,
                "{place}{fault}: {}: {}",
                style::HEADING.apply(&finding.operator),
                finding.message
            );
        }
        let _ = writeln!(
            text,
            "{}",
            match findings.len() {
                0 => format!("{count} operators: nothing found"),
                1 => format!("{count} operators: 1 finding"),
                many => format!("{count} operators: {many} findings"),
            }
        );
        Ok(Answer { text, found })
    }
}

fn faults(json: bool) -> String {
    if json {
        let fault = |fault: Fault| json!({"fault": fault.name(), "summary": fault.summary()});
        return json::line(&Fault::ALL.map(fault).to_vec().into());
    }
    let rows: Vec<_> = Fault::ALL
        .iter()
        .map(|fault| [style::CHANGED.apply(fault.name()), fault.summary().to_owned()])
        .collect();
    aligned(&rows)
}

/// `FAULT` or `FAULT=OPERATOR`.
fn allowance(text: &str) -> Result<(Fault, Option<&str>)> {
    let (name, operator) = match text.split_once('=') {
        Some((name, operator)) => (name, Some(operator)),
        None => (text, None),
    };
    let fault = Fault::named(name).ok_or_else(|| {
        let near = suggest::nearest(name, Fault::ALL.iter().map(|fault| fault.name()));
        let remedy = match near.first() {
            Some(near) => format!("did you mean {near}?"),
            None => "`opgrid lint --list` prints them".to_owned(),
        };
        Error::new(ErrorKind::Unknown, format!("--allow: found `{name}`, expected a fault; {remedy}"))
    })?;
    Ok((fault, operator))
}

#[cold]
pub(super) fn no_namespace(namespaces: &[String]) -> Error {
    let message = format!(
        "--namespace: no operator is registered in {}; load its plugin with --plugin FILE, or see `opgrid list`",
        namespaces.join(", ")
    );
    Error::new(ErrorKind::Unknown, message)
}
