//! What the layer keeps with a tensor: its gradient, and where the gradient comes from.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use opgrid_core::Result;
use opgrid_core::deferred_drop::Flat;

use super::history;
use super::hooks::{Hook, List, TensorHook};
use super::node::{Edge, Node, NodeKind, Sink};
use super::reach::{Foreign, Visitor};
use crate::error::argument;
use crate::layers::levels::Leveled;
use crate::tensor::{Sharing, Tensor};

/// What the layer keeps with a tensor that gradients lead to.
#[derive(Default)]
pub(super) struct Variable {
    /// Whether the state has an origin: leaves are asked without a lock.
    has_origin: AtomicBool,
    state: Mutex<State>,
    /// Where the gradient of a leaf is added up, and that which another tensor wants to know: what the tensor shows as its
    /// gradient. Graphs that lead to the leaf have it, too.
    sink: OnceLock<Arc<Node>>,
}

#[derive(Default)]
pub(super) struct State {
    /// The call whose result the tensor is; none for a leaf.
    origin: Option<Edge>,
    retains_grad: bool,
}

impl Variable {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call whose result the tensor is.
    fn origin(&self) -> Option<Edge> {
        if self.has_origin.load(Ordering::Acquire) { self.lock().origin.clone() } else { None }
    }

    /// Has gradients come from another call, or from none. A tensor that retains its gradient does so at the new call.
    pub(super) fn set_origin(&self, origin: Option<Edge>) {
        let (before, retains) = {
            let mut state = self.lock();
            self.has_origin.store(origin.is_some(), Ordering::Release);
            (std::mem::replace(&mut state.origin, origin.clone()), state.retains_grad)
        };
        if retains {
            if let Some(before) = &before {
                self.stop_retaining(before);
            }
            if let Some(origin) = &origin {
                self.retain(origin);
            }
        }
        // After the lock: a graph may go with it.
        drop(before);
    }

    /// Has the gradient kept when it comes by this edge.
    fn retain(&self, edge: &Edge) {
        let (output, sink) = (edge.output(), Arc::downgrade(self.sink()));
        edge.node.hooks.change(|list, _| list.retaining.push((output, sink)));
    }

    fn stop_retaining(&self, edge: &Edge) {
        let sink = Arc::downgrade(self.sink());
        edge.node.hooks.change(|list, _| list.retaining.retain(|(_, other)| !other.ptr_eq(&sink)));
    }

    /// Has gradients of a tensor lead to that edge.
    pub(super) fn lead(tensor: &Tensor, edge: Edge) -> Result<()> {
        if let Some(base) = tensor.base() {
            tensor.view_is_recorded();
            tensor.note_rewrites(base.rewrites());
        }
        match known(tensor) {
            Some(variable) => variable.set_origin(Some(edge)),
            None => {
                let state = Mutex::new(State { origin: Some(edge), retains_grad: false });
                tensor.attach(Self { has_origin: AtomicBool::new(true), state, sink: OnceLock::new() });
            }
        }
        tensor.mark_requires_grad(true)
    }

    /// Has gradients of a tensor that was written lead to another edge.
    pub(super) fn lead_on(tensor: &Tensor, edge: Edge) -> Result<()> {
        for_tensor(tensor).set_origin(Some(edge));
        // Counted last: who sees the count sees the edge.
        tensor.count_rewrite();
        tensor.mark_requires_grad(true)
    }

    /// Shows what the tensor leads to.
    pub(super) fn reach(&self, visitor: &mut dyn Visitor) {
        if let Ok(state) = self.state.try_lock() {
            state.origin.iter().for_each(|edge| visitor.node(&edge.node));
        }
        self.sink.get().into_iter().for_each(|sink| visitor.node(sink));
    }

    /// The node that adds up the gradient of the tensor.
    fn sink(&self) -> &Arc<Node> {
        self.sink.get_or_init(|| Arc::new(Node::sink()))
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        if let Some(sink) = self.sink.get() {
            sink.as_sink().abandon();
        }
    }
}

/// Where the gradient of a tensor is added up.
pub(super) fn sink_of(tensor: &Tensor) -> &Sink {
    for_tensor(tensor).sink().as_sink()
}

