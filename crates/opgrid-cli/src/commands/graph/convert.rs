//! `opgrid graph convert`: a program in another form.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use opgrid::{Error, ErrorKind, Result, files};
use opgrid_graph::{Archive, Graph, passes};
use serde_json::json;

use super::{dot, is_archive, page, read};
use crate::json;

/// Write a program in another form, which the ending of OUT says: .pt2 for torch.export.load, .txt or .graph for the text form,
/// .json, .dot for Graphviz, .html for a browser.
///
/// A .pt2 holds weights. They come from MODEL, or from the .pt2 that --weights names; a graph without weights needs neither.
///
/// --decompose takes composite operators apart, --functionalize replaces views and writes by pure operators, and --optimize removes what
/// the program need not do; they run in this order. Weights are only computed with where OUT is a .pt2.
#[derive(clap::Args)]
pub(crate) struct Convert {
    /// A .pt2, or a graph as text or JSON.
    model: PathBuf,
    /// The file to write; one that is there is replaced.
    out: PathBuf,
    /// The .pt2 whose weights belong to the graph; of those, the ones that the graph needs are written.
    #[arg(long, value_name = "FROM.pt2")]
    weights: Option<PathBuf>,
    /// Take composite operators apart into those that they call, as run_decompositions in Python.
    #[arg(long)]
    decompose: bool,
    /// Replace calls that write by calls that give new values; what is written is copied back at the end.
    #[arg(long)]
    functionalize: bool,
    /// Run all passes that leave less to do: constants, batch normalisations, repeated and unused calls.
    #[arg(long)]
    optimize: bool,
}

/// What a file may become.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Archive,
    Text,
    Json,
    Dot,
    Html,
}

const FORMS: [(&str, Form); 6] = [
    ("pt2", Form::Archive),
    ("txt", Form::Text),
    ("graph", Form::Text),
    ("json", Form::Json),
    ("dot", Form::Dot),
    ("html", Form::Html),
];

impl Form {
    fn from_path(path: &Path) -> Result<Self> {
        let ending =
            path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        FORMS.iter().find(|(known, _)| *known == ending).map(|(_, form)| *form).ok_or_else(|| {
            let known: Vec<_> = FORMS.iter().map(|(known, _)| format!(".{known}")).collect();
            let known = known.join(", ");
            refused(format!("{}: unknown file extension, expected one of {known}", path.display()))
        })
    }
}

impl Convert {
    pub(crate) fn run(&self, json: bool) -> Result<String> {
        let form = Form::from_path(&self.out)?;
        if let (Some(weights), true) = (&self.weights, form != Form::Archive) {
            return Err(refused(format!(
                "--weights {}: only .pt2 files hold weights, found {}; omit --weights",
                weights.display(),
                self.out.display()
            )));
        }
        let graph = match form {
            Form::Archive => self.archive()?,
            _ => {
                let graph = self.changed(Archive::new(read(&self.model)?, BTreeMap::new()))?.graph;
                let text = match form {
                    Form::Archive | Form::Text => graph.to_string(),
                    Form::Json => json::line(&graph.to_json()),
                    Form::Dot => dot::text(&graph),
                    Form::Html => page(&graph, &self.model),
                };
                files::write_text(&self.out, &text)?;
                graph
            }
        };
        let nodes: usize = graph.targets().values().sum();
        let out = self.out.display().to_string();
        Ok(if json {
            json::line(&json!({"out": out, "nodes": nodes}))
        } else {
            format!("{out}: {}\n", super::counted(nodes, "node"))
        })
    }

    /// Writes a .pt2.
    fn archive(&self) -> Result<Graph> {
        let archive = match &self.weights {
            None if is_archive(&self.model)? => opgrid_graph::read(&self.model)?,
            None => {
                let graph = read(&self.model)?;
                if let Some(name) = graph.inputs.iter().find_map(|kind| kind.stored_name()) {
                    return Err(refused(format!(
                        "{}: the graph needs tensor `{name}`, which the file does not contain; pass \
                         the .pt2 that has it with --weights",
                        self.model.display()
                    )));
                }
                Archive::new(graph, BTreeMap::new())
            }
            Some(weights) => {
                let graph = read(&self.model)?;
                let mut tensors = opgrid_graph::read(weights)?.tensors;
                tensors.retain(|name, _| graph.inputs.iter().any(|kind| kind.stored_name() == Some(name)));
                Archive::new(graph, tensors)
            }
        };
        let archive = self.changed(archive)?;
        archive.write(&self.out)?;
        Ok(archive.graph)
    }

    /// Runs the passes that are asked for.
    fn changed(&self, mut archive: Archive) -> Result<Archive> {
        type Pass = fn(Archive) -> Result<Archive>;
        let passes: [(bool, Pass); 3] = [
            (self.decompose, passes::decompose),
            (self.functionalize, passes::functionalize),
            (self.optimize, passes::optimize),
        ];
        for (is_asked, pass) in passes {
            if is_asked {
                archive = pass(archive).map_err(|error| error.within(self.model.display()))?;
            }
        }
        Ok(archive)
    }
}

#[cold]
fn refused(message: String) -> Error {
    Error::new(ErrorKind::Value, message)
}
