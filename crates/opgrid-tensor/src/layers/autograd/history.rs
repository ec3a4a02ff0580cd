//! Operators that write their first argument, and views of what was written.
//!
//! A view has no history of its own: what is written to it belongs to the history of its base. A call that writes a view
//! becomes a node of the base, which takes the gradient apart where the view lies; the view, and all others of the base,
//! then lead to the base anew.

use std::cell::RefCell;
use std::fmt::Display;
use std::sync::Arc;

use opgrid_core::{BoxedCall, DType, Dispatcher, Error, Forms, Kind, Result, Scalar, TensorType};
use smallvec::{SmallVec, smallvec};

use super::backward::{is_differentiable, run_formulas};
use super::node::{Edge, Formula, Formulas, Kept, Node, Subject, Target, Targets, formula_of, formula_with};
use super::record::{ask, record_new, tensors_of, written_arguments};
use super::rule::{Derivative, Gradients, Recorder, Told};
use super::variable::{Variable, detached, edge_of};
use crate::error::argument;
use crate::families::{ShapeRule, kind};
use crate::layers::functional;
use crate::layers::levels::{Leveled, plain};
use crate::ops::{
    AddTensor, AsStrided, CloneTensor, CopyInplace, NewEmptyStrided, View, ViewAsComplex, ViewAsReal,
    ZeroInplace,
};
use crate::tensor::{Geometry, Sharing, Tensor};

/// Records an operator that writes its first argument.
pub(super) fn record_in_place(call: &mut BoxedCall<'_>) -> Result<()> {
    let Some(target) = Tensor::from_any_ref(call.tensor(0)?) else { return call.below() };
    check_may_be_written(call.operator().name(), target)?;
    if !is_differentiable(target.dtype()) {
        return call.below();
    }
    let functional = functional_of(call)?;
    let derivative = call.column::<Derivative>().or(functional.as_deref());
    let operator = call.operator();
    // The derivative may rely on what the operator refuses.
    if let Some(rule) = call.column::<ShapeRule>() {
        rule.apply(call.args()).map_err(|error| error.within(operator.name()))?;
    }
    let is_alone = is_alone(target);
    // Asked before the operator runs, because the argument is another one afterwards.
    let result = detached(target);
    let (mut targets, mut formulas) = (Targets::new(), Formulas::default());
    let own = edge_of(target)?;
    let told = Told { targets: &mut targets, formulas: &mut formulas, differentiable: None };
    let recorder = Recorder {
        operator,
        args: call.args(),
        results: std::slice::from_ref(&result),
        written: Some(target),
        told: RefCell::new(told),
    };
    ask(&recorder, derivative)?;
    if targets.is_empty() && own.is_none() {
        return call.below();
    }
    if own.is_none() && !is_alone {
        return Err(shared(call.operator().name()));
    }
    // An operator that makes the tensor another view of its memory writes nothing.
    let is_view = call.column::<Kind>().is_some_and(|kind| *kind == kind::VIEW);
    // Found before the operator runs: what is refused is not written.
    let place = match target.base() {
        Some(base) if !is_view => Some((base, ViewInBase::new(target, base)?)),
        _ => None,
    };
    call.below()?;
    for saved in formulas.kept.iter_mut().flatten() {
        saved.is_written_now()?;
    }
    let subject = Subject::Operator(operator.clone());
    let kept = if derivative.is_some() { Kept::Owned(formulas) } else { Kept::Missing };
    match place {
        Some((base, place)) => {
            let inner = Inner { targets, kept, own };
            write_view(target, base, place, subject, inner)
        }
        None => {
            let node = Arc::new(Node::call(subject, 1, targets, kept));
            Variable::lead_on(target, Edge::new(node, 0))
        }
    }
}

/// The derivative of the form that gives a new tensor.
fn functional_of(call: &BoxedCall<'_>) -> Result<Option<Arc<Derivative>>> {
    match call.column::<Forms>() {
        Some(forms) if &forms.functional != call.operator().name() => {
            Dispatcher::current().find(&forms.functional.to_string())?.column::<Derivative>()
        }
        _ => Ok(None),
    }
}

