//! The backward pass: from results to the tensors that gradients were asked for.
//!
//! Nodes are visited from the highest level on, so that each has all of its gradient when its turn comes; among nodes of one
//! level the one that was reached first comes first, so that sums are made in the same order each time. Nothing recurses.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::ptr;
use std::sync::Arc;

use opgrid_core::{DType, Error, ErrorKind, MemoryFormat, Result, Scalar, TensorType};
use smallvec::{SmallVec, smallvec};

use super::checkpoint::WayBack;
use super::hooks::List;
use super::mode::{GradMode, is_anomaly_enabled};
use super::node::{Call, Edge, Formulas, Kept, Node, NodeKind, Sink, Subject, Target};
use super::rule::Gradients;
use super::variable::{detached, edge_of, sink_of};
use crate::error::argument;
use crate::ops::{AddInplaceTensor, AddTensor, CloneTensor, Isnan, OnesLike, Real, SumDim, View};
use crate::tensor::Tensor;

/// What a backward pass keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackwardOptions {
    /// The graph stays for another backward pass; otherwise what it keeps is freed as the way goes.
    pub retain_graph: bool,
    /// The backward pass is recorded itself, so that gradients can be differentiated; the graph stays, too.
    pub create_graph: bool,
}

/// Adds the gradients of all leaves that `outputs` depend on to what these have ([`Tensor::grad`]).
///
/// `gradients` are those of the outputs; without any, outputs have one element each, and it is 1. With `inputs`, only the
/// gradients of these tensors are computed and added up.
///
/// # Errors
///
/// An output that requires no gradient, or of several elements without a gradient; gradients of other shapes; a graph that was
/// used and not retained; a tensor that was kept and written since; an operator without a derivative; those of formulas.
pub fn backward(
    outputs: &[&Tensor],
    gradients: &[Option<Tensor>],
    inputs: Option<&[&Tensor]>,
    options: BackwardOptions,
) -> Result<()> {
    let roots = roots(outputs, gradients, options)?;
    match inputs {
        None => Walk::new(options, None)?.run(roots).map(drop),
        Some(inputs) => {
            let edges = inputs.iter().map(|input| wanted_edge(input)).collect::<Result<Vec<_>>>()?;
            let found = Walk::new(options, Some(&edges))?.run(roots)?;
            for (input, grad) in inputs.iter().zip(found) {
                if let Some(grad) = grad {
                    accumulate(sink_of(input), grad, options.create_graph)?;
                }
            }
            Ok(())
        }
    }
}

