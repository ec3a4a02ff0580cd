//! Expressions as steps over blocks, and how these are run over arrays.

use opgrid_array::error::argument;
use opgrid_array::loops::access::{self, Aliasing};
use opgrid_array::{Array, Geometry};
use opgrid_core::{DType, Result};

use crate::expression::{Access, Expression};
use crate::generators;
use crate::layout::Loops;
use crate::level::Level;
use crate::operand::{self, Operand};
use crate::plan::Plan;
use crate::worker;

/// An [`Expression`] that can be run.
///
/// # Examples
///
/// ```
/// use opgrid_array::Array;
/// use opgrid_core::DType;
/// use opgrid_jit::{Access, Binary, Expression, Level, Program};
///
/// let mut expression = Expression::new();
/// let x = expression.load(DType::F32, Access::Elements)?;
/// let y = expression.load(DType::F32, Access::Elements)?;
/// let product = expression.binary(Binary::Multiply, x, y)?;
/// let sum = expression.binary(Binary::Add, product, y)?;
/// expression.store(sum)?;
/// let program = Program::new(expression, Level::best())?;
///
/// let x = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let y = Array::from_slice(&[10.0f32, 20.0], &[2])?;
/// let out = Array::empty(x.spec().clone())?;
/// program.run(&[&out], &[&x, &y])?;
/// assert_eq!(out.to_vec::<f32>()?, [20.0, 60.0, 40.0, 100.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Program {
    expression: Expression,
    plan: Plan,
    level: Level,
}

impl Program {
    /// Compiles an expression for a level, or for the best one of the processor if that is lower.
    ///
    /// Results have the same bits at every level, except that any NaN may stand for another.
    ///
    /// # Errors
    ///
    /// An expression without outputs.
    pub fn new(expression: Expression, level: Level) -> Result<Self> {
        if expression.outputs.is_empty() {
            return Err(argument("the expression has no outputs; add one with `store`"));
        }
        let level = level.min(Level::best());
        if let Some(assembler) = generators::for_level(level)
            && let Some(plan) = Plan::assembled(&expression, assembler.as_ref())?
        {
            return Ok(Self { expression, plan, level });
        }
        let plan = Plan::interpreted(&expression);
        Ok(Self { expression, plan, level: Level::Interpreter })
    }

    /// How the program computes.
    pub fn level(&self) -> Level {
        self.level
    }

    /// What the program computes.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// The dtypes of the outputs.
    pub fn output_dtypes(&self) -> impl Iterator<Item = DType> + '_ {
        self.expression.outputs.iter().map(|value| self.expression.dtype(*value))
    }

    /// The number of bytes of machine code.
    pub fn code_bytes(&self) -> usize {
        self.plan.code_bytes()
    }

    /// Computes the outputs, which have one shape, from inputs that broadcast to it; those of [`Access::Scalar`] have one element.
    ///
    /// Large loops are split between threads. Results do not depend on their number.
    ///
    /// # Errors
    ///
    /// Another number of arrays than the expression has, other dtypes, shapes that do not broadcast, an output that shares a storage
    /// with another array or repeats elements, arrays without data or used by others.
    pub fn run(&self, outputs: &[&Array], inputs: &[&Array]) -> Result<()> {
        self.check(outputs, inputs)?;
        let (loops, layouts) = Loops::new(&geometries(outputs), &geometries(inputs))?;
        let mut writers = outputs.iter().map(|array| array.storage().write()).collect::<Result<Vec<_>>>()?;
        let readers = inputs.iter().map(|array| array.storage().read()).collect::<Result<Vec<_>>>()?;
        if loops.numel == 0 {
            return Ok(());
        }
        let (of_outputs, of_inputs) = layouts.split_at(outputs.len());
        let mut targets = Vec::with_capacity(outputs.len());
        for (guard, array) in writers.iter_mut().zip(outputs) {
            targets.push(operand::target(guard, array)?);
        }
        let mut read = Vec::with_capacity(inputs.len());
        for ((reader, array), layout) in readers.iter().zip(inputs).zip(of_inputs) {
            read.push(Operand::read(reader, array, layout, &loops)?);
        }
        worker::run(&self.expression, &self.plan, &loops, (&targets, of_outputs), &read);
        Ok(())
    }

    fn check(&self, outputs: &[&Array], inputs: &[&Array]) -> Result<()> {
        let expected = (self.expression.outputs.len(), self.expression.inputs.len());
        if (outputs.len(), inputs.len()) != expected {
            return Err(argument(format!(
                "found {} outputs and {} inputs, expected {} and {}",
                outputs.len(),
                inputs.len(),
                expected.0,
                expected.1
            )));
        }
        for (output, value) in outputs.iter().zip(&self.expression.outputs) {
            output.expect_dtype(self.expression.dtype(*value))?;
        }
        for (array, input) in inputs.iter().zip(&self.expression.inputs) {
            array.expect_dtype(input.dtype)?;
            if input.access == Access::Scalar && array.geometry().numel() != 1 {
                return Err(argument(format!("an input of one element has shape {:?}", array.sizes())));
            }
        }
        for (k, output) in outputs.iter().enumerate() {
            access::check_written(output.geometry())?;
            let mut others = outputs[..k].iter().chain(inputs);
            if let Some(other) = others.find(|other| other.storage().is_same(output.storage())) {
                access::check(output, other, Aliasing::Never)?;
                let message =
                    "an output shares its storage with another array, expected a storage of its own";
                return Err(argument(message));
            }
        }
        Ok(())
    }
}

fn geometries<'a>(arrays: &[&'a Array]) -> Vec<&'a Geometry> {
    arrays.iter().map(|array| array.geometry()).collect()
}
