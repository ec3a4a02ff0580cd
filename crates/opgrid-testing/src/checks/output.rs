//! The overload that takes an output writes there what the functional one gives; unfit outputs are refused.

use opgrid_core::schema::{Argument, Type};
use opgrid_core::{DType, Device, Result, Scalar, TensorType, Value};
use opgrid_samples::{Expected, Given, Plain};
use opgrid_tensor::Tensor;
use opgrid_tensor::tensor::can_cast;

use crate::agreement;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::Case;
use crate::target::is_panic;
use crate::variants::Variant;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let Some(results) = results(&case.expected) else { return Vec::new() };
    let trials: [(&str, Run); 11] = [
        ("right shape", |trial| trial.fits(Memory::Contiguous)),
        ("strided", |trial| trial.fits(Memory::Stepped).and_then(|()| trial.fits(Memory::Transposed))),
        ("no elements", |trial| trial.without_elements()),
        ("wider dtype", |trial| trial.wider()),
        ("lower kind of dtype", |trial| trial.lower()),
        ("another shape", |trial| trial.another_shape()),
        ("repeated elements", |trial| trial.repeated()),
        ("one tensor for two results", |trial| trial.shared()),
        ("overlap with an input", |trial| trial.overlapping()),
        ("the memory of inputs, apart from them", |trial| trial.beside()),
        ("the memory of another, apart from it", |trial| trial.side_by_side()),
    ];
    let mut verdicts = Vec::new();
    if let Some(variant) = &case.subject.variants.output {
        let trial = Trial { case, variant, results };
        for (name, run) in trials {
            let about = format!("{} with an output of {name}", variant.operator.name());
            verdicts.push(run(&trial).map_err(|fault| fault.about(about)));
        }
    }
    verdicts
}

/// The expected results, if all of their elements are known.
fn results(expected: &Expected) -> Option<Vec<&Plain>> {
    fn plain(expected: &Expected) -> Option<&Plain> {
        match expected {
            Expected::Tensor(result) => Some(result),
            _ => None,
        }
    }
    match expected {
        Expected::Several(results) => results.iter().map(plain).collect(),
        expected => plain(expected).map(|result| vec![result]),
    }
}

/// What an output of the shape and dtype of a result holds before: other numbers.
fn before(result: &Plain) -> Plain {
    Plain::from_elements(result.dtype(), result.sizes(), &[Scalar::Int(1)])
}

/// Tries one kind of output.
type Run = fn(&Trial<'_>) -> Verdict;

/// Calls of one overload with one sample.
struct Trial<'a> {
    case: &'a Case<'a>,
    variant: &'a Variant,
    results: Vec<&'a Plain>,
}

