//! Results that take the memory of an argument which nobody needs afterwards: `relu_` in place of `relu`.
//!
//! A plan says where this is possible: the operator is pointwise and has an in-place form, it gives the dtype of its first argument, and no
//! later step reads that argument. Whether it happens is decided in each run, because only then is it known who holds the argument (the
//! caller, a view, the autograd graph or an observer may) and what the shapes are: what a graph declares of them is not relied on.

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{DType, Device, Dispatcher, OperatorHandle, TensorType as _, Value};
use opgrid_tensor::Tensor;

use super::effects::is_pointwise;
use super::plan::{Action, Operand, Step, each_slot};
use crate::graph::types::{TensorType, ValueType};

/// The in-place form of the operator of a step.
#[derive(Debug)]
pub(super) struct Reuse {
    pub(super) operator: OperatorHandle,
    /// Where the argument is that it writes.
    slot: usize,
    /// The dtype of that argument, which is that of the result.
    dtype: DType,
}

/// The in-place form of an operator, if its result has dtype and sizes of the first argument. `kinds` are the declared types of the
/// operands that are values.
pub(super) fn find(
    dispatcher: &Dispatcher,
    operator: &OperatorHandle,
    schema: &FunctionSchema,
    operands: &[Operand],
    kinds: &[Option<&ValueType>],
    result: Option<&ValueType>,
) -> Option<Box<Reuse>> {
    let Some(Operand::Slot(slot)) = operands.first() else { return None };
    let (Some(Some(ValueType::Tensor(input))), Some(ValueType::Tensor(result))) = (kinds.first(), result)
    else {
        return None;
    };
    let is_pure = schema.arguments.iter().all(|argument| argument.alias.is_none());
    let [returned] = schema.returns.as_slice() else { return None };
    if input != result || !is_pure || returned.alias.is_some() || !is_pointwise(operator) {
        return None;
    }
    let in_place = in_place(dispatcher, schema)?;
    let dtype = input.dtype;
    (result_dtype(operator, operands, kinds)? == dtype)
        .then(|| Box::new(Reuse { operator: in_place, slot: *slot, dtype }))
}

/// The overload that writes the result to the first argument, and takes the others as they are.
fn in_place(dispatcher: &Dispatcher, schema: &FunctionSchema) -> Option<OperatorHandle> {
    let name = format!("{}_", schema.name.name);
    let name =
        if schema.name.overload.is_empty() { name } else { format!("{name}.{}", schema.name.overload) };
    let operator = dispatcher.find(&name).ok()?;
    let found = operator.schema().ok()?;
    let is_alike = |(index, (own, other)): (usize, (&Argument, &Argument))| {
        own.name == other.name && own.real_type == other.real_type && other.is_write() == (index == 0)
    };
    let is_same = found.arguments.len() == schema.arguments.len()
        && schema.arguments.iter().zip(&found.arguments).enumerate().all(is_alike);
    is_same.then_some(operator)
}

/// The dtype that the operator gives for operands of these types, found by a call with tensors of one element without memory.
fn result_dtype(
    operator: &OperatorHandle,
    operands: &[Operand],
    kinds: &[Option<&ValueType>],
) -> Option<DType> {
    let one = |(operand, kind): (&Operand, &Option<&ValueType>)| match (operand, kind) {
        (Operand::Constant(value), _) => Some(value.clone()),
        (Operand::Slot(_), Some(ValueType::Tensor(TensorType { dtype, sizes }))) => {
            let sizes = vec![1; sizes.len()];
            Tensor::allocate_contiguous(&sizes, *dtype, Device::META).ok().map(|tensor| Value::from(&tensor))
        }
        _ => None,
    };
    let args = operands.iter().zip(kinds).map(one).collect::<Option<Vec<_>>>()?;
    match operator.call_values(args).ok()?.first()? {
        Value::Tensor(tensor) => Tensor::from_any_ref(tensor).map(Tensor::dtype),
        _ => None,
    }
}

/// Drops the in-place forms of steps whose argument is needed afterwards, or given twice.
pub(super) fn keep_possible(steps: &mut [Step]) {
    for step in steps {
        let Action::Call { reuse, .. } = &mut step.action else { continue };
        let Some(slot) = reuse.as_ref().map(|reuse| reuse.slot) else { continue };
        let mut count = 0;
        for operand in &step.operands {
            each_slot(operand, &mut |other| count += usize::from(other == slot));
        }
        if count != 1 || !step.frees.contains(&slot) {
            *reuse = None;
        }
    }
}

impl Reuse {
    /// Whether the argument may be written: nobody else sees its memory, no gradient is recorded that needs its value, and the result has
    /// its dtype and sizes.
    ///
    /// The result of a pointwise operator on contiguous tensors is contiguous, as this argument is asked to be; others might get other
    /// strides than the operator would give.
    pub(super) fn is_possible(&self, operands: &[Operand], slots: &[Value]) -> bool {
        let Value::Tensor(handle) = &slots[self.slot] else { return false };
        let Some(tensor) = Tensor::from_any_ref(handle) else { return false };
        handle.handle_count() == 1
            && tensor
                .array_spec()
                .is_some_and(|spec| spec.dtype() == self.dtype && spec.geometry().is_contiguous())
            && tensor.array().is_ok_and(|array| array.storage().is_private())
            && operands.iter().all(|operand| allows(operand, tensor, slots))
    }
}

/// Whether an operand leaves dtype and sizes of the result those of the input, and does not require a gradient.
fn allows(operand: &Operand, input: &Tensor, slots: &[Value]) -> bool {
    let handle = match operand {
        // What a constant does to the dtype is known since the plan was made.
        Operand::Constant(value) if !matches!(value, Value::Tensor(_)) => return true,
        Operand::Constant(Value::Tensor(handle)) => handle,
        Operand::Slot(slot) => match &slots[*slot] {
            Value::Tensor(handle) => handle,
            _ => return false,
        },
        Operand::Constant(_) | Operand::List(..) => return false,
    };
    let Some(tensor) = Tensor::from_any_ref(handle) else { return false };
    let (Some(own), Some(other)) = (input.array_spec(), tensor.array_spec()) else {
        // A number in a tensor's place, which the graph has as a constant.
        return tensor.is_number() && matches!(operand, Operand::Constant(_));
    };
    let is_within = other.sizes().len() <= own.sizes().len()
        && other
            .sizes()
            .iter()
            .rev()
            .zip(own.sizes().iter().rev())
            .all(|(other, own)| *other == 1 || other == own);
    is_within && !tensor.requires_grad() && (other.dtype() == own.dtype() || other.dtype() == DType::Bool)
}
