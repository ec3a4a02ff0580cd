//! Results that take the memory of an argument which nobody needs afterwards: `relu_` in place of `relu`.
//!
//! A plan says where this is possible: the operator has an in-place form, and the result has the dtype and the sizes of its first
//! argument, which no later step reads. Whether it happens is decided in each run, because only then is it known who holds the
//! argument: the caller, a view, the autograd graph or an observer may.

use opgrid_core::schema::{Argument, FunctionSchema, Type};
use opgrid_core::{Dispatcher, OperatorHandle, TensorType as _, Value};
use opgrid_tensor::Tensor;

use super::plan::{Action, Operand, Step};
use crate::graph::types::ValueType;

/// The in-place form of the operator of a step.
#[derive(Debug)]
pub(super) struct Reuse {
    pub(super) operator: OperatorHandle,
    /// Where the argument is that it writes.
    slot: usize,
}

/// The in-place form of a call, where its result is as `input`, the first argument, is.
pub(super) fn find(
    dispatcher: &Dispatcher,
    schema: &FunctionSchema,
    operands: &[Operand],
    input: Option<&ValueType>,
    result: Option<&ValueType>,
) -> Option<Box<Reuse>> {
    let Some(Operand::Slot(slot)) = operands.first() else { return None };
    let (Some(ValueType::Tensor(input)), Some(ValueType::Tensor(result))) = (input, result) else {
        return None;
    };
    let is_pure = schema.arguments.iter().all(|argument| argument.alias.is_none());
    let [returned] = schema.returns.as_slice() else { return None };
    if input != result || !is_pure || returned.alias.is_some() || returned.real_type != Type::Tensor {
        return None;
    }
    let name = format!("{}_", schema.name.name);
    let full =
        if schema.name.overload.is_empty() { name } else { format!("{name}.{}", schema.name.overload) };
    let operator = dispatcher.find(&full).ok()?;
    let found = operator.schema().ok()?;
    let is_alike = |(index, (own, other)): (usize, (&Argument, &Argument))| {
        let is_written = other.is_write();
        own.name == other.name && own.real_type == other.real_type && is_written == (index == 0)
    };
    let is_in_place = found.arguments.len() == schema.arguments.len()
        && schema.arguments.iter().zip(&found.arguments).enumerate().all(is_alike);
    is_in_place.then(|| Box::new(Reuse { operator, slot: *slot }))
}

/// Drops the in-place forms of steps whose argument is needed afterwards, or given twice.
pub(super) fn keep_possible(steps: &mut [Step]) {
    for step in steps {
        let Action::Call { reuse, .. } = &mut step.action else { continue };
        let Some(slot) = reuse.as_ref().map(|reuse| reuse.slot) else { continue };
        let mut count = 0;
        for operand in &step.operands {
            super::plan::each_slot(operand, &mut |other| count += usize::from(other == slot));
        }
        if count != 1 || !step.frees.contains(&slot) {
            *reuse = None;
        }
    }
}

impl Reuse {
    /// Whether the argument may be written: nobody else sees its memory, and no gradient is recorded that needs its value.
    ///
    /// The result of an operator on contiguous tensors is contiguous, as this argument is asked to be; others might get other strides
    /// than the operator would give.
    pub(super) fn is_possible(&self, operands: &[Operand], slots: &[Value]) -> bool {
        let Value::Tensor(handle) = &slots[self.slot] else { return false };
        let Some(tensor) = Tensor::from_any_ref(handle) else { return false };
        handle.handle_count() == 1
            && tensor.array_spec().is_some_and(|spec| spec.geometry().is_contiguous())
            && tensor.array().is_ok_and(|array| array.storage().is_private())
            && operands.iter().all(|operand| allows(operand, tensor, slots))
    }
}

/// Whether an operand leaves the dtype of the result alone and does not require a gradient.
fn allows(operand: &Operand, input: &Tensor, slots: &[Value]) -> bool {
    let value = match operand {
        Operand::Slot(slot) => &slots[*slot],
        Operand::Constant(value) => value,
        // Lists of tensors that are put together when the step runs; few in-place forms take one.
        Operand::List(..) => return false,
    };
    let handle = match value {
        Value::Tensor(handle) => handle,
        Value::List(list) => return !list.values().iter().any(|item| matches!(item, Value::Tensor(_))),
        _ => return true,
    };
    let Some(tensor) = Tensor::from_any_ref(handle) else { return false };
    let is_number = tensor.is_number() || tensor.array_spec().is_some_and(|spec| spec.sizes().is_empty());
    !tensor.requires_grad()
        && (is_number || tensor.dtype() == input.dtype() || tensor.dtype() == opgrid_core::DType::Bool)
}