impl Trial<'_> {
    /// Calls the overload with those outputs.
    fn call(&self, outputs: &[Tensor]) -> Result<Vec<Value>> {
        let subject = self.case.subject;
        let arguments = subject.arguments(&subject.target, &self.case.sample, Memory::Contiguous)?;
        self.call_with(arguments, outputs)
    }

    fn call_with(&self, arguments: Vec<Value>, outputs: &[Tensor]) -> Result<Vec<Value>> {
        let subject = self.case.subject;
        let declared = subject.schema.arguments.iter().zip(arguments);
        let taken =
            declared.filter(|(argument, _)| self.variant.schema.argument_index(&argument.name).is_some());
        let mut arguments: Vec<Value> = taken.map(|(_, value)| value).collect();
        if self.writes_list() {
            arguments.push(outputs.to_vec().into());
        } else {
            arguments.extend(outputs.iter().map(Value::from));
        }
        subject.target.call(&self.variant.operator, &arguments)
    }

    /// Whether the outputs are the tensors of one list, which the overload does not return.
    fn writes_list(&self) -> bool {
        let mut outputs = self.variant.schema.arguments.iter().filter(|argument| argument.is_out());
        outputs.any(|output: &Argument| output.real_type == Type::List(Box::new(Type::Tensor)))
    }

    /// An output with other numbers in it than the result.
    fn output(&self, dtype: DType, sizes: &[i64], memory: Memory) -> Result<Tensor, Fault> {
        let before = Plain::from_elements(dtype, sizes, &[Scalar::Int(1)]);
        self.case.subject.target.tensor(&before, memory).map_err(Fault::error)
    }

    /// Outputs for all results.
    fn outputs(&self, of: impl Fn(&Plain) -> Result<Tensor, Fault>) -> Result<Vec<Tensor>, Fault> {
        self.results.iter().map(|result| of(result)).collect()
    }

    /// # Errors
    ///
    /// The outputs are not the results, or have other elements than they.
    fn judge(&self, values: &[Value], outputs: &[Tensor]) -> Verdict {
        let is_output = |(value, out): (&Value, &Tensor)| matches!(value, Value::Tensor(tensor) if tensor.is_same(out.as_any()));
        let expected = if self.writes_list() { 0 } else { outputs.len() };
        if values.len() != expected || !values.iter().zip(outputs).all(is_output) {
            return Err(Fault::wrong(format!("{values:?}"), "the outputs themselves"));
        }
        for (out, result) in outputs.iter().zip(&self.results) {
            let found = self.case.subject.target.read(out)?;
            agreement::elements(&found, &result.to(out.dtype()), self.case.subject.samples.eps_count())?;
        }
        Ok(())
    }

    /// # Errors
    ///
    /// The outputs were taken, or written though they were refused.
    fn judge_refusal(&self, outputs: &[Tensor], why: &str) -> Verdict {
        let target = &self.case.subject.target;
        let read = || outputs.iter().map(|out| target.read(out)).collect::<Result<Vec<_>, _>>();
        let before = read()?;
        match self.call(outputs) {
            Err(error) if is_panic(&error) => Err(Fault::error(error)),
            Err(_) => read()?.iter().zip(&before).try_for_each(|(after, before)| {
                agreement::elements(after, before, 0.0).map_err(|fault| fault.about("after it was refused"))
            }),
            Ok(_) => Err(Fault::wrong("a result", format!("an error, for {why}"))),
        }
    }

    fn fits(&self, memory: Memory) -> Verdict {
        let outputs = self.outputs(|result| self.output(result.dtype(), result.sizes(), memory))?;
        let values = self.call(&outputs).map_err(Fault::error)?;
        self.judge(&values, &outputs)
    }

    /// Outputs without elements get the shape; a device whose tensors cannot change theirs may refuse.
    fn without_elements(&self) -> Verdict {
        let outputs = self.outputs(|result| self.output(result.dtype(), &[0], Memory::Contiguous))?;
        match self.call(&outputs) {
            Ok(values) => self.judge(&values, &outputs),
            Err(error) if self.case.subject.target.device == Device::CPU || is_panic(&error) => {
                Err(Fault::error(error))
            }
            Err(_) => Ok(()),
        }
    }

    /// An output of a dtype that holds all results is written, or refused where no dtype is converted.
    fn wider(&self) -> Verdict {
        let outputs =
            self.outputs(|result| self.output(DType::Complex128, result.sizes(), Memory::Contiguous))?;
        match self.call(&outputs) {
            Ok(values) => self.judge(&values, &outputs).or_else(|fault| self.in_wider_dtype(&outputs, fault)),
            Err(error) if is_panic(&error) => Err(Fault::error(error)),
            Err(_) => Ok(()),
        }
    }

    /// What is computed in the dtype of the output is not rounded to that of the result first.
    fn in_wider_dtype(&self, outputs: &[Tensor], fault: Fault) -> Verdict {
        let tolerance = self.case.subject.samples.eps_count() + 1.0;
        for (out, result) in outputs.iter().zip(&self.results) {
            let found = self.case.subject.target.read(out)?.to(result.dtype());
            agreement::elements(&found, result, tolerance).map_err(|_| fault.clone())?;
        }
        Ok(())
    }

    fn lower(&self) -> Verdict {
        if !self.case.subject.samples.refuses_low_outputs() {
            return Err(Fault::skipped("the dtype of the output decides"));
        }
        let lower =
            |dtype| [DType::F64, DType::I64, DType::Bool].into_iter().find(|lower| !can_cast(dtype, *lower));
        if self.results.iter().all(|result| lower(result.dtype()).is_none()) {
            return Err(Fault::skipped("every dtype holds bools"));
        }
        let outputs = self.outputs(|result| {
            self.output(lower(result.dtype()).unwrap_or(result.dtype()), result.sizes(), Memory::Contiguous)
        })?;
        self.judge_refusal(&outputs, "an output's dtype does not hold the result's")
    }

    /// Each output in turn has another shape than the result, the others fit.
    fn another_shape(&self) -> Verdict {
        for wrong in 0..self.results.len() {
            let more = self.results[wrong].elements().len() as i64 + 1;
            let mut outputs =
                self.outputs(|result| self.output(result.dtype(), result.sizes(), Memory::Contiguous))?;
            outputs[wrong] = self.output(self.results[wrong].dtype(), &[more], Memory::Contiguous)?;
            self.judge_refusal(&outputs, "an output has another shape")?;
        }
        Ok(())
    }

    fn repeated(&self) -> Verdict {
        if self.results.iter().all(|result| result.elements().len() < 2) {
            return Ok(());
        }
        let target = &self.case.subject.target;
        let outputs = self.outputs(|result| {
            let one = self.output(result.dtype(), &[1], Memory::Contiguous)?;
            let strides = vec![0; result.sizes().len()];
            match result.elements().len() {
                0 => self.output(result.dtype(), result.sizes(), Memory::Contiguous),
                _ => target.window(&one, result.sizes(), &strides, 0).map_err(Fault::error),
            }
        })?;
        self.judge_refusal(&outputs, "an output repeats an element")
    }

    /// The first two outputs are one tensor.
    fn shared(&self) -> Verdict {
        let (Some(first), Some(second)) = (self.results.first(), self.results.get(1)) else { return Ok(()) };
        let is_alike = first.sizes() == second.sizes() && first.dtype() == second.dtype();
        if !is_alike || first.elements().is_empty() {
            return Ok(());
        }
        let mut outputs =
            self.outputs(|result| self.output(result.dtype(), result.sizes(), Memory::Contiguous))?;
        outputs[1] = outputs[0].clone();
        self.judge_refusal(&outputs, "two outputs are one tensor")
    }

    /// The first two outputs lie in one memory, one after another, if they are of one dtype.
    fn side_by_side(&self) -> Verdict {
        let [first, second, ..] = self.results[..] else { return Ok(()) };
        if first.dtype() != second.dtype() {
            return Ok(());
        }
        let before = [first, second].map(before);
        let placed = self.case.subject.target.side_by_side(first.dtype(), &[&before[0], &before[1]]);
        let mut outputs =
            self.outputs(|result| self.output(result.dtype(), result.sizes(), Memory::Contiguous))?;
        outputs.splice(..2, placed.map_err(Fault::error)?);
        let values = self.call(&outputs).map_err(Fault::error)?;
        self.judge(&values, &outputs)
    }

    /// The output begins one element behind the first input, in the same memory. Who writes only after everything was
    /// read may do so.
    fn overlapping(&self) -> Verdict {
        let [result] = self.results[..] else { return Ok(()) };
        let (subject, dtype) = (self.case.subject, result.dtype());
        let Some(Given::Tensor(input)) = self.case.sample.positional.first() else { return Ok(()) };
        if input.dtype() != dtype || input.elements().len() < 2 || result.elements().len() < 2 {
            return Ok(());
        }
        let target = &subject.target;
        let count = input.elements().len().max(result.elements().len() + 1) as i64;
        let memory = Plain::from_elements(dtype, &[count], input.elements());
        let memory = target.tensor(&memory, Memory::Contiguous).map_err(Fault::error)?;
        let view = |sizes: &[i64], offset| {
            let (strides, _) = Memory::Contiguous.strides(sizes);
            target.window(&memory, sizes, &strides, offset).map_err(Fault::error)
        };
        let (first, out) = (view(input.sizes(), 0)?, view(result.sizes(), 1)?);
        let arguments = subject.arguments(target, &self.case.sample, Memory::Contiguous);
        let mut arguments = arguments.map_err(Fault::error)?;
        arguments[0] = Value::from(&first);
        let outputs = [out];
        match self.call_with(arguments, &outputs) {
            Err(error) if is_panic(&error) => Err(Fault::error(error)),
            Err(_) => Ok(()),
            Ok(values) => self.judge(&values, &outputs),
        }
    }

    /// Each output in turn lies in one memory with all inputs of its dtype, and shares no element with them.
    fn beside(&self) -> Verdict {
        for (at, result) in self.results.iter().enumerate() {
            let neighbours =
                self.case.subject.neighbours(&self.case.sample, result.dtype(), &[&before(result)]);
            let (arguments, placed) = neighbours.map_err(Fault::error)?;
            let mut outputs =
                self.outputs(|result| self.output(result.dtype(), result.sizes(), Memory::Contiguous))?;
            outputs.splice(at..=at, placed);
            let values = self.call_with(arguments, &outputs).map_err(Fault::error)?;
            self.judge(&values, &outputs)?;
        }
        Ok(())
    }
}