impl Node {
    fn as_sink(&self) -> &Sink {
        match &self.kind {
            NodeKind::Leaf(sink) => sink,
            NodeKind::Call(_) => unreachable!("the node is made by `Node::sink`"),
        }
    }
}

/// What the layer keeps with a tensor, if it keeps anything.
pub(super) fn known(tensor: &Tensor) -> Option<&Variable> {
    tensor.attached()
}

/// Returns what autograd keeps with a tensor, creating it if needed.
pub(super) fn for_tensor(tensor: &Tensor) -> &Variable {
    known(tensor).unwrap_or_else(|| tensor.attach(Variable::default()))
}

/// Where gradients of a tensor that requires them lead.
///
/// # Errors
///
/// Those of [`history::follow_base`].
pub(super) fn edge_of(tensor: &Tensor) -> Result<Option<Edge>> {
    if !tensor.requires_grad() {
        return Ok(None);
    }
    let origin = origin_of(tensor)?;
    Ok(Some(origin.unwrap_or_else(|| match tensor.sharing() {
        // Nobody can ask for the gradient of such a view, as in torch.
        Sharing::Unrecorded => Edge::new(Arc::new(Node::sink()), 0),
        _ => Edge::new(for_tensor(tensor).sink().clone(), 0),
    })))
}

/// Returns a tensor on this memory outside of the graph.
pub(super) fn detached(tensor: &Tensor) -> Tensor {
    if let Some(leveled) = tensor.wrapper::<Leveled>() {
        return leveled.again(tensor.unmarked_keys());
    }
    match tensor.spec().and_then(|spec| tensor.bare_view(spec.geometry().clone())) {
        Ok(detached) => detached,
        // A number, an undefined tensor or a layer's, which leads nowhere itself.
        Err(_) => tensor.clone(),
    }
}

