//! Records calls: the layer's kernel under every operator.

use std::cell::RefCell;
use std::sync::Arc;

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{
    BoxedCall, Error, OperatorHandle, Result, Returns, TensorType, Value, ValueRef, ValueView,
};
use smallvec::SmallVec;

use super::backward::is_differentiable;
use super::history;
use super::node::{Edge, Kept, Node, Subject, Target};
use super::rule::{Derivative, Recorder, Told};
use super::variable::{Variable, edge_of};
use crate::error::argument;
use crate::tensor::Tensor;

/// The kernel. It runs only for calls with an argument that requires a gradient, on threads that record.
pub(super) fn record(call: &mut BoxedCall<'_>) -> Result<()> {
    match call.schema().map_or(Writes::Nothing, writes) {
        Writes::Nothing => record_new(call),
        Writes::First => history::record_in_place(call),
        Writes::Others => history::record_writes(call),
        Writes::Output => Err(argument(format!(
            "{}: gradients do not pass through `out` forms, but an argument requires one; use the \
             functional form, or disable recording",
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
    /// Others, or its first argument without giving it back.
    Others,
}

fn writes(schema: &FunctionSchema) -> Writes {
    let mut found = Writes::Nothing;
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
        found = Writes::Others;
    }
    found
}

/// The tensors among the arguments that the schema says are written.
pub(super) fn written_arguments<'a>(
    schema: &'a FunctionSchema,
    args: &'a [ValueRef<'a>],
) -> impl Iterator<Item = &'a Tensor> {
    let is_written = |argument: &Argument| argument.alias.as_ref().is_some_and(|alias| alias.is_write);
    let written = schema.arguments.iter().zip(args).filter(move |(argument, _)| is_written(argument));
    written.flat_map(|(_, value)| tensors_of(std::slice::from_ref(value)))
}

/// Records an operator that gives new tensors, or views.
pub(super) fn record_new(call: &mut BoxedCall<'_>) -> Result<()> {
    let derivative = call.column::<Derivative>();
    call.below()?;
    if derivative.is_some_and(|derivative| derivative.rule().is_none()) {
        return Ok(());
    }
    let (operator, args) = (call.operator(), call.args());
    let returns = call.returns();
    // Nearly every operator has one result.
    match returns.value(0).and_then(|value| value.borrow().as_tensor()).and_then(Tensor::from_any_ref) {
        Some(result) if returns.len() == 1 => {
            record_results(operator, args, std::slice::from_ref(result), derivative)
        }
        _ => record_results(operator, args, &results_of(returns), derivative),
    }
}

/// Has the results lead to a node, if gradients go on from them.
fn record_results(
    operator: &OperatorHandle,
    args: &[ValueRef<'_>],
    results: &[Tensor],
    derivative: Option<&Derivative>,
) -> Result<()> {
    if !results.iter().any(|result| is_differentiable(result.dtype())) {
        return Ok(());
    }
    // What the rule tells is written where it stays.
    let mut node = Arc::new(Node::untold(Subject::Operator(operator.clone()), results.len()));
    let own = Arc::get_mut(&mut node).expect("nobody else has the node yet");
    let told = own.tell(|targets, kept| {
        let Kept::Owned(formulas) = kept else { unreachable!("nobody has used the node yet") };
        let told = RefCell::new(Told { targets, formulas, differentiable: None });
        let told = ask(&Recorder { operator, args, results, written: None, told }, derivative)?;
        if derivative.is_none() {
            *kept = Kept::Missing;
        }
        Ok::<_, Error>(told)
    })?;
    if !told.any_target {
        return Ok(());
    }
    let is_argument = |result: &Tensor| args.iter().any(|value| is_tensor(*value, result));
    let mut leading = results
        .iter()
        .enumerate()
        .take(told.differentiable.unwrap_or(usize::MAX))
        .filter(|(_, result)| {
            is_differentiable(result.dtype()) && result.is_defined() && !is_argument(result)
        })
        .peekable();
    // The last result takes the node itself, the others count another handle of it.
    let mut node = Some(node);
    while let Some((output, result)) = leading.next() {
        let own = if leading.peek().is_some() { node.clone() } else { node.take() };
        if let Some(node) = own {
            Variable::lead(result, Edge::new(node, output))?;
        }
    }
    Ok(())
}

/// What follows from what a rule has told.
pub(super) struct Answer {
    pub(super) any_target: bool,
    pub(super) differentiable: Option<usize>,
}

/// Asks the rule; without one, every argument that requires a gradient is a target.
pub(super) fn ask(recorder: &Recorder<'_>, derivative: Option<&Derivative>) -> Result<Answer> {
    match derivative {
        Some(derivative) => {
            if let Some(rule) = derivative.rule() {
                rule(recorder, recorder.args).map_err(|error| {
                    error.within(format_args!("derivative of {}", recorder.operator.name()))
                })?;
            }
        }
        None => {
            let told = &mut *recorder.told.borrow_mut();
            for tensor in tensors_of(recorder.args) {
                if let Some(edge) = edge_of(tensor)? {
                    told.targets.push(Target::from_tensor(tensor, edge));
                }
            }
        }
    }
    let told = recorder.told.borrow();
    Ok(Answer { any_target: !told.targets.is_empty(), differentiable: told.differentiable })
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
fn results_of(returns: &Returns) -> SmallVec<[Tensor; 2]> {
    let mut results = SmallVec::new();
    for value in returns.iter() {
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
