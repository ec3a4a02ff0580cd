//! The overload that takes an output writes there what the functional one gives; unfit outputs are refused.

use opgrid_core::{DType, Device, Result, Scalar, TensorType, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::samples::{Expected, Given, Plain};
use opgrid_tensor::tensor::can_cast;

use super::{Fault, Verdict};
use crate::agreement;
use crate::memory::Memory;
use crate::place::is_panic;
use crate::subject::Case;
use crate::variants::Variant;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let Expected::Tensor(result) = &case.expected else { return Vec::new() };
    let trials: [(&str, Run); 8] = [
        ("right shape", |trial| trial.fits(Memory::Contiguous)),
        ("strided", |trial| trial.fits(Memory::Stepped).and_then(|()| trial.fits(Memory::Transposed))),
        ("no elements", |trial| trial.without_elements()),
        ("wider dtype", |trial| trial.wider()),
        ("lower kind of dtype", |trial| trial.lower()),
        ("another shape", |trial| trial.another_shape()),
        ("repeated elements", |trial| trial.repeated()),
        ("overlap with an input", |trial| trial.overlapping()),
    ];
    let mut verdicts = Vec::new();
    if let Some(variant) = &case.subject.variants.output {
        let trial = Trial { case, variant, result };
        for (name, run) in trials {
            let about = format!("{} with an output of {name}", variant.operator.name());
            verdicts.push(run(&trial).map_err(|fault| fault.of(about)));
        }
    }
    verdicts
}

/// Tries one kind of output.
type Run = fn(&Trial<'_>) -> Verdict;

/// Calls of one overload with one sample.
struct Trial<'a> {
    case: &'a Case<'a>,
    variant: &'a Variant,
    result: &'a Plain,
}

