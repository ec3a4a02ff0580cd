//! Records calls: the layer's kernel under every operator.

use std::cell::RefCell;
use std::sync::Arc;

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{BoxedCall, Result, TensorType, Value, ValueRef, ValueView};
use smallvec::SmallVec;

use super::backward::is_differentiable;
use super::history;
use super::node::{Edge, Node, Parts, Subject, Target};
use super::rule::{Derivative, Draft, Recorder};
use super::variable::{Variable, edge_of};
use crate::error::argument;
use crate::tensor::Tensor;

/// The kernel. It runs only for calls with an argument that requires a gradient, on threads that record.
pub(super) fn record(call: &mut BoxedCall<'_>) -> Result<()> {
    match call.schema().map_or(Writes::Nothing, writes) {
        Writes::Nothing => record_new(call),
        Writes::First => history::record_in_place(call),
        Writes::Output => Err(argument(format!(
            "{}: gradients do not pass through what is written to `out`, and an argument requires one; use the form that gives a \
             new tensor, or switch recording off",
            call.operator().name()
        ))),
    }
}

/// What an operator writes.
enum Writes {
    /// Nothing that its result would be.
    Nothing,
    /// Its first argument, which is its result.
    First,
    /// Arguments that are passed by name.
    Output,
}

fn writes(schema: &FunctionSchema) -> Writes {
    for (place, argument) in schema.arguments.iter().enumerate() {
        if argument.alias.as_ref().is_none_or(|alias| !alias.is_write) {
            continue;
        }
        if argument.kwarg_only {
            return Writes::Output;
        }
        let is_result = schema.returns.first().is_some_and(|result| result.alias == argument.alias);
        if place == 0 && is_result {
            return Writes::First;
        }
    }
    Writes::Nothing
}

/// Records an operator that gives new tensors, or views.
fn record_new(call: &mut BoxedCall<'_>) -> Result<()> {
    let derivative = call.column::<Derivative>();
    call.below()?;
    if derivative.is_some_and(|derivative| derivative.rule().is_none()) {
        return Ok(());
    }
    let results = results_of(call);
    if !results.iter().any(|result| is_differentiable(result.dtype())) {
        return Ok(());
    }
    let (operator, args) = (call.operator(), call.args());
    let recorder =
        Recorder { operator, args, results: &results, written: None, draft: RefCell::new(Draft::default()) };
    let draft = drafted(recorder, derivative)?;
    let Draft { targets, parts, differentiable } = draft;
    if targets.is_empty() {
        return Ok(());
    }
    let parts = if derivative.is_some() { Parts::Owned(parts) } else { Parts::Missing };
    let node = Arc::new(Node::call(Subject::Operator(operator.clone()), results.len(), targets, parts));
    let is_argument = |result: &Tensor| args.iter().any(|value| is_tensor(*value, result));
    for (output, result) in results.iter().enumerate().take(differentiable.unwrap_or(usize::MAX)) {
        if is_differentiable(result.dtype()) && result.is_defined() && !is_argument(result) {
            Variable::lead(result, Edge::new(node.clone(), output))?;
        }
    }
    Ok(())
}

/// Asks the rule; without one, every argument that requires a gradient is a target.
pub(super) fn drafted(recorder: Recorder<'_>, derivative: Option<&Derivative>) -> Result<Draft> {
    match derivative {
        Some(derivative) => {
            if let Some(rule) = derivative.rule() {
                rule(&recorder, recorder.args).map_err(|error| {
                    error.within(format_args!("derivative of {}", recorder.operator.name()))
                })?;
            }
        }
        None => {
            let mut draft = recorder.draft.borrow_mut();
            for tensor in tensors_of(recorder.args) {
                if let Some(edge) = edge_of(tensor) {
                    draft.targets.push(Target::of(tensor, edge));
                }
            }
        }
    }
    Ok(recorder.draft.into_inner())
}

/// The tensors among the arguments, those in lists too.
pub(super) fn tensors_of<'a>(args: &'a [ValueRef<'a>]) -> impl Iterator<Item = &'a Tensor> {
    args.iter().flat_map(|value| {
        let found: SmallVec<[&Tensor; 4]> = match value.view() {
            ValueView::Tensor(tensor) => Tensor::from_any_ref(tensor).into_iter().collect(),
            ValueView::Tensors(list) => list.iter().filter_map(Tensor::from_any_ref).collect(),
            ValueView::OptionalTensors(list) => {
                list.iter().flatten().filter_map(Tensor::from_any_ref).collect()
            }
            _ => SmallVec::new(),
        };
        found
    })
}

fn is_tensor(value: ValueRef<'_>, tensor: &Tensor) -> bool {
    value.as_tensor().is_some_and(|other| other.is_same(tensor.as_any()))
}

/// The tensors among the results; the elements of a list one by one.
fn results_of(call: &mut BoxedCall<'_>) -> SmallVec<[Tensor; 2]> {
    let mut results = SmallVec::new();
    for value in call.returns().iter() {
        match value {
            Value::Tensor(tensor) => results.extend(Tensor::from_any_ref(tensor).cloned()),
            other => match other.borrow().view() {
                ValueView::Tensors(list) => {
                    results.extend(list.iter().filter_map(Tensor::from_any_ref).cloned());
                }
                // What is no tensor has a place, too, so that results are counted as in the schema.
                _ => results.push(Tensor::undefined()),
            },
        }
    }
    results
}
