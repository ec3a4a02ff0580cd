//! A tracer: a boxed fallback on the Tracer key that records every operator with its arguments and results.
//!
//! The recording is a list that can be replayed through boxed calls, with other inputs too: a tensor that an operator
//! made, or that the caller named as an input, stands in the list as a number.

use std::cell::RefCell;

use opgrid::dispatch::{BoxedCall, including};
use opgrid::prelude::*;
use opgrid::{Dispatcher, Kernel, OperatorHandle, Registration, Value};

/// What an argument of a recorded operator was.
#[derive(Clone, Debug)]
pub enum Operand {
    /// The tensor of that number: first the inputs, then the results of the operators in order.
    Slot(usize),
    /// Any other value, tensors that came from outside included.
    Constant(Value),
}

/// One operator of a recording.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The operator.
    pub operator: OperatorHandle,
    /// Its arguments, in the order of the schema.
    pub operands: Vec<Operand>,
    /// The number of the first of its results.
    pub first_result: usize,
}

/// A list of operators that can be replayed.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The operators, in the order in which they ran.
    pub instructions: Vec<Instruction>,
    inputs: usize,
    output: Operand,
}

/// The recording of this thread while it is made: what each number stands for.
struct Draft {
    instructions: Vec<Instruction>,
    values: Vec<Value>,
}

thread_local! {
    static DRAFT: RefCell<Option<Draft>> = const { RefCell::new(None) };
}

impl Draft {
    fn operand(&self, value: Value) -> Operand {
        let slot = self.values.iter().rposition(|known| matches!(known, Value::Tensor(_)) && *known == value);
        slot.map_or(Operand::Constant(value), Operand::Slot)
    }
}

/// The fallback: runs the operator below the Tracer key, then writes down what it was.
fn record(call: &mut BoxedCall<'_>) -> Result<()> {
    let arguments: Vec<Value> = call.args().iter().map(|argument| argument.to_value()).collect();
    call.below()?;
    let results: Vec<Value> = call.returns().iter().cloned().collect();
    let operator = call.operator().clone();
    DRAFT.with_borrow_mut(|draft| {
        if let Some(draft) = draft {
            let operands = arguments.into_iter().map(|argument| draft.operand(argument)).collect();
            draft.instructions.push(Instruction { operator, operands, first_result: draft.values.len() });
            draft.values.extend(results);
        }
    });
    Ok(())
}

/// Installs the tracer's fallback; until then calls step over the key.
///
/// # Errors
///
/// Those of the registration.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.implementations("_", DispatchKey::Tracer);
    library.fallback(Kernel::boxed(record));
    library.finish()
}

/// Takes the draft away however the traced function ends.
struct Cleared;

impl Drop for Cleared {
    fn drop(&mut self) {
        DRAFT.set(None);
    }
}

/// Runs `function` on `inputs` and records every operator that it calls on this thread.
///
/// # Errors
///
/// Those of `function`.
pub fn trace(
    inputs: &[Tensor],
    function: impl FnOnce(&[Tensor]) -> Result<Tensor>,
) -> Result<(Tensor, Recording)> {
    let values = inputs.iter().cloned().map(Value::from).collect();
    DRAFT.set(Some(Draft { instructions: Vec::new(), values }));
    let _cleared = Cleared;
    let result = including(DispatchKey::Tracer, || function(inputs))?;
    let draft = DRAFT.take().unwrap_or(Draft { instructions: Vec::new(), values: Vec::new() });
    let output = draft.operand(Value::from(result.clone()));
    Ok((result, Recording { instructions: draft.instructions, inputs: inputs.len(), output }))
}

impl Recording {
    /// Runs the recorded operators again, on other inputs, through boxed calls.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`] where the number of inputs differs; else those of the operators.
    pub fn replay(&self, inputs: &[Tensor]) -> Result<Tensor> {
        if inputs.len() != self.inputs {
            let message = format!("the recording has {} inputs but {} were given", self.inputs, inputs.len());
            return Err(Error::new(ErrorKind::Argument, message));
        }
        let mut values: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
        let read = |values: &[Value], operand: &Operand| match operand {
            Operand::Slot(number) => values[*number].clone(),
            Operand::Constant(value) => value.clone(),
        };
        for instruction in &self.instructions {
            let arguments = instruction.operands.iter().map(|operand| read(&values, operand)).collect();
            values.extend(instruction.operator.call_values(arguments)?);
        }
        read(&values, &self.output).try_into()
    }
}

impl std::fmt::Display for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for instruction in &self.instructions {
            let operand = |operand: &Operand| match operand {
                Operand::Slot(number) => format!("%{number}"),
                Operand::Constant(value) => value.to_string(),
            };
            let operands: Vec<_> = instruction.operands.iter().map(operand).collect();
            let name = instruction.operator.name();
            writeln!(f, "%{} = {name}({})", instruction.first_result, operands.join(", "))?;
        }
        match &self.output {
            Operand::Slot(number) => writeln!(f, "return %{number}"),
            Operand::Constant(value) => writeln!(f, "return {value}"),
        }
    }
}
