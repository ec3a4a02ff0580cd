//! The graph of gradients as a value: which calls a result comes of, what they keep, and which leaves they lead to.
//!
//! The value is a copy. It keeps neither the graph nor its memory, so it can be looked at after the backward pass.
//!
//! | file | holds |
//! |---|---|
//! | `text` | lines for terminals |
//! | `dot` | the language of Graphviz |
//! | `layout` | where nodes and edges of a picture lie |
//! | `svg` | the picture, alone and as a page |

mod dot;
mod layout;
mod svg;
mod text;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use opgrid_core::{DType, Result};

use super::checkpoint::Segment;
use super::node::{Edge, Node};
use super::saved::Saved;
use super::variable::edge_of;
use crate::error::argument;
use crate::tensor::Tensor;

/// What [`graph`] shows.
#[derive(Clone, Copy, Debug)]
pub struct GraphOptions<'a> {
    /// Names of tensors: of leaves, and of others that calls gave.
    pub names: &'a [(&'a str, &'a Tensor)],
    /// How many nodes are shown, those next to the results first. Counts and bytes are always those of the whole graph.
    pub limit: usize,
}

impl Default for GraphOptions<'_> {
    fn default() -> Self {
        Self { names: &[], limit: 200 }
    }
}

/// The graph that leads from results to their leaves, as a value.
///
/// [`to_string`](ToString::to_string) gives indented text, [`to_dot`](Self::to_dot) the language of Graphviz,
/// [`to_svg`](Self::to_svg) a picture and [`to_html`](Self::to_html) a page with it.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<GraphNode>,
    results: Vec<usize>,
    calls: usize,
    leaves: usize,
    saved_bytes: usize,
}

/// A recorded call or a leaf.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GraphNode {
    /// The operator's name, or what else the node stands for.
    pub name: String,
    /// Whether gradients end here.
    pub is_leaf: bool,
    /// Where the call was made, if it was recorded in a scope of [`DetectAnomaly`](super::DetectAnomaly).
    pub place: Option<String>,
    /// The results of the call; that of a leaf is the leaf.
    pub results: Vec<GraphResult>,
    /// The tensors that the formulas of the call keep, and those that are computed again for them.
    ///
    /// What formulas keep apart from the graph is not among them: numbers and sizes, and what a call needs that has written a
    /// view.
    pub saved: Vec<SavedTensor>,
    /// Whether a backward pass has used the node and freed what it kept.
    pub is_freed: bool,
    /// Where gradients go on to.
    pub targets: Vec<GraphTarget>,
}

/// A result of a recorded call.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GraphResult {
    /// The name that the caller gave it.
    pub name: Option<String>,
    /// Sizes and dtype, if the graph knows them: those of leaves, of what another node needs and of the results that were
    /// asked about.
    pub shape: Option<(Vec<i64>, DType)>,
}

/// A tensor that a node keeps.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SavedTensor {
    /// The argument's name; `result` for a result, with its number if there are several; `tensor` for another one.
    pub name: String,
    /// Sizes.
    pub sizes: Vec<i64>,
    /// The type of the elements.
    pub dtype: DType,
    /// How many bytes the elements have. Several tensors may share them.
    pub bytes: usize,
    /// Whether it is not in memory: a [`checkpoint`](super::checkpoint()) computes it again.
    pub is_recomputed: bool,
}

/// Where a gradient goes on to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GraphTarget {
    /// The place of the node in [`Graph::nodes`]; none for one that is not shown.
    pub node: Option<usize>,
    /// The number of that node's result.
    pub output: usize,
    /// The sizes of the gradient.
    pub sizes: Vec<i64>,
    /// The type of its elements.
    pub dtype: DType,
}

