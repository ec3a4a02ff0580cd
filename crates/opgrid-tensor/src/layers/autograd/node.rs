//! The graph: what calls have been recorded, and where the gradients of their arguments go.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use opgrid_core::{DType, OperatorHandle, Result};
use smallvec::SmallVec;

use super::hooks::{Hook, HookPlace, Hooks, NodeHook};
use super::rule::Gradients;
use super::saved::Saved;
use super::variable::Variable;
use crate::tensor::{Dims, Tensor};

/// A formula of gradients: from those of the results and what was kept, for whoever needs the node too.
pub(super) type Formula = Box<
    dyn Fn(Gradients<'_>, &[Option<Tensor>], &Arc<Node>) -> Result<SmallVec<[Option<Tensor>; 1]>>
        + Send
        + Sync,
>;

/// Where a gradient goes: a result of a recorded call, or a leaf.
#[derive(Clone)]
pub struct Edge {
    pub(super) node: Arc<Node>,
    pub(super) output: usize,
}

impl Edge {
    pub(super) fn new(node: Arc<Node>, output: usize) -> Self {
        Self { node, output }
    }
}

/// Where the gradient of an argument goes, and what it has to be like there.
pub(super) struct Target {
    pub(super) edge: Edge,
    pub(super) sizes: Dims,
    pub(super) dtype: DType,
}

impl Target {
    pub(super) fn of(tensor: &Tensor, edge: Edge) -> Self {
        Self { edge, sizes: Dims::from_slice(tensor.sizes()), dtype: tensor.dtype() }
    }
}

/// A formula, what it needs, and which targets its gradients go to.
pub(super) struct Part {
    pub(super) targets: SmallVec<[u16; 2]>,
    pub(super) kept: SmallVec<[Option<Saved>; 2]>,
    pub(super) formula: Formula,
}

/// A recorded call, or a leaf.
pub struct Node {
    /// More than that of every node that a gradient goes on to: visited from the highest on, each node has all of its
    /// gradient when its turn comes.
    pub(super) level: u64,
    pub(super) outputs: usize,
    pub(super) kind: NodeKind,
    pub(super) hooks: Hooks,
    /// Where the call was, if somebody asked for it.
    pub(super) place: Option<String>,
}

#[expect(clippy::large_enum_variant, reason = "a call that is recorded takes one allocation")]
pub(super) enum NodeKind {
    /// Adds to the gradient of a leaf.
    Leaf(Arc<Variable>),
    Call(Call),
}

/// A recorded call.
pub(super) struct Call {
    pub(super) subject: Subject,
    pub(super) targets: SmallVec<[Target; 2]>,
    pub(super) parts: Mutex<Parts>,
    _counted: Counted,
}

/// Counts a recorded call as long as it is there.
struct Counted;

impl Counted {
    fn new() -> Self {
        NODES.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        NODES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What was called.
pub(super) enum Subject {
    Operator(OperatorHandle),
    Other(Arc<str>),
}

/// The formulas of a call.
#[expect(clippy::large_enum_variant, reason = "a call that is recorded takes one allocation")]
pub(super) enum Parts {
    Owned(SmallVec<[Part; 2]>),
    /// They are kept for another way back, while one or more are under way.
    Shared(Arc<SmallVec<[Part; 2]>>),
    /// They were used.
    Freed,
    /// The operator has no derivative.
    Missing,
}

/// How many nodes of recorded calls there are.
static NODES: AtomicU64 = AtomicU64::new(0);

/// How many recorded calls are kept in memory, in the whole process.
pub fn nodes_alive() -> u64 {
    NODES.load(Ordering::Relaxed)
}

impl Node {
    pub(super) fn leaf(variable: Arc<Variable>) -> Self {
        Self { level: 0, outputs: 1, kind: NodeKind::Leaf(variable), hooks: Hooks::default(), place: None }
    }

    pub(super) fn call(
        subject: Subject,
        outputs: usize,
        targets: SmallVec<[Target; 2]>,
        parts: Parts,
    ) -> Self {
        let level = 1 + targets.iter().map(|target| target.edge.node.level).max().unwrap_or(0);
        let place = super::mode::place_if_wanted();
        let kind =
            NodeKind::Call(Call { subject, targets, parts: Mutex::new(parts), _counted: Counted::new() });
        Self { level, outputs, kind, hooks: Hooks::default(), place }
    }

    /// The operator's name, or what else the node stands for.
    pub fn name(&self) -> String {
        match &self.kind {
            NodeKind::Leaf(_) => "leaf".to_owned(),
            NodeKind::Call(call) => call.subject.to_string(),
        }
    }

    /// Whether the node is a leaf, at which gradients are added up.
    pub fn is_leaf(&self) -> bool {
        matches!(self.kind, NodeKind::Leaf(_))
    }

    /// The nodes that gradients go on to, each with the number of its result.
    pub fn next(&self) -> impl Iterator<Item = (&Arc<Self>, usize)> {
        self.targets().iter().map(|target| (&target.edge.node, target.edge.output))
    }

    /// Runs `hook` with the gradients of the results before they pass the node; what it gives takes their place.
    pub fn register_prehook(
        self: &Arc<Self>,
        hook: impl Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync + 'static,
    ) -> Hook {
        let hook: NodeHook = Arc::new(hook);
        let (number, ()) = self.hooks.change(|list, number| list.before.push((number, hook)));
        Hook { place: HookPlace::Node(Arc::downgrade(self)), number }
    }

    /// Runs `hook` with the gradients that the node gives on; what it gives takes their place.
    pub fn register_hook(
        self: &Arc<Self>,
        hook: impl Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync + 'static,
    ) -> Hook {
        let hook: NodeHook = Arc::new(hook);
        let (number, ()) = self.hooks.change(|list, number| list.after.push((number, hook)));
        Hook { place: HookPlace::Node(Arc::downgrade(self)), number }
    }

    /// The name of an argument of the recorded operator.
    pub(super) fn argument_name(&self, place: usize) -> Option<String> {
        let NodeKind::Call(Call { subject: Subject::Operator(operator), .. }) = &self.kind else {
            return None;
        };
        operator.find_schema()?.arguments.get(place).map(|argument| argument.name.clone())
    }

    /// Shows the tensors that formulas of the call keep; `false` where there are no formulas any more.
    pub(super) fn each_saved(&self, see: &mut dyn FnMut(&Saved)) -> bool {
        let NodeKind::Call(call) = &self.kind else { return true };
        let parts = call.lock();
        let parts: &[Part] = match &*parts {
            Parts::Owned(parts) => parts,
            Parts::Shared(parts) => parts,
            Parts::Missing => &[],
            Parts::Freed => return false,
        };
        parts.iter().flat_map(|part| &part.kept).flatten().for_each(see);
        true
    }

    /// The nodes that gradients go on to.
    pub(super) fn targets(&self) -> &[Target] {
        match &self.kind {
            NodeKind::Leaf(_) => &[],
            NodeKind::Call(call) => &call.targets,
        }
    }
}

impl Call {
    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator(operator) => operator.name().fmt(f),
            Self::Other(name) => f.write_str(name),
        }
    }
}

impl Drop for Node {
    /// Without recursion: a graph may be as long as a program runs.
    fn drop(&mut self) {
        let mut waiting: Vec<Edge> = Vec::new();
        take_edges(&mut self.kind, &mut waiting);
        while let Some(edge) = waiting.pop() {
            if let Some(mut node) = Arc::into_inner(edge.node) {
                take_edges(&mut node.kind, &mut waiting);
            }
        }
    }
}

/// Takes the edges out of a node that is about to go: those of targets, and of tensors that it keeps.
fn take_edges(kind: &mut NodeKind, waiting: &mut Vec<Edge>) {
    let NodeKind::Call(call) = kind else { return };
    waiting.extend(call.targets.drain(..).map(|target| target.edge));
    let parts = std::mem::replace(call.parts.get_mut().unwrap_or_else(PoisonError::into_inner), Parts::Freed);
    let parts = match parts {
        Parts::Owned(parts) => Some(parts),
        Parts::Shared(parts) => Arc::into_inner(parts),
        Parts::Freed | Parts::Missing => None,
    };
    for part in parts.into_iter().flatten() {
        part.kept.into_iter().flatten().for_each(|saved| saved.take_edges(waiting));
    }
}
