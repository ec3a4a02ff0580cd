//! Operators that write their first argument, and views of what was written.
//!
//! A view has no history of its own: what is written to it belongs to the history of its base. A call that writes a view
//! becomes a node of the base, which takes the gradient apart where the view lies; the view, and all others of the base,
//! then lead to the base anew.

use std::cell::RefCell;
use std::sync::Arc;

use opgrid_core::{BoxedCall, Dispatcher, Error, Forms, Kind, Result, Scalar, TensorType};
use smallvec::{SmallVec, smallvec};

use super::backward::{is_differentiable, run_formulas};
use super::node::{Edge, Formula, Formulas, Kept, Node, Subject, Target, Targets};
use super::record::ask;
use super::rule::{Derivative, Gradients, Recorder, Told};
use super::variable::{Variable, detached, edge_of, known};
use crate::error::argument;
use crate::families::kind;
use crate::ops::{AddTensor, AsStrided, Clone as CloneOperator, CopyInplace, EmptyStrided, ZeroInplace};
use crate::tensor::{Geometry, Tensor};

/// Records an operator that writes its first argument.
pub(super) fn record_in_place(call: &mut BoxedCall<'_>) -> Result<()> {
    let target = Tensor::from_any_ref(call.tensor(0)?);
    let Some(target) = target.filter(|target| is_differentiable(target.dtype())) else {
        return call.below();
    };
    let functional = functional_of(call)?;
    let derivative = call.column::<Derivative>().or(functional.as_deref());
    let operator = call.operator();
    if target.requires_grad() {
        check_no_leaf(call, target)?;
    }
    let is_alone = is_alone(target);
    // Asked before the operator runs, because the argument is another one afterwards.
    let result = detached(target);
    let (mut targets, mut formulas) = (Targets::new(), Formulas::default());
    let own = edge_of(target);
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
        return Err(shared(call));
    }
    // An operator that makes the tensor another view of its memory writes nothing.
    let is_view = call.column::<Kind>().is_some_and(|kind| *kind == kind::VIEW);
    // Found before the operator runs: what is refused is not written.
    let place = match target.base() {
        Some(base) if !is_view => Some((base, ViewInBase::of(target, base)?)),
        _ => None,
    };
    call.below()?;
    for saved in formulas.kept.iter_mut().flatten() {
        saved.is_written_now();
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

/// # Errors
///
/// The tensor is a leaf that gradients were asked for by, or a view of one: its value would be lost.
fn check_no_leaf(call: &BoxedCall<'_>, target: &Tensor) -> Result<()> {
    let subject = match target.base() {
        _ if target.is_leaf() => "a leaf that requires a gradient",
        Some(base) if base.requires_grad() && base.is_leaf() => "a view of a leaf that requires a gradient",
        _ => return Ok(()),
    };
    Err(argument(format!(
        "{}: would write {subject}; use the form that gives a new tensor, or switch recording off (`no_grad`) to change its value",
        call.operator().name()
    )))
}

/// Whether nobody but the tensor, and the one that it was taken of, sees its memory. Others would not know that it begins to
/// require a gradient; views of a base that requires one know it.
fn is_alone(target: &Tensor) -> bool {
    let own = match target.base() {
        None => 1,
        Some(base) if base.requires_grad() => return true,
        Some(_) => 2,
    };
    target.array().is_ok_and(|array| array.storage().owners() <= own)
}

#[cold]
fn shared(call: &BoxedCall<'_>) -> Error {
    argument(format!(
        "{}: would make a tensor require a gradient whose memory other tensors see or the graph has kept, and these would not know \
         of it; use the form that gives a new tensor, clone the tensor first, or switch recording off",
        call.operator().name()
    ))
}

/// Where a view lies in its base.
#[derive(Clone)]
struct ViewInBase {
    base: Geometry,
    view: Geometry,
}

impl ViewInBase {
    /// # Errors
    ///
    /// Elements of the base that share memory; a view that was given other memory since.
    fn of(view: &Tensor, base: &Tensor) -> Result<Self> {
        if !view.array()?.storage().is_same(base.array()?.storage()) {
            return Err(argument(
                "the view, or what it was taken of, was given other memory since (`data`, `set_`), so that they have nothing in common; \
                 clone it first",
            ));
        }
        let (base, view) = (base.spec()?.geometry(), view.spec()?.geometry());
        match base.is_dense() {
            true => Ok(Self { base: base.clone(), view: view.clone() }),
            false => Err(argument(
                "gradients pass a view that was written only if the elements of what it was taken of are dense in memory; clone \
                 that first",
            )),
        }
    }

    /// New memory like that of the base, with any content.
    fn empty(&self, like: &Tensor) -> Result<Tensor> {
        let (dtype, device) = (Some(like.dtype()), Some(like.device()));
        EmptyStrided.call(self.base.sizes(), self.base.strides(), dtype, None, device, None)
    }

    /// The view of such memory.
    fn view_of(&self, memory: &Tensor) -> Result<Tensor> {
        let offset = self.view.offset() - self.base.offset();
        AsStrided.call(memory, self.view.sizes(), self.view.strides(), Some(offset))
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
struct Inner {
    targets: Targets,
    kept: Kept,
    own: Option<Edge>,
}

/// Makes a call that wrote a view a part of the base's history.
fn write_view(
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
    let mut targets: Targets = edge_of(base).map(|edge| Target::of(base, edge)).into_iter().collect();
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
    super::variable::of(view).lock().seen = u64::MAX;
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
    Box::new(move |grads, _, node| {
        let mut given: SmallVec<[Option<Tensor>; 1]> = smallvec![None; count];
        let Some(grad) = grads.of(0) else { return Ok(given) };
        let all = place.empty(grad)?;
        CopyInplace.call(&all, grad, false)?;
        let of_view = place.view_of(&all)?;
        let inner = [Some(CloneOperator.call(&of_view, None)?)];
        let mut of_own: Option<Tensor> = None;
        // A result that was kept is what lay in the view afterwards.
        let result = |_| Ok(Edge::new(view_node(&place, grad, Edge::new(node.clone(), 0)), 0));
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
fn view_node(place: &ViewInBase, like: &Tensor, base: Edge) -> Arc<Node> {
    let targets =
        Targets::from_iter([Target { edge: base, sizes: place.base.sizes().into(), dtype: like.dtype() }]);
    let place = place.clone();
    let formula: Formula = Box::new(move |grads, _, _| {
        let Some(grad) = grads.of(0) else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(place.spread(grad)?)])
    });
    let formulas = Kept::Owned(Formulas::one(formula, &targets, SmallVec::new()));
    Arc::new(Node::call(Subject::Other("view".into()), 1, targets, formulas))
}

/// Has a view lead to its base as that is now, if the base was written since.
pub(super) fn follow_base(view: &Tensor, base: &Tensor, variable: &Variable) {
    if !base.requires_grad() {
        return;
    }
    let Some(generation) = known(base).map(|base| base.lock().generation) else { return };
    if variable.lock().seen == generation {
        return;
    }
    // Bases that are not dense were refused when they were written.
    let (Some(edge), Ok(place)) = (edge_of(base), ViewInBase::of(view, base)) else { return };
    let edge = Edge::new(view_node(&place, view, edge), 0);
    variable.set_origin(Some(edge), |state| state.seen = generation);
}