impl Trial<'_> {
    /// Calls the overload with that output.
    fn call(&self, out: &Tensor) -> Result<Vec<Value>> {
        let subject = self.case.subject;
        let arguments = subject.arguments(&subject.place, &self.case.sample, Memory::Contiguous)?;
        self.call_with(arguments, out)
    }

    fn call_with(&self, arguments: Vec<Value>, out: &Tensor) -> Result<Vec<Value>> {
        let subject = self.case.subject;
        let declared = subject.schema.arguments.iter().zip(arguments);
        let taken =
            declared.filter(|(argument, _)| self.variant.schema.argument_index(&argument.name).is_some());
        let arguments: Vec<Value> = taken.map(|(_, value)| value).chain([Value::from(out)]).collect();
        subject.place.call(&self.variant.operator, &arguments)
    }

    /// An output with other numbers in it than the result.
    fn output(&self, dtype: DType, sizes: &[i64], memory: Memory) -> Result<Tensor, Fault> {
        let before = Plain::of(dtype, sizes, &[Scalar::Int(1)]);
        self.case.subject.place.tensor(&before, memory).map_err(Fault::error)
    }

    /// # Errors
    ///
    /// The output is not the result, or has other elements than it.
    fn judge(&self, values: &[Value], out: &Tensor, dtype: DType) -> Verdict {
        if !matches!(values, [Value::Tensor(only)] if only.is_same(out.as_any())) {
            return Err(Fault::wrong(format!("{values:?}"), "the output itself"));
        }
        let found = self.case.subject.place.read(out)?;
        agreement::elements(&found, &self.result.to(dtype), self.case.subject.samples.eps_count())
    }

    /// # Errors
    ///
    /// The output was taken, or written though it was refused.
    fn judge_refusal(&self, out: &Tensor, why: &str) -> Verdict {
        let place = &self.case.subject.place;
        let before = place.read(out)?;
        match self.call(out) {
            Err(error) if is_panic(&error) => Err(Fault::error(error)),
            Err(_) => agreement::elements(&place.read(out)?, &before, 0.0)
                .map_err(|fault| fault.of("after it was refused")),
            Ok(_) => Err(Fault::wrong("a result", format!("an error, for {why}"))),
        }
    }

    fn fits(&self, memory: Memory) -> Verdict {
        let out = self.output(self.result.dtype(), self.result.sizes(), memory)?;
        let values = self.call(&out).map_err(Fault::error)?;
        self.judge(&values, &out, self.result.dtype())
    }

    /// An output without elements gets the shape; a device whose tensors cannot change theirs may refuse.
    fn without_elements(&self) -> Verdict {
        let out = self.output(self.result.dtype(), &[0], Memory::Contiguous)?;
        match self.call(&out) {
            Ok(values) => self.judge(&values, &out, self.result.dtype()),
            Err(error) if self.case.subject.place.device == Device::CPU || is_panic(&error) => {
                Err(Fault::error(error))
            }
            Err(_) => Ok(()),
        }
    }

    /// An output of a dtype that holds all results is written, or refused where no dtype is converted.
    fn wider(&self) -> Verdict {
        let out = self.output(DType::Complex128, self.result.sizes(), Memory::Contiguous)?;
        match self.call(&out) {
            Ok(values) => {
                self.judge(&values, &out, DType::Complex128).or_else(|fault| self.in_wider_dtype(&out, fault))
            }
            Err(error) if is_panic(&error) => Err(Fault::error(error)),
            Err(_) => Ok(()),
        }
    }

    /// What is computed in the dtype of the output is not rounded to that of the result first.
    fn in_wider_dtype(&self, out: &Tensor, fault: Fault) -> Verdict {
        let found = self.case.subject.place.read(out)?.to(self.result.dtype());
        let tolerance = self.case.subject.samples.eps_count() + 1.0;
        agreement::elements(&found, self.result, tolerance).map_err(|_| fault)
    }

    fn lower(&self) -> Verdict {
        if !self.case.subject.samples.refuses_low_outputs() {
            return Err(Fault::skipped("the dtype of the output decides"));
        }
        let dtype = self.result.dtype();
        let lower =
            [DType::Bool, DType::I64, DType::F64].into_iter().rev().find(|lower| !can_cast(dtype, *lower));
        let Some(lower) = lower else { return Err(Fault::skipped("every dtype holds bools")) };
        let out = self.output(lower, self.result.sizes(), Memory::Contiguous)?;
        self.judge_refusal(&out, &format!("{lower} does not hold {dtype}"))
    }

    fn another_shape(&self) -> Verdict {
        let more = self.result.elements().len() as i64 + 1;
        let out = self.output(self.result.dtype(), &[more], Memory::Contiguous)?;
        self.judge_refusal(&out, "the output has another shape")
    }

    fn repeated(&self) -> Verdict {
        if self.result.elements().len() < 2 {
            return Ok(());
        }
        let place = &self.case.subject.place;
        let one = self.output(self.result.dtype(), &[1], Memory::Contiguous)?;
        let strides = vec![0; self.result.sizes().len()];
        let out = place.window(&one, self.result.sizes(), &strides, 0).map_err(Fault::error)?;
        self.judge_refusal(&out, "the output repeats an element")
    }

    /// The output begins one element behind the first input, in the same memory. Who writes only after everything was
    /// read may do so.
    fn overlapping(&self) -> Verdict {
        let (subject, dtype) = (self.case.subject, self.result.dtype());
        let Some(Given::Tensor(input)) = self.case.sample.positional.first() else { return Ok(()) };
        if input.dtype() != dtype || input.elements().len() < 2 || self.result.elements().len() < 2 {
            return Ok(());
        }
        let place = &subject.place;
        let count = input.elements().len().max(self.result.elements().len() + 1) as i64;
        let memory = Plain::of(dtype, &[count], input.elements());
        let memory = place.tensor(&memory, Memory::Contiguous).map_err(Fault::error)?;
        let view = |sizes: &[i64], offset| {
            let (strides, _) = Memory::Contiguous.strides(sizes);
            place.window(&memory, sizes, &strides, offset).map_err(Fault::error)
        };
        let (first, out) = (view(input.sizes(), 0)?, view(self.result.sizes(), 1)?);
        let arguments = subject.arguments(place, &self.case.sample, Memory::Contiguous);
        let mut arguments = arguments.map_err(Fault::error)?;
        arguments[0] = Value::from(&first);
        match self.call_with(arguments, &out) {
            Err(error) if is_panic(&error) => Err(Fault::error(error)),
            Err(_) => Ok(()),
            Ok(values) => self.judge(&values, &out, dtype),
        }
    }
}