/// Records an operator that writes other arguments than its first, or does not give back what it writes: there is no derivative
/// for that, and what was written says so when a gradient comes to it.
///
/// # Errors
///
/// A written argument that may not be written; those of the operator.
pub(super) fn record_writes(call: &mut BoxedCall<'_>) -> Result<()> {
    let written: Vec<Tensor> = match call.schema() {
        Some(schema) => written_arguments(schema, call.args()).cloned().collect(),
        None => Vec::new(),
    };
    written.iter().try_for_each(|target| check_may_be_written(call.operator().name(), target))?;
    let has_rule = call.column::<Derivative>().is_some_and(|derivative| derivative.rule().is_some());
    let changed = written.iter().filter(|target| is_differentiable(target.dtype()) && !has_rule);
    let mut places = SmallVec::<[_; 2]>::new();
    if has_rule && let Some(target) = written.iter().find(|target| target.requires_grad()) {
        return Err(argument(format!(
            "{}: an argument of shape {:?} requires a gradient and is written, but the operator has no \
             derivative for the write; pass a tensor that requires none (`detach`)",
            call.operator().name(),
            target.sizes()
        )));
    }
    for target in changed {
        if !target.requires_grad() && !is_alone(target) {
            return Err(shared(call.operator().name()));
        }
        let place =
            target.base().map(|base| Ok::<_, Error>((base, ViewInBase::new(target, base)?))).transpose()?;
        places.push((target, place));
    }
    let mut targets = Targets::new();
    for tensor in tensors_of(call.args()) {
        targets.extend(edge_of(tensor)?.map(|edge| Target::from_tensor(tensor, edge)));
    }
    let subject = || Subject::Operator(call.operator().clone());
    let nodes: Vec<_> = places.iter().map(|_| (subject(), targets.clone())).collect();
    record_new(call)?;
    for ((target, place), (subject, targets)) in places.into_iter().zip(nodes) {
        match place {
            Some((base, place)) => {
                let inner = Inner { targets, kept: Kept::Missing, own: None };
                write_view(target, base, place, subject, inner)?;
            }
            None => {
                let node = Arc::new(Node::call(subject, 1, targets, Kept::Missing));
                Variable::lead_on(target, Edge::new(node, 0))?;
            }
        }
    }
    Ok(())
}

/// # Errors
///
/// The tensor is a leaf that gradients were asked for by, or a view of one: its value would be lost. It is a view of which
/// the graph does not know, of a tensor that requires a gradient.
pub(super) fn check_may_be_written(operator: impl Display, target: &Tensor) -> Result<()> {
    let base = target.base().filter(|base| base.requires_grad());
    if base.is_some() {
        let what = match target.sharing() {
            Sharing::Recorded | Sharing::Detached => None,
            Sharing::Unrecorded => Some("was taken without recording (in `no_grad` or inference mode)"),
            Sharing::Reinterpreted => Some("has another dtype, which gradients do not pass through"),
            Sharing::OfFunction => {
                Some("was returned by a function with a derivative of its own, which the write would bypass")
            }
        };
        if let Some(what) = what {
            return Err(argument(format!(
                "{operator}: cannot write in place to a view of a tensor that requires a gradient, \
                 because the view {what}; clone the view first, create it while recording, or write \
                 without recording (`no_grad`)"
            )));
        }
    }
    let subject = match base {
        _ if !target.requires_grad() => return Ok(()),
        _ if target.is_leaf() => "a leaf that requires a gradient",
        Some(base) if base.is_leaf() => "a view of a leaf that requires a gradient",
        _ => return Ok(()),
    };
    Err(argument(format!(
        "{operator}: cannot write in place to {subject}; use the functional form, or disable recording \
         (`no_grad`) to change its value"
    )))
}

/// Whether nobody but the tensor, and the one that it was taken of, sees its memory. Others would not know that it begins to
/// require a gradient; views of a base that requires one know it.
pub(super) fn is_alone(target: &Tensor) -> bool {
    if target.base().unwrap_or(target).sharing() == Sharing::Detached {
        return true;
    }
    let own = match target.base() {
        None => 1,
        Some(base) if base.requires_grad() => return true,
        Some(_) => 2,
    };
    if let Some(owners) = functional::sharing(target) {
        return owners <= own;
    }
    plain(target).array().is_ok_and(|array| array.storage().owners() <= own)
}

#[cold]
pub(super) fn shared(operator: impl Display) -> Error {
    argument(format!(
        "{}: cannot make a tensor require a gradient whose memory is shared with other tensors or \
         saved by the graph; use the functional form, clone the tensor first, or disable recording",
        operator
    ))
}

