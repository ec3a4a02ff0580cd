//! `opgrid record`: what is registered, on record.

use std::path::PathBuf;

use opgrid::{Result, files};
use opgrid_inspect::Record as Registry;

use super::lint::no_namespace;

/// Record what is registered, as JSON, for `opgrid diff`: schemas, kernels, what fills each key, fallbacks.
#[derive(clap::Args)]
pub(crate) struct Record {
    /// Write it to this file instead of printing it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Record the operators of this namespace only; may be given several times.
    #[arg(long, value_name = "NS")]
    namespace: Vec<String>,
}

impl Record {
    pub(crate) fn run(&self) -> Result<String> {
        let mut registry = Registry::from_dispatcher(opgrid::dispatcher()?);
        if !self.namespace.is_empty() {
            registry =
                registry.of_namespaces(|namespace| self.namespace.iter().any(|known| known == namespace));
            if registry.operators.is_empty() {
                return Err(no_namespace(&self.namespace));
            }
        }
        let text = lines(&registry.to_json());
        match &self.out {
            Some(path) => files::write_text(path, &text).map(|()| String::new()),
            None => Ok(text),
        }
    }
}

/// A line for each operator, so that version control shows which of them changed.
fn lines(registry: &serde_json::Value) -> String {
    let mut text = String::from("{\n");
    let head = registry.as_object().into_iter().flatten().filter(|(name, _)| *name != "operators");
    for (name, value) in head {
        text.push_str(&format!("{name:?}: {value},\n"));
    }
    let operators = registry["operators"].as_object().into_iter().flatten();
    let operators: Vec<_> = operators
        .map(|(name, value)| format!("{}: {value}", serde_json::Value::from(name.as_str())))
        .collect();
    text.push_str(&format!("\"operators\": {{\n{}\n}}\n}}\n", operators.join(",\n")));
    text
}