/// # Gradients
impl Tensor {
    /// Asks for gradients by this tensor, or no more: what is computed of it from here on can be differentiated by it.
    ///
    /// # Errors
    ///
    /// A dtype without gradients (integers and bools); taking the mark from a tensor that was computed of others: detach it; those
    /// of [`ensure_registered`](crate::ensure_registered).
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::from_slice(&[2.0f64, 5.0], &[2])?;
    /// x.requires_grad_(true)?;
    /// x.mul(&x)?.sum()?.backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f64>()?, [4.0, 10.0]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn requires_grad_(&self, on: bool) -> Result<&Self> {
        let dtype = self.dtype();
        if on && !(dtype.is_floating_point() || dtype.is_complex()) {
            return Err(argument(format!(
                "only tensors of floating-point and complex dtypes can require gradients, found {dtype}; convert it first"
            )));
        }
        if !self.is_leaf() {
            if on {
                return Ok(self);
            }
            return Err(argument(
                "only leaves can stop requiring gradients; use `detach` to get a tensor that does not",
            ));
        }
        if !on && self.requires_grad() && self.sharing() == Sharing::Unrecorded {
            return Err(argument(
                "a view of a tensor that requires a gradient requires one as long as that does; use `detach` to get a tensor that does not",
            ));
        }
        if on {
            // Operators of others may be called before the first of ours, and have to find the layer.
            crate::ops::layers()?;
        }
        self.mark_requires_grad(on)?;
        Ok(self)
    }

    /// Whether gradients end here: the tensor was not computed of others that require them.
    pub fn is_leaf(&self) -> bool {
        // A view whose history cannot be told has one.
        !self.requires_grad() || matches!(origin_of(self), Ok(None))
    }

    /// What [`backward`](Self::backward) has added up for this tensor.
    pub fn grad(&self) -> Option<Self> {
        known(self)?.sink.get()?.as_sink().grad()
    }

    /// Replaces what [`backward`](Self::backward) has added up; `None` makes it begin anew.
    ///
    /// # Errors
    ///
    /// A gradient of another shape, dtype or device than the tensor.
    pub fn set_grad(&self, grad: Option<Self>) -> Result<()> {
        if let Some(grad) = &grad {
            let fits = grad.sizes() == self.sizes()
                && grad.dtype() == self.dtype()
                && grad.device() == self.device();
            if !fits {
                return Err(argument(format!(
                    "found a gradient of sizes {:?} and {} on {} for a tensor of sizes {:?} and {} on \
                     {}, expected those of the tensor",
                    grad.sizes(),
                    grad.dtype(),
                    grad.device(),
                    self.sizes(),
                    self.dtype(),
                    self.device()
                )));
            }
        }
        if grad.is_none() && known(self).is_none() {
            return Ok(());
        }
        sink_of(self).set_grad(grad);
        Ok(())
    }

    /// The recorded call whose result this tensor is, as `torch` calls its `grad_fn`; none for leaves.
    ///
    /// # Errors
    ///
    /// The tensor is a view whose history cannot be told: it was taken without recording, or a function with a derivative of its
    /// own gave it, and what it was taken of was written since.
    pub fn origin(&self) -> Result<Option<Arc<Node>>> {
        if !self.requires_grad() {
            return Ok(None);
        }
        Ok(origin_of(self)?.map(|edge| edge.node))
    }

    /// Keeps the gradient of a tensor that is no leaf, too, when it comes by: that of what the tensor holds then, also where it is
    /// written later. Those of several backward passes are added up.
    ///
    /// # Errors
    ///
    /// The tensor requires no gradient.
    pub fn retain_grad(&self) -> Result<()> {
        check_requires(self, "retain_grad")?;
        let variable = for_tensor(self);
        let Some(edge) = origin_of(self)? else { return Ok(()) };
        if !std::mem::replace(&mut variable.lock().retains_grad, true) {
            variable.retain(&edge);
        }
        Ok(())
    }

    /// Whether [`retain_grad`](Self::retain_grad) was asked of a tensor that is no leaf.
    pub fn retains_grad(&self) -> bool {
        known(self).is_some_and(|variable| variable.lock().retains_grad)
    }

    /// Runs `hook` when the gradient of this tensor is complete; what it gives takes the gradient's place.
    ///
    /// A hook that holds the tensor, or a later one, makes a cycle that nothing frees: let it hold what it needs apart.
    ///
    /// # Errors
    ///
    /// The tensor requires no gradient.
    pub fn register_hook(
        &self,
        hook: impl Fn(&Self) -> Result<Option<Self>> + Send + Sync + 'static,
    ) -> Result<Hook> {
        check_requires(self, "register_hook")?;
        let hook: TensorHook = Flat::new(Arc::new(hook));
        let edge = origin_of(self)?.unwrap_or_else(|| Edge::new(for_tensor(self).sink().clone(), 0));
        let add = |list: &mut List, number| list.of_results.push((number, edge.output(), hook));
        let (number, ()) = edge.node.hooks.change(add);
        Ok(Hook { node: Arc::downgrade(&edge.node), number })
    }

    /// As [`register_hook`](Self::register_hook), of a closure that holds something of another language, whose collector sees it
    /// ([`held_by_tensor`](super::held_by_tensor)).
    ///
    /// # Errors
    ///
    /// Those of [`register_hook`](Self::register_hook).
    pub fn register_hook_with(
        &self,
        held: Foreign,
        hook: impl Fn(&Self) -> Result<Option<Self>> + Send + Sync + 'static,
    ) -> Result<Hook> {
        Ok(self.register_hook(hook)?.holding(held))
    }
}

/// Where the gradient of a tensor comes from, if it is no leaf.
///
/// # Errors
///
/// Those of [`history::follow_base`].
pub(super) fn origin_of(tensor: &Tensor) -> Result<Option<Edge>> {
    if let Some(base) = tensor.base() {
        history::follow_base(tensor, base)?;
    }
    Ok(known(tensor).and_then(Variable::origin))
}

fn check_requires(tensor: &Tensor, what: &str) -> Result<()> {
    if tensor.requires_grad() {
        Ok(())
    } else {
        Err(argument(format!(
            "{what}: the tensor requires no gradient; call `requires_grad_` before it is used"
        )))
    }
}

/// Takes a tensor out of the graph, where it is.
///
/// # Errors
///
/// A view: its base would still lead here.
pub(super) fn detach_in_place(tensor: &Tensor) -> Result<()> {
    if tensor.requires_grad() && tensor.base().is_some() {
        return Err(argument("a view cannot be detached in place; use `detach`, or detach its base"));
    }
    if let Some(variable) = known(tensor) {
        variable.set_origin(None);
    }
    tensor.mark_requires_grad(false)
}
