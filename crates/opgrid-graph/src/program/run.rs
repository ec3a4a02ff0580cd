//! The interpreter: runs the steps of a plan, each operator by an ordinary boxed call.

use opgrid_core::{
    Binder, DispatchKey, Explanation, OperatorHandle, Result, Returns, Value, ValueRef, excluding,
};
use opgrid_tensor::layers::{autocast, autograd};
use smallvec::SmallVec;

use super::compile::{fit, list};
use super::limits::StepsLeft;
use super::memory::PreparedArena;
use super::observe::{ExecutedNode, Observer};
use super::plan::{Action, Operand, Place, Plan, Step};
use crate::error;

/// How many arguments a call has without memory of its own.
const ARGUMENTS: usize = 10;

/// Runs a plan with a value for each parameter.
///
/// `ready` has places for the results of its steps.
pub(super) fn run<O: Observer>(
    plan: &Plan,
    inputs: Vec<Value>,
    ready: Option<&PreparedArena>,
    observer: &mut O,
    left: &mut StepsLeft,
    depth: usize,
) -> Result<Vec<Value>> {
    if inputs.len() != plan.parameters {
        return Err(error::argument(format!(
            "found {} values for a block, expected {}",
            inputs.len(),
            plan.parameters
        )));
    }
    let mut slots = inputs;
    slots.resize(plan.slots, Value::None);
    for (index, step) in plan.steps.iter().enumerate() {
        let place = At { step, index, count: plan.steps.len(), depth };
        let _offered = ready.and_then(|ready| ready.offers(index)).map(|(arena, places)| arena.offer(places));
        left.take()
            .and_then(|()| perform(place, &mut slots, observer, left))
            .map_err(|error| error.within(&step.subject))?;
        for slot in &step.frees {
            slots[*slot] = Value::None;
        }
    }
    plan.results.iter().map(|result| value(result, &slots)).collect()
}

/// A step and where it is.
#[derive(Clone, Copy)]
struct At<'p> {
    step: &'p Step,
    index: usize,
    count: usize,
    depth: usize,
}

impl<'p> At<'p> {
    fn executed(
        self,
        operator: Option<&'p OperatorHandle>,
        results: &'p [Value],
        explanation: Option<&'p Explanation>,
    ) -> ExecutedNode<'p> {
        let Self { step, index, count, depth } = self;
        ExecutedNode { step, index, count, depth, operator, results, explanation }
    }
}

fn perform<O: Observer>(
    at: At<'_>,
    slots: &mut [Value],
    observer: &mut O,
    left: &mut StepsLeft,
) -> Result<()> {
    let step = at.step;
    // Counted with its block, because one without nodes takes time, too.
    let mut block = |plan: &Plan, args: Vec<Value>| {
        left.take()?;
        run(plan, args, None, observer, left, at.depth + 1)
    };
    match &step.action {
        Action::Call { operator, binder, reuse } => {
            let reuse = reuse.as_deref().filter(|reuse| reuse.is_possible(&step.operands, slots));
            let operator = reuse.map_or(operator, |reuse| &reuse.operator);
            let mut returns = Returns::new();
            let explanation = call::<O>(operator, binder, &step.operands, slots, &mut returns)?;
            if O::IS_ACTIVE {
                let results: Vec<Value> =
                    (0..step.results.len()).map(|index| returns.take(index).unwrap_or_default()).collect();
                observer.executed(at.executed(Some(operator), &results, explanation.as_ref()))?;
                return keep_all(results, step, slots);
            }
            for (index, place) in step.results.iter().enumerate() {
                keep(returns.take(index).unwrap_or_default(), place, slots)?;
            }
            return Ok(());
        }
        Action::Number(function) => {
            let args = values(&step.operands, slots)?;
            let result = function(&args)?;
            step.results.first().map_or(Ok(()), |place| keep(result, place, slots))?;
        }
        Action::Cond { truth, branches } => {
            let mut args = values(&step.operands, slots)?;
            let condition = args.remove(0);
            let branch = if is_true(truth, &condition)? { &branches[0] } else { &branches[1] };
            keep_all(block(branch, args)?, step, slots)?;
        }
        Action::Loop { truth, blocks, carried } => {
            let mut args = values(&step.operands, slots)?;
            loop {
                let condition = block(&blocks[0], args.clone())?;
                if !is_true(truth, condition.first().unwrap_or(&Value::None))? {
                    break;
                }
                let next = block(&blocks[1], args.clone())?;
                args.splice(..*carried, next);
            }
            args.truncate(*carried);
            keep_all(args, step, slots)?;
        }
        Action::Scan(scan) => {
            let args = values(&step.operands, slots)?;
            keep_all(scan.run(args, &mut block)?, step, slots)?;
        }
        Action::Fused(fused) => {
            // Who looks at each node gets to see those of the group.
            let results = if O::IS_ACTIVE { None } else { fused.run(&step.operands, slots)? };
            let results = match results {
                Some(results) => results,
                None => block(&fused.block, values(&step.operands, slots)?)?,
            };
            keep_all(results, step, slots)?;
        }
        Action::SetGradEnabled { on, block: plan } => {
            let args = values(&step.operands, slots)?;
            let _mode = autograd::GradMode::new(*on);
            keep_all(block(plan, args)?, step, slots)?;
        }
        Action::Autocast { on, lower, block: plan } => {
            let args = values(&step.operands, slots)?;
            let results = match on {
                Some(true) => autocast::within(*lower, || block(plan, args)),
                Some(false) => excluding(DispatchKey::AutocastCpu, || block(plan, args)),
                None => block(plan, args),
            };
            keep_all(results?, step, slots)?;
        }
    }
    if O::IS_ACTIVE { observer.executed(at.executed(None, &[], None)) } else { Ok(()) }
}