/// The graph from `results` to the leaves that they depend on.
///
/// # Errors
///
/// A result that requires no gradient.
///
/// # Examples
///
/// ```
/// use opgrid::{Tensor, layers::autograd::{self, GraphOptions}};
///
/// let x = Tensor::from_slice(&[2.0f64, 5.0], &[2])?;
/// x.requires_grad_(true)?;
/// let y = x.mul(&x)?.sum()?;
/// let graph = autograd::graph(&[&y], &GraphOptions { names: &[("x", &x)], ..Default::default() })?;
/// assert_eq!((graph.calls(), graph.leaves(), graph.saved_bytes()), (2, 1, 16));
/// assert!(graph.to_string().contains("leaf `x` float64 [2]"), "{graph}");
/// assert!(graph.to_dot().starts_with("digraph"));
/// assert!(graph.to_svg().starts_with("<svg"));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn graph(results: &[&Tensor], options: &GraphOptions<'_>) -> Result<Graph> {
    let mut roots = Vec::with_capacity(results.len());
    for (place, result) in results.iter().enumerate() {
        roots.push(edge_of(result)?.ok_or_else(|| {
            argument(format!(
                "result {place} requires no gradient, so that it has no graph; call `requires_grad_` \
                 before it is computed, with recording enabled"
            ))
        })?);
    }
    // The edges are kept until the end, so that addresses mean one node.
    let mut named: Vec<(&str, &Tensor, Edge)> = Vec::new();
    for (name, tensor) in options.names {
        named.extend(edge_of(tensor)?.map(|edge| (*name, *tensor, edge)));
    }
    let found = Found::by(&roots);
    let chosen = found.chosen(options.limit);
    let places: HashMap<*const Node, usize> =
        chosen.iter().enumerate().map(|(place, node)| (Arc::as_ptr(node), place)).collect();
    let mut nodes: Vec<GraphNode> = chosen.iter().map(|node| describe(node, &places)).collect();
    // What a gradient has to be like is what the result was like.
    for from in 0..nodes.len() {
        for target in nodes[from].targets.clone() {
            let result = target.node.and_then(|node| nodes[node].results.get_mut(target.output));
            if let Some(result) = result {
                result.shape.get_or_insert((target.sizes, target.dtype));
            }
        }
    }
    let known = roots.iter().zip(results).map(|(edge, tensor)| (None, *tensor, edge));
    let known = known.chain(named.iter().map(|(name, tensor, edge)| (Some(*name), *tensor, edge)));
    for (name, tensor, edge) in known {
        let node = places.get(&Arc::as_ptr(&edge.node));
        if let Some(result) = node.and_then(|node| nodes[*node].results.get_mut(edge.output())) {
            result.shape.get_or_insert_with(|| (tensor.sizes().to_vec(), tensor.dtype()));
            result.name = name.map(str::to_owned).or(result.name.take());
        }
    }
    let mut results: Vec<usize> =
        roots.iter().filter_map(|edge| places.get(&Arc::as_ptr(&edge.node)).copied()).collect();
    results.dedup();
    let leaves = found.nodes.iter().filter(|node| node.is_leaf()).count();
    Ok(Graph {
        nodes,
        results,
        calls: found.nodes.len() - leaves,
        leaves,
        saved_bytes: saved_bytes(&found.nodes),
    })
}

impl Graph {
    /// The nodes that are shown, each before those that its gradients go on to.
    pub fn nodes(&self) -> &[GraphNode] {
        &self.nodes
    }

    /// The places of the nodes of the results that the graph leads from, as far as they are shown.
    pub fn results(&self) -> &[usize] {
        &self.results
    }

    /// How many recorded calls the whole graph has.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// How many leaves the whole graph has.
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// How many bytes of memory the whole graph keeps alive for its formulas. Memory that several tensors share is counted once;
    /// others may keep it alive, too, such as the parameters of a model.
    pub fn saved_bytes(&self) -> usize {
        self.saved_bytes
    }

    /// How many nodes are not shown.
    pub fn hidden(&self) -> usize {
        self.calls + self.leaves - self.nodes.len()
    }

    /// One line that says how large the graph is.
    fn summary(&self) -> String {
        format!(
            "{}, {}, {} saved",
            counted(self.calls, "call", "calls"),
            counted(self.leaves, "leaf", "leaves"),
            in_bytes(self.saved_bytes)
        )
    }
}

impl GraphNode {
    /// What the node is called in a text or a picture.
    fn title(&self) -> &str {
        match (self.is_leaf, self.results.first().and_then(|result| result.name.as_deref())) {
            (true, Some(name)) => name,
            _ => &self.name,
        }
    }
}

/// All nodes that results lead to.
struct Found<'g> {
    /// In the order in which they were found.
    nodes: Vec<&'g Arc<Node>>,
}

impl<'g> Found<'g> {
    fn by(roots: &'g [Edge]) -> Self {
        let (mut nodes, mut seen) = (Vec::new(), HashSet::new());
        let mut add = |node: &'g Arc<Node>, nodes: &mut Vec<&'g Arc<Node>>| {
            if seen.insert(Arc::as_ptr(node)) {
                nodes.push(node);
            }
        };
        roots.iter().for_each(|edge| add(&edge.node, &mut nodes));
        let mut next = 0;
        while let Some(node) = nodes.get(next).copied() {
            node.next().for_each(|(node, _)| add(node, &mut nodes));
            next += 1;
        }
        Self { nodes }
    }

