//! `opgrid graph`: what a program does, whether it can run, which operators it needs, and its other forms.

mod convert;
mod dot;
mod mapped;
mod page;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use opgrid::{DispatchKey, Error, ErrorKind, OperatorHandle, Result, files};
use opgrid_graph::{Program, check, find_target, passes, read_graph};
use serde_json::json;

use crate::answer::Answer;
use crate::columns::aligned;
use crate::{html, json, style};

/// Look at a program that torch.export.save wrote, or at a graph as text or JSON, and convert it.
#[derive(clap::Args)]
pub(crate) struct Graph {
    #[command(subcommand)]
    question: Question,
}

#[derive(clap::Subcommand)]
enum Question {
    /// Print the graph as text: inputs, weights, sizes that vary, nodes and results.
    ///
    /// `opgrid run` and `opgrid graph` read what is printed; the weights are not part of it.
    Show {
        /// A .pt2, or a graph as text or JSON.
        model: PathBuf,
        /// List the groups of pointwise nodes that could run as one loop instead.
        #[arg(long)]
        groups: bool,
    },
    /// Say what is wrong with a graph. Status 0: it can run; 1: something is wrong; 2: it could not be read.
    Check {
        /// A .pt2, or a graph as text or JSON.
        model: PathBuf,
    },
    /// List what a program calls, how often, and the kernel that runs on the CPU. Status 1: something of it is not there.
    Ops {
        /// A .pt2, or a graph as text or JSON.
        model: PathBuf,
    },
    Convert(convert::Convert),
    /// Print the graph for Graphviz: `opgrid graph dot model.pt2 | dot -Tsvg > model.svg`.
    Dot {
        /// A .pt2, or a graph as text or JSON.
        model: PathBuf,
    },
    /// Print the graph as a page for a browser: one file that loads nothing, with nodes folded by module and a search.
    Html {
        /// A .pt2, or a graph as text or JSON.
        model: PathBuf,
    },
}

impl Graph {
    pub(crate) fn run(&self, json: bool) -> Result<Answer> {
        match &self.question {
            Question::Show { model, groups: true } => groups(read(model)?, json).map(Answer::from),
            Question::Show { model, groups: false } => {
                let text = read(model)?.to_string();
                Ok(if json { json::line(&json!({"graph": text})) } else { text }.into())
            }
            Question::Check { model } => faults(&read(model)?, json),
            Question::Ops { model } => operators(&read(model)?, json),
            Question::Convert(command) => command.run(json).map(Answer::from),
            Question::Dot { model } => {
                let text = dot::text(&read(model)?);
                Ok(if json { json::line(&json!({"dot": text})) } else { text }.into())
            }
            Question::Html { model } => {
                let text = page(&read(model)?, model);
                Ok(if json { json::line(&json!({"html": text})) } else { text }.into())
            }
        }
    }
}

/// The page of a graph that stands in the file `path`.
fn page(graph: &opgrid_graph::Graph, path: &Path) -> String {
    html::graph(&path.file_name().unwrap_or_default().to_string_lossy(), &page::body(graph))
}

/// Whether a file is an archive; everything else is taken for a graph as text or JSON.
fn is_archive(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    files::open(path)?.take(2).read_to_end(&mut start).map_err(|error| {
        Error::new(ErrorKind::File, format!("{}: cannot be read: {error}", path.display())).caused_by(error)
    })?;
    Ok(start == b"PK" || path.extension().is_some_and(|ending| ending == "pt2"))
}

/// The graph of a file.
fn read(path: &Path) -> Result<opgrid_graph::Graph> {
    if is_archive(path)? {
        return read_graph(path);
    }
    let text = files::read_text(path)?;
    // The text form begins with a word.
    let graph = if text.trim_start().starts_with('{') {
        serde_json::from_str(&text)
            .map_err(|cause| Error::new(ErrorKind::File, format!("{cause}, expected JSON")).caused_by(cause))
            .and_then(|json| opgrid_graph::Graph::from_json(&json))
    } else {
        text.parse()
    };
    graph.map_err(|error| error.within(path.display()))
}