/// The gradients of `outputs` by `inputs`; nothing where an output does not depend on one. Nothing is added up.
///
/// # Errors
///
/// As [`backward`]; an input that requires no gradient.
pub fn grad(
    outputs: &[&Tensor],
    inputs: &[&Tensor],
    gradients: &[Option<Tensor>],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>> {
    let roots = roots(outputs, gradients, options)?;
    let edges = inputs.iter().map(|input| wanted_edge(input)).collect::<Result<Vec<_>>>()?;
    Walk::new(options, Some(&edges))?.run(roots)
}

fn wanted_edge(input: &Tensor) -> Result<Edge> {
    edge_of(input)?.ok_or_else(|| {
        argument("one of the inputs requires no gradient; call `requires_grad_` before the tensor is used")
    })
}

/// Where the way begins: the edges of outputs, with their gradients.
fn roots(
    outputs: &[&Tensor],
    gradients: &[Option<Tensor>],
    options: BackwardOptions,
) -> Result<Vec<(Edge, Tensor)>> {
    if !gradients.is_empty() && gradients.len() != outputs.len() {
        return Err(argument(format!(
            "found {} gradients for {} outputs, expected one for each; pass `None` for outputs of one \
             element",
            gradients.len(),
            outputs.len()
        )));
    }
    let mut roots = Vec::with_capacity(outputs.len());
    for (place, output) in outputs.iter().enumerate() {
        let Some(edge) = edge_of(output)? else {
            return Err(argument(format!(
                "output {place} does not require grad and does not have a grad_fn; call \
                 `requires_grad_` on a tensor that it is computed from, with recording enabled"
            )));
        };
        let given = gradients.get(place).and_then(Option::as_ref);
        let _mode = GradMode::new(options.create_graph);
        let grad = match given {
            Some(grad) if output.sizes() == grad.sizes() => grad.clone(),
            Some(grad) => {
                return Err(argument(format!(
                    "gradient {place} has sizes {:?}, expected {:?}, those of its output",
                    grad.sizes(),
                    output.sizes()
                )));
            }
            None if output.numel() != 1 => {
                return Err(argument(format!(
                    "grad can be implicitly created only for scalar outputs, found an output of sizes \
                     {:?}; sum it, or pass its gradient",
                    output.sizes()
                )));
            }
            None if output.dtype().is_complex() => {
                return Err(argument(
                    "grad can be implicitly created only for real outputs, found a complex output; \
                     take its real part, or pass its gradient",
                ));
            }
            None => OnesLike.call(&detached(output), None, None, None, None, Some(MemoryFormat::Preserve))?,
        };
        roots.push((edge, grad));
    }
    Ok(roots)
}

/// A gradient on its way.
struct Gradient {
    tensor: Tensor,
    /// Nobody else has it.
    is_own: bool,
}

/// The gradients of a node's results, as far as they are known.
struct Pending {
    node: Arc<Node>,
    grads: SmallVec<[Option<Gradient>; 1]>,
}

/// A node's turn.
#[derive(PartialEq, Eq)]
struct Turn {
    level: u64,
    number: u64,
    node: *const Node,
}

impl Ord for Turn {
    fn cmp(&self, other: &Self) -> Ordering {
        self.level.cmp(&other.level).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One backward pass.
struct Walk {
    options: BackwardOptions,
    pending: HashMap<*const Node, Pending>,
    turns: BinaryHeap<Turn>,
    reached: u64,
    wanted: Option<Wanted>,
}

/// The gradients that were asked for, where not all are added up.
struct Wanted {
    /// By node and result: the places of the answer.
    places: HashMap<(*const Node, usize), SmallVec<[usize; 1]>>,
    /// The nodes that lead to them.
    needed: HashSet<*const Node>,
    found: Vec<Option<Tensor>>,
    /// The nodes live as long as their addresses are compared.
    _edges: Vec<Edge>,
}

impl Walk {
    fn new(options: BackwardOptions, wanted: Option<&[Edge]>) -> Result<Self> {
        let wanted = wanted.map(|edges| {
            let mut places: HashMap<_, SmallVec<[usize; 1]>> = HashMap::new();
            for (place, edge) in edges.iter().enumerate() {
                places.entry((Arc::as_ptr(&edge.node), edge.output())).or_default().push(place);
            }
            let found = vec![None; edges.len()];
            Wanted { places, needed: HashSet::new(), found, _edges: edges.to_vec() }
        });
        Ok(Self { options, pending: HashMap::new(), turns: BinaryHeap::new(), reached: 0, wanted })
    }

    fn run(mut self, roots: Vec<(Edge, Tensor)>) -> Result<Vec<Option<Tensor>>> {
        if let Some(wanted) = &mut self.wanted {
            wanted.find_needed(&roots);
        }
        let _mode = GradMode::new(self.options.create_graph);
        let _computed_again = WayBack::begin();
        for (edge, grad) in roots {
            self.add(&edge, grad)?;
        }
        while let Some(turn) = self.turns.pop() {
            let Some(pending) = self.pending.remove(&turn.node) else { continue };
            self.visit(pending)?;
        }
        Ok(self.wanted.map(|wanted| wanted.found).unwrap_or_default())
    }

    /// Adds a gradient to those that are on their way to an edge.
    fn add(&mut self, edge: &Edge, grad: Tensor) -> Result<()> {
        let node = Arc::as_ptr(&edge.node);
        match (&edge.node.kind, &self.wanted) {
            (NodeKind::Leaf(sink), None) if edge.node.hooks.is_empty() => {
                return accumulate(sink, grad, self.options.create_graph);
            }
            (_, Some(wanted)) if !wanted.needed.contains(&node) => return Ok(()),
            _ => {}
        }
        let (reached, turns) = (&mut self.reached, &mut self.turns);
        let pending = self.pending.entry(node).or_insert_with(|| {
            *reached += 1;
            turns.push(Turn { level: edge.node.level, number: *reached, node });
            let grads = (0..edge.node.outputs).map(|_| None).collect();
            Pending { node: edge.node.clone(), grads }
        });
        let place = &mut pending.grads[edge.output()];
        *place = Some(match place.take() {
            None => Gradient { tensor: grad, is_own: false },
            Some(before) => sum(before, grad, self.options.create_graph)?,
        });
        Ok(())
    }

    fn visit(&mut self, pending: Pending) -> Result<()> {
        let Pending { node, grads } = pending;
        let mut grads: SmallVec<[Option<Tensor>; 1]> =
            grads.into_iter().map(|grad| grad.map(|grad| grad.tensor)).collect();
        let hooks = node.hooks.list();
        if let Some(hooks) = &hooks {
            before(hooks, &mut grads, self.options.create_graph)
                .map_err(|error| error.within(format_args!("hook of {}", node.name())))?;
        }
        if let Some(wanted) = &mut self.wanted {
            wanted.take(&node, &grads);
        }
        let call = match &node.kind {
            NodeKind::Leaf(sink) => {
                let grad = grads.into_iter().next().flatten();
                if let (Some(grad), None) = (grad, &self.wanted) {
                    accumulate(sink, grad, self.options.create_graph)?;
                    if let Some(hooks) = &hooks {
                        // A leaf gives nothing on: its hooks are told that the gradient was added.
                        after(hooks, &mut SmallVec::new())
                            .map_err(|error| error.within(format_args!("hook of {}", node.name())))?;
                    }
                }
                return Ok(());
            }
            NodeKind::Call(call) => call,
        };
        let mut of_targets: SmallVec<[Option<Tensor>; 2]> = smallvec![None; call.targets.len()];
        self.run_call(&node, call, Gradients(&grads), &mut of_targets)?;
        if let Some(hooks) = hooks.filter(|hooks| !hooks.after.is_empty()) {
            after(&hooks, &mut of_targets)
                .map_err(|error| error.within(format_args!("hook of {}", node.name())))?;
        }
        drop(grads);
        for (target, grad) in call.targets.iter().zip(of_targets) {
            if let Some(grad) = grad {
                self.add(&target.edge, grad)?;
            }
        }
        Ok(())
    }

    /// Runs the formulas of a call whose gradients are needed, and sums what they give for each target.
    fn run_call(
        &self,
        node: &Arc<Node>,
        call: &Call,
        grads: Gradients<'_>,
        of_targets: &mut SmallVec<[Option<Tensor>; 2]>,
    ) -> Result<()> {
        let is_needed = |place: u16| match &self.wanted {
            Some(wanted) => wanted.needed.contains(&Arc::as_ptr(&call.targets[usize::from(place)].edge.node)),
            None => true,
        };
        if !(0..call.targets.len()).any(|place| is_needed(place as u16)) {
            return Ok(());
        }
        let keeps = self.options.retain_graph || self.options.create_graph;
        let taken = call.take(node, keeps)?;
        let own = |output: usize| Ok(Edge::new(node.clone(), output));
        let ran = run_formulas(taken.formulas(), grads, node, &own, &mut |place, grad| {
            if !is_needed(place) {
                return Ok(());
            }
            let place = usize::from(place);
            let grad = fit(grad, &call.targets[place])?;
            let before = &mut of_targets[place];
            *before = Some(match before.take() {
                None => grad,
                Some(before) => AddTensor.call(&before, &grad, Scalar::Int(1))?,
            });
            Ok(())
        });
        // What keeps nothing is not freed: another backward pass may go through it.
        if let Taken::Owned(formulas) = taken
            && formulas.owns_nothing()
        {
            *call.lock() = Kept::Owned(formulas);
        }
        ran.and_then(|()| check_numbers(of_targets)).map_err(|error| of_node(error, node))
    }
}

#[cold]
fn of_node(error: Error, node: &Node) -> Error {
    if error.kind() == ErrorKind::Depth {
        return error;
    }
    match &node.place {
        Some(place) => {
            error.within(format_args!("derivative of {}, which was called at {place}", node.name()))
        }
        None => error.within(format_args!("derivative of {}", node.name())),
    }
}

/// In a scope of [`DetectAnomaly`](super::DetectAnomaly): refuses gradients that are not numbers.
fn check_numbers(grads: &[Option<Tensor>]) -> Result<()> {
    if !is_anomaly_enabled() {
        return Ok(());
    }
    for (place, grad) in grads.iter().enumerate() {
        let Some(grad) = grad else { continue };
        let has_nan = super::no_grad(|| Isnan.call(grad)?.any()?.item())?;
        if has_nan == Scalar::Bool(true) {
            return Err(argument(format!("gradient {place} has elements that are not numbers (NaN)")));
        }
    }
    Ok(())
}

/// The formulas of a call, for one backward pass.
enum Taken {
    Owned(Formulas),
    Shared(Arc<Formulas>),
}

impl Taken {
    fn formulas(&self) -> &Formulas {
        match self {
            Self::Owned(formulas) => formulas,
            Self::Shared(formulas) => formulas,
        }
    }
}

impl Call {
    /// Takes the formulas, for good unless they are kept.
    fn take(&self, node: &Node, keeps: bool) -> Result<Taken> {
        let mut kept = self.lock();
        match (&*kept, keeps) {
            (Kept::Freed, _) => Err(argument(format!(
                "{}: trying to backward through the graph a second time, but the saved tensors have \
                 been freed; pass `retain_graph` to the first backward pass",
                node.name()
            ))),
            (Kept::Missing, _) => Err(self.without_derivative()),
            (Kept::Shared(shared), true) => Ok(Taken::Shared(shared.clone())),
            (Kept::Shared(_) | Kept::Owned(_), _) => {
                match (std::mem::replace(&mut *kept, Kept::Freed), keeps) {
                    (Kept::Owned(owned), true) => {
                        let shared = Arc::new(owned);
                        *kept = Kept::Shared(shared.clone());
                        Ok(Taken::Shared(shared))
                    }
                    (Kept::Owned(owned), false) => Ok(Taken::Owned(owned)),
                    (Kept::Shared(shared), _) => Ok(Taken::Shared(shared)),
                    (other, _) => {
                        *kept = other;
                        Err(self.without_derivative())
                    }
                }
            }
        }
    }

    #[cold]
    fn without_derivative(&self) -> Error {
        let Subject::Operator(operator) = &self.subject else {
            return argument(format!("{}: there is no derivative", self.subject));
        };
        let schema = operator.find_schema().map(|schema| schema.to_string()).unwrap_or_default();
        let place = operator.defined_at().unwrap_or_default();
        Error::new(
            ErrorKind::NotImplemented,
            format!(
                "{}: has no derivative, but a gradient has to pass through it ({schema}, {place}); \
                 state one by `derivative` where it is defined, declare it `non_differentiable`, or \
                 detach its arguments",
                operator.name()
            ),
        )
    }
}

/// Runs formulas and gives each gradient with its target. `result` says where the gradient of a result that was kept leads.
pub(super) fn run_formulas(
    formulas: &Formulas,
    grads: Gradients<'_>,
    node: &Arc<Node>,
    result: &dyn Fn(usize) -> Result<Edge>,
    give: &mut dyn FnMut(u16, Tensor) -> Result<()>,
) -> Result<()> {
    let differentiable = super::is_grad_enabled();
    for part in &formulas.parts {
        let mut kept: SmallVec<[Option<Tensor>; 3]> = SmallVec::new();
        for saved in formulas.kept_by(part) {
            kept.push(saved.as_ref().map(|saved| saved.get(node, differentiable, result)).transpose()?);
        }
        let of_targets = part.formula.gradients(grads, &kept, node)?;
        if of_targets.len() != usize::from(part.targets) {
            return Err(argument(format!(
                "a derivative returned {} gradients, expected {}, one for each argument",
                of_targets.len(),
                part.targets
            )));
        }
        for (place, grad) in (part.first_target..).zip(of_targets) {
            if let Some(grad) = grad.filter(Tensor::is_defined) {
                give(place, grad)?;
            }
        }
    }
    Ok(())
}

impl Wanted {
    /// Finds the nodes from which a gradient that was asked for is reached.
    fn find_needed(&mut self, roots: &[(Edge, Tensor)]) {
        let mut nodes: HashMap<*const Node, &Node> = HashMap::new();
        let mut waiting: Vec<&Node> = roots.iter().map(|(edge, _)| &*edge.node).collect();
        while let Some(node) = waiting.pop() {
            if nodes.insert(ptr::from_ref(node), node).is_none() {
                waiting.extend(node.targets().iter().map(|target| &*target.edge.node));
            }
        }
        let mut nodes: Vec<&Node> = nodes.into_values().collect();
        nodes.sort_by_key(|node| node.level);
        let wanted: HashSet<*const Node> = self.places.keys().map(|(node, _)| *node).collect();
        for node in nodes {
            let leads = |target: &Target| self.needed.contains(&Arc::as_ptr(&target.edge.node));
            if wanted.contains(&ptr::from_ref(node)) || node.targets().iter().any(leads) {
                self.needed.insert(ptr::from_ref(node));
            }
        }
    }

    fn take(&mut self, node: &Arc<Node>, grads: &[Option<Tensor>]) {
        for (output, grad) in grads.iter().enumerate() {
            let places = self.places.get(&(Arc::as_ptr(node), output));
            for place in places.into_iter().flatten() {
                self.found[*place] = grad.clone();
            }
        }
    }
}

/// Runs the hooks that see the gradients of a node's results, and keeps those that tensors retain.
fn before(hooks: &List, grads: &mut SmallVec<[Option<Tensor>; 1]>, create_graph: bool) -> Result<()> {
    for (_, output, hook) in &hooks.of_results {
        if let Some(grad) = &grads[*output]
            && let Some(other) = hook(grad)?
        {
            check_same(grad, &other)?;
            grads[*output] = Some(other);
        }
    }
    for (_, hook) in &hooks.before {
        if let Some(others) = hook(grads)? {
            check_all_same(grads, &others)?;
            *grads = others.into();
        }
    }
    for (output, node) in &hooks.retaining {
        if let (Some(node), Some(grad)) = (node.upgrade(), &grads[*output])
            && let NodeKind::Leaf(sink) = &node.kind
        {
            accumulate(sink, grad.clone(), create_graph)?;
        }
    }
    Ok(())
}

/// Runs the hooks that see the gradients which a node gives on.
///
/// # Errors
///
/// Those of a hook; a hook that gives other gradients than its targets can take.
fn after(hooks: &List, grads: &mut SmallVec<[Option<Tensor>; 2]>) -> Result<()> {
    for (_, hook) in &hooks.after {
        if let Some(others) = hook(grads)? {
            check_all_same(grads, &others)?;
            *grads = others.into();
        }
    }
    Ok(())
}

/// # Errors
///
/// A hook returned gradients of another number, shape, dtype or device than those it was called with.
fn check_all_same(grads: &[Option<Tensor>], others: &[Option<Tensor>]) -> Result<()> {
    if grads.len() != others.len() {
        return Err(argument(format!(
            "the hook returned {} gradients, expected {}, as many as it was called with",
            others.len(),
            grads.len()
        )));
    }
    for (place, (grad, other)) in grads.iter().zip(others).enumerate() {
        match (grad, other) {
            (_, None) => {}
            (Some(grad), Some(other)) => check_same(grad, other)?,
            (None, Some(_)) => {
                return Err(argument(format!(
                    "the hook returned a gradient at index {place}, where it was called with None; return None there"
                )));
            }
        }
    }
    Ok(())
}

/// # Errors
///
/// A hook returned a gradient of another shape, dtype or device than the one it was called with.
fn check_same(grad: &Tensor, other: &Tensor) -> Result<()> {
    let described = |it: &Tensor| format!("shape {:?}, {} on {}", it.sizes(), it.dtype(), it.device());
    let is_same =
        grad.sizes() == other.sizes() && grad.dtype() == other.dtype() && grad.device() == other.device();
    if is_same {
        Ok(())
    } else {
        Err(argument(format!(
            "the hook returned a gradient of {}, expected {}, as it was called with",
            described(other),
            described(grad)
        )))
    }
}

/// The gradient as its target has to have it: summed over what was stretched, of its dtype.
fn fit(grad: Tensor, target: &Target) -> Result<Tensor> {
    let mut grad = grad;
    if grad.sizes() != target.sizes.as_slice() {
        grad = sum_to(&grad, &target.sizes)?;
    }
    if grad.dtype() == target.dtype {
        return Ok(grad);
    }
    if grad.dtype().is_complex() && !target.dtype.is_complex() {
        grad = Real.call(&grad)?;
    }
    if grad.dtype() == target.dtype { Ok(grad) } else { grad.to_dtype(target.dtype) }
}

/// The sum of a gradient over the dimensions that an argument of these sizes was stretched along.
///
/// # Errors
///
/// Those of the operators; sizes that do not broadcast to the gradient's.
pub fn sum_to(grad: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    if grad.sizes() == sizes {
        return Ok(grad.clone());
    }
    let found = grad.sizes();
    let more = found.len().saturating_sub(sizes.len());
    let fits = found.len() >= sizes.len()
        && sizes.iter().zip(&found[more..]).all(|(size, found)| size == found || *size == 1);
    if !fits {
        return Err(argument(format!(
            "found a gradient of sizes {found:?} for an argument of sizes {sizes:?}, expected those sizes, or ones that they \
             broadcast to"
        )));
    }
    let stretched = |at: &usize| *at < more || sizes[at - more] == 1 && found[*at] != 1;
    let dims: Vec<i64> = (0..found.len()).filter(stretched).map(|at| at as i64).collect();
    let sum = if dims.is_empty() { grad.clone() } else { SumDim.call(grad, Some(&dims), true, None)? };
    if sum.sizes() == sizes { Ok(sum) } else { View.call(&sum, sizes) }
}

/// The sum of two gradients, instead of the first where nobody else sees it.
fn sum(before: Gradient, grad: Tensor, create_graph: bool) -> Result<Gradient> {
    let is_own = before.is_own || is_unshared(&before.tensor);
    if !create_graph && is_own && before.tensor.dtype() == grad.dtype() {
        AddInplaceTensor.call(&before.tensor, &grad, Scalar::Int(1))?;
        return Ok(Gradient { tensor: before.tensor, is_own: true });
    }
    let tensor = AddTensor.call(&before.tensor, &grad, Scalar::Int(1))?;
    Ok(Gradient { tensor, is_own: true })
}

/// Whether nobody else has the tensor or its memory, and its elements are apart.
fn is_unshared(tensor: &Tensor) -> bool {
    let is_alone = tensor.as_any().handle_count() == 1;
    let is_own = |array: &crate::tensor::Array| array.storage().owners() == 1;
    is_alone && tensor.geometry().is_contiguous() && tensor.array().is_ok_and(is_own)
}

/// Adds a gradient to that of a leaf, which gets memory of its own: whoever has the gradient that came may go on to write it.
fn accumulate(sink: &Sink, grad: Tensor, create_graph: bool) -> Result<()> {
    let own = |grad: Tensor| {
        if create_graph {
            CloneTensor.call(&grad, Some(MemoryFormat::Preserve))
        } else if is_unshared(&grad) {
            Ok(grad)
        } else {
            CloneTensor.call(&detached(&grad), Some(MemoryFormat::Preserve))
        }
    };
    sink.add(grad, own, |before, grad| {
        if create_graph {
            AddTensor.call(before, grad, Scalar::Int(1))
        } else {
            AddInplaceTensor.call(before, grad, Scalar::Int(1)).map(|()| before.clone())
        }
    })
}

/// # Backward passes
impl Tensor {
    /// Adds the gradients of this tensor, which has one element, to those of all leaves that it depends on.
    ///
    /// # Errors
    ///
    /// Those of [`backward`].
    pub fn backward(&self) -> Result<()> {
        backward(&[self], &[], None, BackwardOptions::default())
    }

    /// Computes gradients starting with a gradient of this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`backward`].
    pub fn backward_with(&self, gradient: &Self, options: BackwardOptions) -> Result<()> {
        backward(&[self], &[Some(gradient.clone())], None, options)
    }
}

/// Whether gradients of such a dtype exist.
pub(super) fn is_differentiable(dtype: DType) -> bool {
    dtype.is_floating_point() || dtype.is_complex()
}