/// Where a view lies in its base, of which it may show the parts of complex numbers, or pairs of numbers as complex ones.
#[derive(Clone)]
pub(super) struct ViewInBase {
    base: Geometry,
    base_dtype: DType,
    view: Geometry,
    view_dtype: DType,
}

impl ViewInBase {
    /// # Errors
    ///
    /// Elements of the base that share memory; a view that was given other memory since; a view of complex numbers whose parts
    /// begin between those of the base.
    pub(super) fn new(view: &Tensor, base: &Tensor) -> Result<Self> {
        let shares = match functional::share_memory(view, base) {
            Some(shares) => shares,
            None => plain(view).array()?.storage().is_same(plain(base).array()?.storage()),
        };
        if !shares {
            return Err(argument(
                "the view or its base has other memory since (`data`, `set_`), so that they share \
                 none; clone it first",
            ));
        }
        let place = Self {
            base: base.geometry().clone(),
            base_dtype: base.dtype(),
            view: view.geometry().clone(),
            view_dtype: view.dtype(),
        };
        if !place.base.is_dense() {
            return Err(argument(
                "gradients pass through a written view only if its base is dense in memory; clone the \
                 base first",
            ));
        }
        if place.makes_complex() && place.base.offset() % 2 != 0 {
            return Err(argument(
                "gradients pass through a written complex view only if its base starts at an even \
                 storage offset; clone the base first",
            ));
        }
        Ok(place)
    }

    fn shows_parts(&self) -> bool {
        self.base_dtype.is_complex() && !self.view_dtype.is_complex()
    }

    fn makes_complex(&self) -> bool {
        !self.base_dtype.is_complex() && self.view_dtype.is_complex()
    }

    /// New memory like that of the base, with any content; of the level of `like`, where that has one.
    fn empty(&self, like: &Tensor) -> Result<Tensor> {
        let dtype = Some(self.base_dtype);
        NewEmptyStrided.call(like, self.base.sizes(), self.base.strides(), dtype, None, None, None)
    }

    /// The view of such memory.
    fn view_of(&self, memory: &Tensor) -> Result<Tensor> {
        let (base, view) = (self.base.offset(), self.view.offset());
        let numel = self.base.numel();
        let in_a_row = |count: i64| AsStrided.call(memory, &[count], &[1], Some(0));
        let (memory, offset) = if self.shows_parts() {
            (ViewAsReal.call(&in_a_row(numel)?)?, view - 2 * base)
        } else if self.makes_complex() {
            let pairs = View.call(&in_a_row(numel - numel % 2)?, &[numel / 2, 2])?;
            (ViewAsComplex.call(&pairs)?, view - base / 2)
        } else {
            (memory.clone(), view - base)
        };
        AsStrided.call(&memory, self.view.sizes(), self.view.strides(), Some(offset))
    }

    /// Zeros with the gradient where the view lies.
    fn spread(&self, grad: &Tensor) -> Result<Tensor> {
        let all = self.empty(grad)?;
        ZeroInplace.call(&all)?;
        CopyInplace.call(&self.view_of(&all)?, grad, false)?;
        Ok(all)
    }
}

/// What a call that wrote a view has told, and where gradients of the view led before.
pub(super) struct Inner {
    pub(super) targets: Targets,
    pub(super) kept: Kept,
    pub(super) own: Option<Edge>,
}

/// Makes a call that wrote a view a part of the base's history.
pub(super) fn write_view(
    view: &Tensor,
    base: &Tensor,
    place: ViewInBase,
    subject: Subject,
    Inner { targets: inner, kept, own }: Inner,
) -> Result<()> {
    let is_own = |target: &Target| {
        own.as_ref()
            .is_some_and(|own| Arc::ptr_eq(&own.node, &target.edge.node) && own.output == target.edge.output)
    };
    // Of each inner target: where it stands among those of the node, or that it is the view itself.
    let mut targets: Targets =
        edge_of(base)?.map(|edge| Target::from_tensor(base, edge)).into_iter().collect();
    let has_base = !targets.is_empty();
    let mut places: SmallVec<[Option<u16>; 4]> = SmallVec::new();
    for target in inner {
        if is_own(&target) {
            places.push(None);
            continue;
        }
        places.push(Some(targets.len() as u16));
        targets.push(target);
    }
    let kept = match kept {
        Kept::Owned(formulas) => {
            let formula = formula_of_view(place, places, formulas, has_base, targets.len());
            Kept::Owned(Formulas::one(formula, &targets, SmallVec::new()))
        }
        other => other,
    };
    let node = Arc::new(Node::call(subject, 1, targets, kept));
    Variable::lead_on(base, Edge::new(node, 0))?;
    // Leads to the base as soon as somebody asks.
    view.note_rewrites(u64::MAX);
    view.mark_requires_grad(true)
}