    /// The nodes to show, each before those that it leads to: calls from the highest level on, and after each its leaves.
    fn chosen(&self, limit: usize) -> Vec<&'g Arc<Node>> {
        let mut calls: Vec<&Arc<Node>> = self.nodes.iter().copied().filter(|node| !node.is_leaf()).collect();
        calls.sort_by_key(|node| std::cmp::Reverse(node.level));
        let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
        for call in calls {
            let leaves = call.next().map(|(node, _)| node).filter(|node| node.is_leaf());
            for node in std::iter::once(call).chain(leaves) {
                if chosen.len() == limit {
                    return after_calls(chosen);
                }
                if seen.insert(Arc::as_ptr(node)) {
                    chosen.push(node);
                }
            }
        }
        // A result may be a leaf itself.
        for leaf in self.nodes.iter().copied().filter(|node| node.is_leaf()) {
            if chosen.len() < limit && seen.insert(Arc::as_ptr(leaf)) {
                chosen.push(leaf);
            }
        }
        after_calls(chosen)
    }
}

/// The nodes with each leaf after all calls, which may lead to it.
fn after_calls(mut chosen: Vec<&Arc<Node>>) -> Vec<&Arc<Node>> {
    chosen.sort_by_key(|node| node.is_leaf());
    chosen
}

fn describe(node: &Arc<Node>, places: &HashMap<*const Node, usize>) -> GraphNode {
    let mut saved = Vec::new();
    let mut seen = HashSet::new();
    let has_formulas = node.each_saved(&mut |tensor| {
        let memory = tensor.kept().and_then(|kept| Some(kept.array().ok()?.storage().identity()));
        let tensor = saved_tensor(node, tensor);
        // Each formula keeps its own handle of an argument.
        if seen.insert((tensor.name.clone(), memory, tensor.sizes.clone())) {
            saved.push(tensor);
        }
    });
    let targets = node.targets().iter().map(|target| GraphTarget {
        node: places.get(&Arc::as_ptr(&target.edge.node)).copied(),
        output: target.edge.output(),
        sizes: target.sizes.to_vec(),
        dtype: target.dtype,
    });
    GraphNode {
        name: node.name(),
        is_leaf: node.is_leaf(),
        place: node.place.as_deref().map(str::to_owned),
        results: vec![GraphResult::default(); node.outputs],
        saved,
        is_freed: !has_formulas,
        targets: targets.collect(),
    }
}

fn saved_tensor(node: &Node, saved: &Saved) -> SavedTensor {
    let name = match (saved.output(), saved.place().and_then(|place| node.argument_name(place))) {
        (Some(_), _) if node.outputs == 1 => "result".to_owned(),
        (Some(output), _) => format!("result {output}"),
        (None, Some(name)) => name,
        (None, None) => "tensor".to_owned(),
    };
    let (sizes, dtype) = saved.described();
    let bytes = sizes.iter().map(|size| *size as usize).product::<usize>() * dtype.size_in_bytes();
    SavedTensor { name, sizes: sizes.to_vec(), dtype, bytes, is_recomputed: saved.slot().is_some() }
}

/// The bytes that all nodes keep, each counted once.
fn saved_bytes(nodes: &[&Arc<Node>]) -> usize {
    let mut memory = Memory::default();
    for node in nodes {
        node.each_saved(&mut |saved| memory.add(saved));
    }
    memory.bytes
}

#[derive(Default)]
struct Memory {
    storages: HashSet<usize>,
    segments: HashSet<*const Segment>,
    bytes: usize,
}

impl Memory {
    fn add(&mut self, saved: &Saved) {
        if let Some(tensor) = saved.kept() {
            self.add_tensor(tensor);
        }
        let Some(slot) = saved.slot() else { return };
        if let Some(tensor) = slot.computed() {
            self.add_tensor(&tensor);
        }
        // Recurses as deep as checkpoints are nested.
        if self.segments.insert(Arc::as_ptr(slot.segment())) {
            slot.segment().inputs().iter().for_each(|input| self.add(input));
        }
    }

    fn add_tensor(&mut self, tensor: &Tensor) {
        match tensor.array() {
            Ok(array) if !self.storages.insert(array.storage().identity()) => {}
            Ok(array) => self.bytes += array.storage().bytes(),
            // A layer's tensor, whose memory the layer knows.
            Err(_) => self.bytes += tensor.numel() as usize * tensor.dtype().size_in_bytes(),
        }
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// A number of bytes, as people read it.
fn in_bytes(bytes: usize) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return counted(bytes, "byte", "bytes");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

fn shape(sizes: &[i64], dtype: DType) -> String {
    format!("{dtype} {sizes:?}")
}

/// What a saved tensor is, in one line.
fn saved_line(saved: &SavedTensor) -> String {
    let state = if saved.is_recomputed { "computed again".to_owned() } else { in_bytes(saved.bytes) };
    format!("{} {}, {state}", saved.name, shape(&saved.sizes, saved.dtype))
}
