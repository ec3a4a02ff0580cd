//! `opgrid coverage`: which operators each backend has, and from where.

use opgrid::dispatch::Source;
use opgrid::{DispatchKey, Result};
use serde_json::{Map, Value as Json, json};

use super::keys;
use crate::columns::aligned;
use crate::{json, style};

/// Show which operators backends have natively, as composites of others, by a fallback, and not at all.
///
/// Without a backend every one is counted that has kernels. With one, its operators are named.
#[derive(clap::Args)]
pub(crate) struct Coverage {
    /// The key of a backend, as in CPU or Meta.
    #[arg(long, value_name = "KEY", value_parser = keys::by_name)]
    backend: Option<DispatchKey>,
}

impl Coverage {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let dispatcher = opgrid::dispatcher()?;
        let backends = match self.backend {
            Some(key) => vec![dispatcher.coverage(key)?],
            None => dispatcher.coverage_of_all(),
        };
        Ok(match (json, backends.as_slice()) {
            (true, all) => json::line(&all.iter().map(describe).collect()),
            (false, [one]) if self.backend.is_some() => names(one),
            (false, all) => counts(all),
        })
    }
}

fn counts(backends: &[opgrid::dispatch::Coverage]) -> String {
    let mut rows = vec![
        ["backend", "native", "composite", "fallback", "missing"].map(|title| style::HEADING.apply(title)),
    ];
    rows.extend(backends.iter().map(|backend| {
        let [native, composite, fallback, missing] =
            Source::ALL.map(|source| backend.count(source).to_string());
        [backend.key.to_string(), native, composite, fallback, missing]
    }));
    aligned(&rows)
}

/// The operators of one backend, source by source.
fn names(backend: &opgrid::dispatch::Coverage) -> String {
    let mut text = String::new();
    for source in Source::ALL {
        let title = style::HEADING.apply(source);
        text.push_str(&format!("{title}: {} of {}\n", backend.count(source), backend.operators.len()));
        for (operator, slot) in backend.from(source) {
            let kernel = slot.kernel.as_ref().filter(|_| source == Source::Fallback);
            let by = kernel.map_or(String::new(), |kernel| format!("  by {}", kernel.title()));
            text.push_str(&format!("  {}{by}\n", operator.name()));
        }
    }
    text
}

fn describe(backend: &opgrid::dispatch::Coverage) -> Json {
    let names = |source| backend.from(source).map(|(operator, _)| operator.name().to_string()).collect();
    let sources: Map<String, Json> =
        Source::ALL.into_iter().map(|source| (source.name().to_owned(), names(source))).collect();
    json!({"backend": backend.key.to_string(), "operators": sources})
}
