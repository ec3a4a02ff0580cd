//! The interpreter: runs the steps of a plan, each operator by an ordinary boxed call.

use opgrid_core::{Binder, DispatchKey, OperatorHandle, Result, Returns, Value, ValueRef, excluding};
use opgrid_tensor::layers::{autocast, autograd};

use super::compile::{fit, list};
use super::plan::{Action, Operand, Place, Plan, Step};
use crate::error;

/// How often the body of a loop runs at most.
const MOST_ROUNDS: usize = 1 << 24;

/// Runs a plan with a value for each parameter.
pub(super) fn run(plan: &Plan, inputs: Vec<Value>) -> Result<Vec<Value>> {
    if inputs.len() != plan.parameters {
        return Err(error::argument(format!(
            "found {} values for a block, expected {}",
            inputs.len(),
            plan.parameters
        )));
    }
    let mut slots = inputs;
    slots.resize(plan.slots, Value::None);
    for step in &plan.steps {
        perform(step, &mut slots).map_err(|error| error.within(&step.subject))?;
        for slot in &step.frees {
            slots[*slot] = Value::None;
        }
    }
    plan.results.iter().map(|result| value(result, &slots)).collect()
}

fn perform(step: &Step, slots: &mut [Value]) -> Result<()> {
    match &step.action {
        Action::Call { operator, binder } => {
            let mut returns = Returns::new();
            call(operator, binder, &step.operands, slots, &mut returns)?;
            for (index, place) in step.results.iter().enumerate() {
                keep(returns.take(index).unwrap_or_default(), place, slots)?;
            }
            Ok(())
        }
        Action::Number(function) => {
            let args = values(&step.operands, slots)?;
            let result = function(&args)?;
            step.results.first().map_or(Ok(()), |place| keep(result, place, slots))
        }
        Action::Cond { truth, branches } => {
            let mut args = values(&step.operands, slots)?;
            let condition = args.remove(0);
            let branch = if is_true(truth, &condition)? { &branches[0] } else { &branches[1] };
            keep_all(run(branch, args)?, step, slots)
        }
        Action::Loop { truth, blocks, carried } => {
            let mut args = values(&step.operands, slots)?;
            for _ in 0..MOST_ROUNDS {
                let condition = run(&blocks[0], args.clone())?;
                if !is_true(truth, condition.first().unwrap_or(&Value::None))? {
                    args.truncate(*carried);
                    return keep_all(args, step, slots);
                }
                let next = run(&blocks[1], args.clone())?;
                args.splice(..*carried, next);
            }
            Err(error::value(format!(
                "the loop ran {MOST_ROUNDS} times, expected its condition to become false before"
            )))
        }
        Action::Scan(scan) => {
            let args = values(&step.operands, slots)?;
            keep_all(scan.run(args, run)?, step, slots)
        }
        Action::SetGradEnabled { on, block } => {
            let args = values(&step.operands, slots)?;
            let _mode = autograd::GradMode::new(*on);
            keep_all(run(block, args)?, step, slots)
        }
        Action::Autocast { on, lower, block } => {
            let args = values(&step.operands, slots)?;
            let results = match on {
                Some(true) => autocast::within(*lower, || run(block, args)),
                Some(false) => excluding(DispatchKey::AutocastCpu, || run(block, args)),
                None => run(block, args),
            };
            keep_all(results?, step, slots)
        }
    }
}

/// Calls an operator. Values that are what the schema wants are lent where they lie.
fn call(
    operator: &OperatorHandle,
    binder: &Binder,
    operands: &[Operand],
    slots: &[Value],
    returns: &mut Returns,
) -> Result<()> {
    let mut made: Vec<(usize, Value)> = Vec::new();
    for (index, operand) in operands.iter().enumerate() {
        match operand {
            Operand::Constant(_) => {}
            Operand::Slot(slot) if matches!(slots[*slot], Value::Tensor(_)) => {}
            operand => made.push((index, fit(binder, index, value(operand, slots)?)?)),
        }
    }
    let mut next = made.iter().peekable();
    let mut args: Vec<ValueRef<'_>> = Vec::with_capacity(operands.len());
    for (index, operand) in operands.iter().enumerate() {
        args.push(match (next.next_if(|(place, _)| *place == index), operand) {
            (Some((_, value)), _) | (None, Operand::Constant(value)) => value.borrow(),
            (None, Operand::Slot(slot)) => slots[*slot].borrow(),
            (None, Operand::List(..)) => {
                return Err(error::value("a list was not made, which is a defect of opgrid"));
            }
        });
    }
    operator.call_boxed(&args, returns)
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
