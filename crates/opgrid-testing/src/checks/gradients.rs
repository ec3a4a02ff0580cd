//! Gradients, and gradients of gradients, are those of small differences.
//!
//! Samples are there for their edges: numbers that are no numbers, ties, zeros, where functions have no derivative. So the
//! tensors of a sample keep their sizes and get other elements, all different; those of integers and bools stay.

use opgrid_core::schema::Argument;
use opgrid_core::{DType, Device, ErrorKind, List, Result, Scalar, TensorType, Value};
use opgrid_samples::{Given, Plain, Sample};
use opgrid_tensor::layers::autograd::{
    self, CheckOptions, Derivative, enable_grad, gradcheck, gradgradcheck,
};
use opgrid_tensor::{Complex, Tensor, manual_seed, ops};

use crate::draws::is_random;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};
use crate::target::guarded;

/// The ranges that elements are taken from, one for each sample in turn: some functions are defined only within them.
pub(super) const RANGES: [(f64, f64); 3] = [(0.15, 0.95), (-1.6, 1.6), (1.1, 2.4)];

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    on_case_up_to(case, 60, false)
}

pub(super) fn second_on_case(case: &Case<'_>) -> Vec<Verdict> {
    on_case_up_to(case, 16, true)
}

fn on_case_up_to(case: &Case<'_>, most: usize, second: bool) -> Vec<Verdict> {
    let is_exact = matches!(case.dtype, DType::F64 | DType::Complex128);
    let writes_output = case.subject.schema.arguments.iter().any(Argument::is_out);
    if !is_exact || writes_output || case.subject.target.device != Device::CPU || !has_gradients(case) {
        return Vec::new();
    }
    let ranges = RANGES.iter().cycle().skip(case.number % RANGES.len()).take(RANGES.len());
    for (low, high) in ranges {
        match checked(case, (*low, *high), most, second) {
            Ok(None) => {}
            Ok(Some(verdict)) => return vec![verdict],
            Err(fault) => return vec![Err(fault)],
        }
    }
    Vec::new()
}

/// Whether the dispatcher records derivatives, and the operator may have one.
pub(super) fn has_gradients(case: &Case<'_>) -> bool {
    let records = || {
        let x = Tensor::from_slice(&[1.0f64], &[1])?;
        x.requires_grad_(true)?;
        enable_grad(|| case.subject.target.dispatcher.call(ops::Exp, (&x,))).map(|x| x.requires_grad())
    };
    let is_constant =
        case.subject.operator.column::<Derivative>().is_ok_and(|it| it.is_some_and(|it| it.is_constant()));
    records().unwrap_or(false) && !is_constant
}

/// Checks a sample with elements of a range; nothing where that says nothing.
fn checked(case: &Case<'_>, range: (f64, f64), most: usize, second: bool) -> Result<Option<Verdict>, Fault> {
    let subject = case.subject;
    let sample = smooth(&case.sample, range);
    let arguments = subject.arguments(&subject.target, &sample, Memory::Contiguous).map_err(Fault::error)?;
    let inputs = with_leaves(case, &arguments).map_err(Fault::error)?;
    let elements: i64 = inputs.iter().filter(|input| input.requires_grad()).map(Tensor::numel).sum();
    if elements == 0 || elements > most as i64 {
        return Ok(None);
    }
    let function = |inputs: &[Tensor]| {
        let results = call_with(case, &arguments, inputs)?;
        let is_sought = |at: usize| {
            let result = subject.schema.returns.get(at);
            result.is_none_or(|result| !subject.samples.constants().contains(&result.name.as_str()))
        };
        let is_smooth = |result: &Tensor| result.dtype().is_floating_point() || result.dtype().is_complex();
        let sought =
            results.into_iter().enumerate().filter(|(at, result)| is_sought(*at) && is_smooth(result));
        Ok(sought.map(|(_, result)| result).collect::<Vec<_>>())
    };
    let ran = guarded(|| {
        subject.target.dispatcher.within(|| {
            // Elements of the range may be refused, such as numbers that are no probabilities.
            let Ok(results) = autograd::no_grad(|| function(&inputs)) else { return Ok(false) };
            let count: i64 = results.iter().map(Tensor::numel).sum();
            if count == 0 || count > 2 * most as i64 || !results.iter().all(is_fit) {
                return Ok(false);
            }
            let options = CheckOptions::default();
            if second {
                gradgradcheck(function, &inputs, CheckOptions { atol: 1e-4, ..options })?
            } else {
                gradcheck(function, &inputs, options)?
            }
            Ok(true)
        })
    });
    match ran {
        Ok(true) => Ok(Some(Ok(()))),
        Ok(false) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotImplemented => {
            Err(Fault::skipped("there is no derivative"))
        }
        Err(error) => Err(Fault::error(error)),
    }
}