/// Calls an operator. Values that are what the schema wants are lent where they lie.
fn call<O: Observer>(
    operator: &OperatorHandle,
    binder: &Binder,
    operands: &[Operand],
    slots: &[Value],
    returns: &mut Returns,
) -> Result<Option<Explanation>> {
    let mut fitted: SmallVec<[(usize, Value); 2]> = SmallVec::new();
    for (index, operand) in operands.iter().enumerate() {
        match operand {
            Operand::Constant(_) => {}
            Operand::Slot(slot) if matches!(slots[*slot], Value::Tensor(_)) => {}
            operand => fitted.push((index, fit(binder, index, value(operand, slots)?)?)),
        }
    }
    let mut next = fitted.iter().peekable();
    let mut args: SmallVec<[ValueRef<'_>; ARGUMENTS]> = SmallVec::with_capacity(operands.len());
    for (index, operand) in operands.iter().enumerate() {
        args.push(match (next.next_if(|(place, _)| *place == index), operand) {
            (Some((_, value)), _) | (None, Operand::Constant(value)) => value.borrow(),
            (None, Operand::Slot(slot)) => slots[*slot].borrow(),
            (None, Operand::List(..)) => {
                return Err(error::value("a list was not put together, which is a defect of opgrid"));
            }
        });
    }
    if O::EXPLAINS {
        let (result, explanation) = operator.call_explained(&args, returns)?;
        return result.map(|()| Some(explanation));
    }
    operator.call_boxed(&args, returns).map(|()| None)
}

fn value(operand: &Operand, slots: &[Value]) -> Result<Value> {
    match operand {
        Operand::Constant(value) => Ok(value.clone()),
        Operand::Slot(slot) => Ok(slots[*slot].clone()),
        Operand::List(element, items) => list(Some(element), values(items, slots)?),
    }
}

fn values(operands: &[Operand], slots: &[Value]) -> Result<Vec<Value>> {
    operands.iter().map(|operand| value(operand, slots)).collect()
}

fn keep(result: Value, place: &Place, slots: &mut [Value]) -> Result<()> {
    match place {
        Place::Nowhere => {}
        Place::Slot(slot) => slots[*slot] = result,
        Place::Slots(places) => {
            let items = if let Value::List(list) = &result { list.values() } else { Vec::new() };
            if items.len() != places.len() {
                return Err(error::value(format!(
                    "the result has {} elements, expected {} as when the program was exported",
                    items.len(),
                    places.len()
                )));
            }
            for (slot, item) in places.iter().zip(items) {
                slots[*slot] = item;
            }
        }
    }
    Ok(())
}

fn keep_all(results: Vec<Value>, step: &Step, slots: &mut [Value]) -> Result<()> {
    results.into_iter().zip(&step.results).try_for_each(|(result, place)| keep(result, place, slots))
}

/// The truth value of a condition: a bool, or a tensor of one element.
fn is_true(truth: &OperatorHandle, condition: &Value) -> Result<bool> {
    if let Value::Bool(value) = condition {
        return Ok(*value);
    }
    let result = truth.call_values(vec![condition.clone()])?;
    Ok(matches!(result.first(), Some(Value::Bool(true))))
}