/// Takes the gradient of the base apart: the part of the view goes through the formulas of the call that wrote it.
fn formula_of_view(
    place: ViewInBase,
    places: SmallVec<[Option<u16>; 4]>,
    formulas: Formulas,
    has_base: bool,
    count: usize,
) -> Formula {
    let formulas = Arc::new(formulas);
    formula_with(formulas.clone(), move |grads, _, node| {
        let mut given: SmallVec<[Option<Tensor>; 1]> = smallvec![None; count];
        let Some(grad) = grads.for_result(0) else { return Ok(given) };
        let mut all = place.empty(grad)?;
        CopyInplace.call(&all, grad, false)?;
        let mut of_view = place.view_of(&all)?;
        let inner = [Some(CloneTensor.call(&of_view, None)?)];
        let mut of_own: Option<Tensor> = None;
        // A result that was kept is what lay in the view afterwards.
        let result = |_| Ok(Edge::new(view_node(&place, Edge::new(node.clone(), 0)), 0));
        run_formulas(&formulas, Gradients(&inner), node, &result, &mut |target, grad| {
            let sum = match places[usize::from(target)] {
                None => &mut of_own,
                Some(target) => &mut given[usize::from(target)],
            };
            *sum = Some(match sum.take() {
                None => grad,
                Some(before) => AddTensor.call(&before, &grad, Scalar::Int(1))?,
            });
            Ok(())
        })?;
        if has_base {
            if let Some(own) = of_own.as_ref().filter(|own| own.wrapper::<Leveled>().is_some()) {
                // A tensor outside of the level cannot take it.
                all = place.empty(own)?;
                CopyInplace.call(&all, grad, false)?;
                of_view = place.view_of(&all)?;
            }
            match of_own {
                Some(grad) => CopyInplace.call(&of_view, &super::sum_to(&grad, of_view.sizes())?, false)?,
                None => ZeroInplace.call(&of_view)?,
            };
            given[0] = Some(all);
        }
        Ok(given)
    })
}

/// A node that leads from a view to its base.
fn view_node(place: &ViewInBase, base: Edge) -> Arc<Node> {
    let targets = Targets::from_iter([Target {
        edge: base,
        sizes: place.base.sizes().into(),
        dtype: place.base_dtype,
    }]);
    let place = place.clone();
    let formula = formula_of(move |grads, _, _| {
        let Some(grad) = grads.for_result(0) else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(place.spread(grad)?)])
    });
    let formulas = Kept::Owned(Formulas::one(formula, &targets, SmallVec::new()));
    Arc::new(Node::call(Subject::Other("view".into()), 1, targets, formulas))
}

/// Has a view lead to its base as that is now, if the base was written since.
///
/// # Errors
///
/// The base was written since, and what the view was computed of cannot be told: it was taken without recording, or a function
/// with a derivative of its own gave it.
pub(super) fn follow_base(view: &Tensor, base: &Tensor) -> Result<()> {
    let rewrites = base.rewrites();
    if view.rewrites_seen() == rewrites || !base.requires_grad() {
        return Ok(());
    }
    let why = match view.sharing() {
        Sharing::Recorded => None,
        Sharing::Reinterpreted | Sharing::Detached => return Ok(()),
        Sharing::Unrecorded => Some("was taken without recording (in `no_grad` or inference mode)"),
        Sharing::OfFunction => Some("was returned by a function with a derivative of its own"),
    };
    if let Some(why) = why {
        return Err(argument(format!(
            "a view {why}, and its base has been written in place since, so that its gradient is not \
             known; clone the view before the write, or create it again"
        )));
    }
    // Bases that are not dense were refused when they were written.
    let (Some(edge), Ok(place)) = (edge_of(base)?, ViewInBase::new(view, base)) else { return Ok(()) };
    super::variable::for_tensor(view).set_origin(Some(Edge::new(view_node(&place, edge), 0)));
    view.note_rewrites(rewrites);
    Ok(())
}