/// The tensors among the arguments of a call; those of which it has a derivative require a gradient.
pub(super) fn with_leaves(case: &Case<'_>, arguments: &[Value]) -> Result<Vec<Tensor>> {
    let subject = case.subject;
    let is_constant = |at: usize| {
        let argument = subject.schema.arguments.get(at);
        argument.is_some_and(|argument| subject.samples.constants().contains(&argument.name.as_str()))
    };
    let mut inputs = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        for tensor in tensors_in(argument) {
            let tensor = tensor?;
            let is_exact = matches!(tensor.dtype(), DType::F64 | DType::Complex128);
            if is_exact && !is_constant(at) && !tensor.is_number() {
                tensor.requires_grad_(true)?;
            }
            inputs.push(tensor);
        }
    }
    Ok(inputs)
}

/// The results of a call with other tensors in its arguments, of which one that is written is copied.
pub(super) fn call_with(case: &Case<'_>, arguments: &[Value], inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let subject = case.subject;
    // What draws is checked alone; others must not be seeded meanwhile.
    if is_random(&case.expected) {
        manual_seed(7);
    }
    let writes = subject.schema.arguments.first().is_some_and(Argument::is_write);
    let mut given = inputs.iter().enumerate().map(|(at, input)| {
        if at == 0 && writes { ops::CloneTensor.call(input, None) } else { Ok(input.clone()) }
    });
    let arguments = arguments.iter().map(|argument| with_tensors(argument, &mut given));
    let arguments = arguments.collect::<Result<Vec<_>>>()?;
    Ok(tensors(&subject.target.call(&subject.operator, &arguments)?).unwrap_or_default())
}

/// Whether small differences can be told: numbers with all their digits.
pub(super) fn is_fit(tensor: &Tensor) -> bool {
    if !matches!(tensor.dtype(), DType::F64 | DType::Complex128) {
        return false;
    }
    let plain = Plain::from_tensor(tensor);
    plain.is_ok_and(|plain| plain.elements().iter().all(|element| element.to_complex().is_finite()))
}

/// The sample with other elements in the tensors that have gradients.
pub(super) fn smooth(sample: &Sample, (low, high): (f64, f64)) -> Sample {
    // Steps are all different, too, so that differences of elements do not tie.
    let (mut seed, mut step) = (0.37, 0.618_033_988_749_895_f64);
    let mut next = || {
        step = (step + 0.001_414_213_562_373) % 1.0;
        seed = (seed + step) % 1.0;
        low + (high - low) * seed
    };
    let mut plain = |plain: &Plain| match plain.dtype() {
        DType::F64 => {
            let elements: Vec<f64> = plain.elements().iter().map(|_| next()).collect();
            Plain::from_elements(plain.dtype(), plain.sizes(), &elements)
        }
        DType::Complex128 => {
            let elements: Vec<Scalar> =
                plain.elements().iter().map(|_| Scalar::Complex(Complex::new(next(), next()))).collect();
            Plain::from_elements(plain.dtype(), plain.sizes(), &elements)
        }
        _ => plain.clone(),
    };
    let mut other = |given: &Given| match given {
        Given::Tensor(tensor) => Given::Tensor(plain(tensor)),
        Given::Tensors(tensors) => Given::Tensors(tensors.iter().map(&mut plain).collect()),
        Given::OptionalTensors(tensors) => {
            Given::OptionalTensors(tensors.iter().map(|tensor| tensor.as_ref().map(&mut plain)).collect())
        }
        Given::Value(value) => Given::Value(value.clone()),
    };
    let mut sample = sample.clone();
    sample.positional.iter_mut().for_each(|given| *given = other(given));
    sample.keyword.iter_mut().for_each(|(_, given)| *given = other(given));
    sample
}

/// The tensors of an argument.
fn tensors_in(argument: &Value) -> Vec<Result<Tensor>> {
    match argument {
        Value::Tensor(tensor) => vec![Tensor::try_from(tensor.clone())],
        Value::List(list) => match &**list {
            List::Tensors(tensors) => tensors.iter().cloned().map(Tensor::try_from).collect(),
            List::OptionalTensors(tensors) => {
                tensors.iter().flatten().cloned().map(Tensor::try_from).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The argument with other tensors, in their order.
fn with_tensors(argument: &Value, tensors: &mut impl Iterator<Item = Result<Tensor>>) -> Result<Value> {
    let mut next = || match tensors.next() {
        Some(tensor) => tensor.map(Tensor::into_any),
        None => Ok(Tensor::undefined().into_any()),
    };
    Ok(match argument {
        Value::Tensor(_) => Value::Tensor(next()?),
        Value::List(list) => match &**list {
            List::Tensors(tensors) => tensors.iter().map(|_| next()).collect::<Result<Vec<_>>>()?.into(),
            List::OptionalTensors(tensors) => {
                let gaps = tensors.iter().map(|gap| gap.as_ref().map(|_| next()).transpose());
                List::OptionalTensors(gaps.collect::<Result<_>>()?).into()
            }
            _ => argument.clone(),
        },
        _ => argument.clone(),
    })
}
