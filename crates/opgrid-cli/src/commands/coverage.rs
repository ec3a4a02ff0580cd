//! `opgrid coverage`: which operators each backend has, and from where, and which names of torch are here.

use opgrid::dispatch::Source;
use opgrid::{DispatchKey, Result};
use serde_json::{Map, Value as Json, json};

use super::keys;
use crate::columns::aligned;
use crate::torch_names::{self, Namespace};
use crate::{json, style, suggest};

/// Show which operators backends have natively, as composites of others, by a fallback, and not at all, and which public names of
/// torch are here.
///
/// Without options, the operators of every backend that has kernels are counted, and the names of each namespace of torch. With a
/// backend or a namespace, its operators or names are listed.
#[derive(clap::Args)]
pub(crate) struct Coverage {
    /// The key of a backend, as in CPU or Meta.
    #[arg(long, value_name = "KEY", value_parser = keys::by_name)]
    backend: Option<DispatchKey>,
    /// A namespace of torch, as in torch.linalg or torch.Tensor.
    #[arg(long, value_name = "NAME", conflicts_with = "backend", value_parser = namespace_by_name)]
    namespace: Option<String>,
}

/// A namespace of torch that is known.
fn namespace_by_name(name: &str) -> std::result::Result<String, String> {
    if torch_names::namespace_names().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let known: Vec<_> = torch_names::namespace_names().collect();
    let near = suggest::nearest(name, known.iter().copied());
    let remedy = match near.as_slice() {
        [] => format!("known are {}", known.join(", ")),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Err(format!("no namespace of torch is recorded as `{name}`; {remedy}"))
}

impl Coverage {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let dispatcher = opgrid::dispatcher()?;
        if let Some(key) = self.backend {
            let backend = dispatcher.coverage(key)?;
            return Ok(if json { json::line(&json!([describe(&backend)])) } else { names(&backend) });
        }
        let mut namespaces = torch_names::namespaces(dispatcher);
        if let Some(name) = &self.namespace {
            namespaces.retain(|namespace| namespace.name == name);
            let listed = namespaces.iter().map(|namespace| {
                if json { json::line(&describe_namespace(namespace)) } else { names_of_torch(namespace) }
            });
            return Ok(listed.collect());
        }
        let backends = dispatcher.coverage_of_all();
        if json {
            let backends: Vec<_> = backends.iter().map(describe).collect();
            let namespaces: Vec<_> = namespaces.iter().map(describe_namespace).collect();
            return Ok(json::line(&json!({"backends": backends, "namespaces": namespaces})));
        }
        Ok(counts(&backends) + "\n" + &counts_of_torch(&namespaces))
    }
}

fn counts_of_torch(namespaces: &[Namespace]) -> String {
    let mut rows = vec![["namespace", "here", "of", "missing"].map(|title| style::HEADING.apply(title))];
    rows.extend(namespaces.iter().map(|namespace| {
        let (here, missing) = (namespace.here.len(), namespace.missing.len());
        [namespace.name.to_owned(), here.to_string(), (here + missing).to_string(), missing.to_string()]
    }));
    aligned(&rows)
}

/// The names of one namespace of torch: those that are here, and those that are missing.
fn names_of_torch(namespace: &Namespace) -> String {
    let all = namespace.here.len() + namespace.missing.len();
    let mut text = String::new();
    for (title, names) in [("here", &namespace.here), ("missing", &namespace.missing)] {
        text.push_str(&format!("{}: {} of {all}\n", style::HEADING.apply(title), names.len()));
        text.extend(names.iter().map(|name| format!("  {name}\n")));
    }
    text
}

fn describe_namespace(namespace: &Namespace) -> Json {
    json!({"namespace": namespace.name, "here": namespace.here, "missing": namespace.missing})
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
