//! The graph: what calls have been recorded, and where the gradients of their arguments go.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use opgrid_core::deferred_drop::{Flat, drop_flat};
use opgrid_core::{DType, OperatorHandle, Result};
use smallvec::SmallVec;

use super::alive::Counted;
use super::hooks::{Hook, Hooks, NodeHook};
use super::reach::{Foreign, Visitor};
use super::rule::Gradients;
use super::saved::Saved;
use crate::tensor::Tensor;

/// A formula of gradients: from those of the results and what was kept, for whoever needs the node too.
pub(super) type Formula = Box<dyn Formulate>;

/// What a [`Formula`] does.
pub(super) trait Formulate: Send + Sync {
    /// The gradients of the targets.
    ///
    /// # Errors
    ///
    /// Those of the operators that compute them, and of users' code.
    fn gradients(&self, grads: Gradients<'_>, kept: &[Option<Tensor>], node: &Arc<Node>) -> Result<Given>;

    /// Shows what the formula owns.
    fn reach(&self, _visitor: &mut dyn Visitor) {}

    /// Whether anything is dropped with the formula.
    fn owns_values(&self) -> bool {
        false
    }
}

/// A gradient for each target, where there is one.
pub(super) type Given = SmallVec<[Option<Tensor>; 1]>;

impl<F> Formulate for F
where
    F: Fn(Gradients<'_>, &[Option<Tensor>], &Arc<Node>) -> Result<Given> + Send + Sync,
{
    fn gradients(&self, grads: Gradients<'_>, kept: &[Option<Tensor>], node: &Arc<Node>) -> Result<Given> {
        self(grads, kept, node)
    }
}

/// A formula that shows what its closure owns.
struct Shown<F: 'static, O: 'static> {
    formula: Flat<F>,
    owned: Flat<O>,
}

impl<F, O> Formulate for Shown<F, O>
where
    F: Formulate,
    O: Shows + Send + Sync,
{
    fn gradients(&self, grads: Gradients<'_>, kept: &[Option<Tensor>], node: &Arc<Node>) -> Result<Given> {
        self.formula.gradients(grads, kept, node)
    }

    fn reach(&self, visitor: &mut dyn Visitor) {
        self.owned.show(visitor);
    }

    fn owns_values(&self) -> bool {
        true
    }
}

/// What a closure may own that collectors want to see.
pub(super) trait Shows {
    /// Shows it.
    fn show(&self, visitor: &mut dyn Visitor);
}

impl Shows for () {
    fn show(&self, _visitor: &mut dyn Visitor) {}
}

impl Shows for Foreign {
    fn show(&self, visitor: &mut dyn Visitor) {
        visitor.held(self);
    }
}

/// Formulas within a formula; the closure has the other handle.
impl Shows for Arc<Formulas> {
    fn show(&self, visitor: &mut dyn Visitor) {
        if Arc::strong_count(self) <= 2 {
            Formulas::reach(self, visitor);
        }
    }
}

/// A formula of a closure, which has a handle of `owned`.
pub(super) fn formula_with(
    owned: impl Shows + Send + Sync + 'static,
    formula: impl Fn(Gradients<'_>, &[Option<Tensor>], &Arc<Node>) -> Result<Given> + Send + Sync + 'static,
) -> Formula {
    Box::new(Shown { formula: Flat::new(formula), owned: Flat::new(owned) })
}

/// A formula of a closure. What the closure owns may lead to another part of the graph, or be a user's, so it is dropped without
/// recursion.
pub(super) fn formula_of(
    formula: impl Fn(Gradients<'_>, &[Option<Tensor>], &Arc<Node>) -> Result<SmallVec<[Option<Tensor>; 1]>>
    + Send
    + Sync
    + 'static,
) -> Formula {
    fn needs_drop<F: Sized>(_: &F) -> bool {
        std::mem::needs_drop::<F>()
    }
    if needs_drop(&formula) { formula_with((), formula) } else { Box::new(formula) }
}

/// Where a gradient goes: a result of a recorded call, or a leaf.
#[derive(Clone)]
pub struct Edge {
    pub(super) node: Arc<Node>,
    pub(super) output: u32,
}

impl Edge {
    pub(super) fn new(node: Arc<Node>, output: usize) -> Self {
        // Results of a call are values on a stack, of which there is no number near 2^32.
        Self { node, output: output as u32 }
    }

    pub(super) fn output(&self) -> usize {
        self.output as usize
    }

    /// Whether the node may go when so many edges to it go.
    fn is_among_last(&self, edges: usize) -> bool {
        Arc::strong_count(&self.node) <= edges
    }
}

/// Where the gradient of an argument goes, and what it has to be like there.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) edge: Edge,
    pub(super) dtype: DType,
    pub(super) sizes: SmallVec<[i64; 4]>,
}

impl Target {
    pub(super) fn from_tensor(tensor: &Tensor, edge: Edge) -> Self {
        Self { edge, sizes: SmallVec::from_slice(tensor.sizes()), dtype: tensor.dtype() }
    }
}

/// The arguments that gradients go on to.
pub(super) type Targets = SmallVec<[Target; 2]>;

/// A formula. Its gradients go to neighbouring targets, and what it needs are neighbours among the tensors that were kept.
pub(super) struct Part {
    pub(super) formula: Formula,
    pub(super) first_target: u16,
    pub(super) targets: u16,
    pub(super) first_kept: u32,
    pub(super) kept: u32,
}

/// The formulas of a call, and the tensors that they need.
#[derive(Default)]
pub(super) struct Formulas {
    pub(super) parts: SmallVec<[Part; 2]>,
    pub(super) kept: SmallVec<[Option<Saved>; 2]>,
}

impl Formulas {
    /// Whether they keep no tensors, and own nothing else.
    pub(super) fn owns_nothing(&self) -> bool {
        self.kept.iter().all(Option::is_none) && !self.parts.iter().any(|part| part.formula.owns_values())
    }

    /// One formula for all targets, and what it needs.
    pub(super) fn one(formula: Formula, targets: &Targets, kept: SmallVec<[Option<Saved>; 2]>) -> Self {
        let (targets, count) = (targets.len() as u16, kept.len() as u32);
        let part = Part { formula, first_target: 0, targets, first_kept: 0, kept: count };
        Self { parts: SmallVec::from_iter([part]), kept }
    }

    /// Shows what the formulas own, and what they need.
    fn reach(&self, visitor: &mut dyn Visitor) {
        self.parts.iter().for_each(|part| part.formula.reach(visitor));
        self.kept.iter().flatten().for_each(|saved| saved.reach(visitor));
    }

    /// The tensors that a part needs.
    pub(super) fn kept_by(&self, part: &Part) -> &[Option<Saved>] {
        &self.kept[part.first_kept as usize..][..part.kept as usize]
    }
}

/// A recorded call, or a leaf.
pub struct Node {
    /// More than that of every node that a gradient goes on to: visited from the highest on, each node has all of its
    /// gradient when its turn comes.
    pub(super) level: u64,
    pub(super) outputs: usize,
    pub(super) hooks: Hooks,
    /// Where the call was, if somebody asked for it.
    pub(super) place: Option<Box<str>>,
    pub(super) kind: NodeKind,
}

#[expect(clippy::large_enum_variant, reason = "a call that is recorded takes one allocation")]
pub(super) enum NodeKind {
    /// Adds to the gradient of a leaf.
    Leaf(Sink),
    Call(Call),
}

/// Where the gradient of a tensor is added up.
///
/// No lock is held while gradients are added, because the operators that add may be anybody's and may go back to the same
/// leaf: whoever adds takes the gradient out, and puts the sum back.
#[derive(Default)]
pub(super) struct Sink {
    grad: Mutex<Option<Tensor>>,
    /// The tensor is gone, so that nobody can ask for its gradient.
    is_abandoned: AtomicBool,
}

impl Sink {
    pub(super) fn grad(&self) -> Option<Tensor> {
        self.lock().clone()
    }

    /// Shows the gradient.
    pub(super) fn reach(&self, visitor: &mut dyn Visitor) {
        if let Ok(grad) = self.grad.try_lock() {
            grad.iter().for_each(|grad| visitor.tensor(grad));
        }
    }

    pub(super) fn set_grad(&self, grad: Option<Tensor>) {
        let before = std::mem::replace(&mut *self.lock(), grad);
        // After the lock: a gradient may have a graph.
        drop(before);
    }

    /// Drops the gradient, and keeps none from here on: the tensor is gone. Its gradient may have a graph that leads here.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::SeqCst);
        let grad = self.lock().take();
        if let Some(grad) = grad {
            drop_flat(grad);
        }
    }

    /// Adds a gradient to the one that is there by `add`, or puts what `own` makes of it where there is none.
    ///
    /// # Errors
    ///
    /// Those of `own` and `add`; what was there stays there.
    pub(super) fn add(
        &self,
        grad: Tensor,
        own: impl FnOnce(Tensor) -> Result<Tensor>,
        add: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<()> {
        if self.is_abandoned.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut held = Held { sink: self, grad: self.lock().take() };
        let sum = match &held.grad {
            None => own(grad)?,
            Some(before) => add(before, &grad)?,
        };
        held.grad = Some(sum);
        // What other ways back have left meanwhile is added, too.
        while let Some(other) = held.put_back() {
            if let Some(sum) = &held.grad {
                held.grad = Some(add(sum, &other)?);
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Tensor>> {
        self.grad.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A gradient that was taken out while another one is added to it; it is put back in any case.
struct Held<'s> {
    sink: &'s Sink,
    grad: Option<Tensor>,
}

impl Held<'_> {
    /// Puts the gradient back, unless another one has come to its place meanwhile, which is taken out.
    fn put_back(&mut self) -> Option<Tensor> {
        let mut place = self.sink.lock();
        if self.sink.is_abandoned.load(Ordering::SeqCst) {
            return None;
        }
        if place.is_none() {
            *place = self.grad.take();
            return None;
        }
        place.take()
    }
}

impl Drop for Sink {
    /// A gradient may have a graph, which leads to another leaf with a gradient.
    fn drop(&mut self) {
        if let Some(grad) = self.grad.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            drop_flat(grad);
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.grad.is_some() {
            self.sink.set_grad(self.grad.take());
        }
    }
}

/// A recorded call.
pub(super) struct Call {
    pub(super) subject: Subject,
    pub(super) targets: Targets,
    formulas: Mutex<Kept>,
    _counted: Counted,
}

/// What was called.
pub(super) enum Subject {
    Operator(OperatorHandle),
    Other(Arc<str>),
}

/// Whether the formulas of a call are there still.
pub enum Kept {
    Owned(Formulas),
    /// They stay for another backward pass, while one or more are under way.
    Shared(Arc<Formulas>),
    /// They were used.
    Freed,
    /// The operator has no derivative.
    Missing,
}

impl Node {
    /// Where the gradient of a leaf is added up.
    pub(super) fn sink() -> Self {
        let kind = NodeKind::Leaf(Sink::default());
        Self { level: 0, outputs: 1, hooks: Hooks::default(), place: None, kind }
    }

    /// A call whose targets and formulas are to be told.
    pub(super) fn untold(subject: Subject, outputs: usize) -> Self {
        let formulas = Mutex::new(Kept::Owned(Formulas::default()));
        let call = Call { subject, targets: SmallVec::new(), formulas, _counted: Counted::new() };
        let place = super::mode::place_if_wanted();
        Self { level: 0, outputs, hooks: Hooks::default(), place, kind: NodeKind::Call(call) }
    }

    pub(super) fn call(subject: Subject, outputs: usize, targets: Targets, formulas: Kept) -> Self {
        let mut node = Self::untold(subject, outputs);
        node.tell(|told, kept| (*told, *kept) = (targets, formulas));
        node
    }

    /// Lets somebody write the targets and formulas of a call that nobody else sees yet.
    pub(super) fn tell<X>(&mut self, write: impl FnOnce(&mut Targets, &mut Kept) -> X) -> X {
        let NodeKind::Call(call) = &mut self.kind else { unreachable!("a leaf has no formulas") };
        let kept = call.formulas.get_mut().unwrap_or_else(PoisonError::into_inner);
        let written = write(&mut call.targets, kept);
        self.level = 1 + call.targets.iter().map(|target| target.edge.node.level).max().unwrap_or(0);
        written
    }

    /// Whether the node is a leaf with a gradient that has a graph, which may lead to the leaf.
    pub(super) fn leads_back(&self) -> bool {
        let NodeKind::Leaf(sink) = &self.kind else { return false };
        sink.grad.try_lock().is_ok_and(|grad| grad.as_ref().is_some_and(Tensor::requires_grad))
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
        self.targets().iter().map(|target| (&target.edge.node, target.edge.output()))
    }

    /// Runs `hook` with the gradients of the results before they pass the node; what it gives takes their place.
    pub fn register_prehook(
        self: &Arc<Self>,
        hook: impl Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync + 'static,
    ) -> Hook {
        let hook: NodeHook = Flat::new(Arc::new(hook));
        let (number, ()) = self.hooks.change(|list, number| list.before.push((number, hook)));
        Hook { node: Arc::downgrade(self), number }
    }

    /// As [`register_prehook`](Self::register_prehook), of a closure that holds something of another language.
    pub fn register_prehook_with(
        self: &Arc<Self>,
        held: Foreign,
        hook: impl Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync + 'static,
    ) -> Hook {
        self.register_prehook(hook).holding(held)
    }

    /// As [`register_hook`](Self::register_hook), of a closure that holds something of another language.
    pub fn register_hook_with(
        self: &Arc<Self>,
        held: Foreign,
        hook: impl Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync + 'static,
    ) -> Hook {
        self.register_hook(hook).holding(held)
    }

    /// Runs `hook` with the gradients that the node gives on; what it gives takes their place. A leaf gives none on: its hooks run
    /// when a gradient has been added to that of the tensor.
    pub fn register_hook(
        self: &Arc<Self>,
        hook: impl Fn(&[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> + Send + Sync + 'static,
    ) -> Hook {
        let hook: NodeHook = Flat::new(Arc::new(hook));
        let (number, ()) = self.hooks.change(|list, number| list.after.push((number, hook)));
        Hook { node: Arc::downgrade(self), number }
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
        let kept = call.lock();
        let formulas = match &*kept {
            Kept::Owned(formulas) => formulas,
            Kept::Shared(formulas) => formulas,
            Kept::Missing => return true,
            Kept::Freed => return false,
        };
        formulas.kept.iter().flatten().for_each(see);
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
    /// Shows what a recorded call owns.
    pub(super) fn reach(&self, visitor: &mut dyn Visitor) {
        self.targets.iter().for_each(|target| visitor.node(&target.edge.node));
        let kept = match self.formulas.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        match &*kept {
            Kept::Owned(formulas) => formulas.reach(visitor),
            Kept::Shared(formulas) if Arc::strong_count(formulas) == 1 => formulas.reach(visitor),
            Kept::Shared(_) | Kept::Freed | Kept::Missing => {}
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Kept> {
        self.formulas.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// Without recursion: a graph may be as long as a program runs. The edges are followed here, in a loop; what closures, hooks
    /// and gradients of leaves own is left to [`Flat`].
    fn drop(&mut self) {
        if !self.leads_to_last_edge() {
            return;
        }
        let mut waiting = Edges::new();
        self.take_edges(&mut waiting);
        while let Some(edge) = waiting.pop() {
            // Of several edges to one node the last one takes it.
            if let Some(mut node) = Arc::into_inner(edge.node) {
                node.take_edges(&mut waiting);
            }
        }
    }
}

/// Edges whose nodes may go.
pub(super) type Edges = SmallVec<[Edge; 4]>;

impl Node {
    /// Whether a node may go with this one: it has the last edges there, or what its hooks and formulas own may have the others.
    fn leads_to_last_edge(&mut self) -> bool {
        let NodeKind::Call(call) = &mut self.kind else { return false };
        let formulas = match call.formulas.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Kept::Owned(formulas) => Some(&*formulas),
            // Whoever has the last handle of these sees to it.
            Kept::Shared(formulas) if Arc::strong_count(formulas) == 1 => Some(&**formulas),
            Kept::Shared(_) | Kept::Freed | Kept::Missing => None,
        };
        let (parts, kept) =
            formulas.map_or((&[][..], &[][..]), |formulas| (&formulas.parts[..], &formulas.kept[..]));
        if !self.hooks.is_empty() || parts.iter().any(|part| part.formula.owns_values()) {
            return true;
        }
        let edges = call.targets.len() + kept.len();
        call.targets.iter().any(|target| target.edge.is_among_last(edges))
            || kept.iter().flatten().any(|saved| {
                saved.slot().is_some() || saved.edge().is_some_and(|edge| edge.is_among_last(edges))
            })
    }

    /// Takes the edges out of a node that is about to go: those of targets, and of tensors that it keeps.
    fn take_edges(&mut self, waiting: &mut Edges) {
        let NodeKind::Call(call) = &mut self.kind else { return };
        waiting.extend(call.targets.drain(..).map(|target| target.edge));
        let kept = match call.formulas.get_mut().unwrap_or_else(PoisonError::into_inner) {
            Kept::Owned(formulas) => Some(formulas),
            Kept::Shared(formulas) => Arc::get_mut(formulas),
            Kept::Freed | Kept::Missing => None,
        };
        let saved = kept.into_iter().flat_map(|formulas| formulas.kept.drain(..));
        saved.flatten().for_each(|saved| saved.take_edges(waiting));
    }
}