/// The program of a file: with its weights, or one that needs none.
pub(super) fn program(path: &Path) -> Result<Program> {
    if is_archive(path)? {
        return mapped::program(path);
    }
    Program::new(read(path)?, BTreeMap::new()).map_err(|error| error.within(path.display()))
}

fn faults(graph: &opgrid_graph::Graph, json: bool) -> Result<Answer> {
    let errors = check(graph)?;
    let found = !errors.is_empty();
    if json {
        let errors: Vec<_> = errors.iter().map(Error::message).collect();
        return Ok(Answer { text: json::line(&json!({"errors": errors})), found });
    }
    let nodes: usize = graph.targets().values().sum();
    let mut text: String = errors.iter().map(|error| format!("{error}\n")).collect();
    let nodes = counted(nodes, "node");
    let errors = if found { counted(errors.len(), "error") } else { "nothing found".to_owned() };
    text.push_str(&format!("{nodes}: {errors}\n"));
    Ok(Answer { text, found })
}

/// The groups of pointwise nodes that could run as one loop, in the order of the graph.
fn groups(graph: opgrid_graph::Graph, json: bool) -> Result<String> {
    let graph = passes::propagate_types(graph)?;
    let groups = passes::fusible_groups(&graph)?;
    let (mut text, mut described) = (String::new(), Vec::new());
    for (number, group) in groups.iter().enumerate() {
        let sizes: Vec<_> = group.sizes.iter().map(ToString::to_string).collect();
        let targets: Vec<_> =
            group.nodes.iter().map(|place| graph.block.nodes[*place].target.as_str()).collect();
        described.push(json!({
            "nodes": group.nodes, "operators": targets, "sizes": sizes, "inputs": group.inputs, "outputs": group.outputs,
        }));
        let names =
            |names: &[String]| names.iter().map(|name| format!("%{name}")).collect::<Vec<_>>().join(", ");
        text.push_str(&format!(
            "group {number} of [{}]: {} -> {}\n",
            sizes.join(", "),
            names(&group.inputs),
            names(&group.outputs)
        ));
        for (place, target) in group.nodes.iter().zip(targets) {
            text.push_str(&format!("  node {place}  {target}\n"));
        }
    }
    let nodes: usize = groups.iter().map(|group| group.nodes.len()).sum();
    let all: usize = graph.block.nodes.len();
    text.push_str(&format!("{}: {nodes} of {}\n", counted(groups.len(), "group"), counted(all, "node")));
    Ok(if json { json::line(&described.into()) } else { text })
}

/// A number of things, as in `1 node` and `2 nodes`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn operators(graph: &opgrid_graph::Graph, json: bool) -> Result<Answer> {
    let mut found = false;
    let mut rows = vec![["calls", "operator", "kernel", "place"].map(|title| style::HEADING.apply(title))];
    let mut described = Vec::new();
    for (target, count) in graph.targets() {
        let (kernel, place) = match find_target(target) {
            Ok(Some(operator)) => kernel(&operator)?,
            Ok(None) => ("the interpreter".to_owned(), String::new()),
            Err(error) => {
                found = true;
                ("missing".to_owned(), error.message().to_owned())
            }
        };
        described.push(json!({"operator": target, "calls": count, "kernel": kernel, "place": place}));
        rows.push([count.to_string(), target.to_owned(), kernel, style::QUIET.apply(place)]);
    }
    Ok(Answer { text: if json { json::line(&described.into()) } else { aligned(&rows) }, found })
}

/// The kernel that an operator has on the CPU, and where it was registered.
fn kernel(operator: &OperatorHandle) -> Result<(String, String)> {
    let slot = operator.table()?.into_iter().find(|slot| slot.key == DispatchKey::Cpu);
    Ok(match slot.and_then(|slot| slot.kernel) {
        Some(kernel) => (kernel.title().to_owned(), kernel.place.clone()),
        None => ("none on the CPU".to_owned(), String::new()),
    })
}
