//! Calls that vary the samples of operators: arguments that have to fit each other, as the matrices of a chain or an index
//! and what it leads into, are seldom met by chance. Sizes, elements, dtypes and places in memory differ from the sample.

use std::borrow::Cow;

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{Complex64, DType, List, Value};
use opgrid_samples::{Given, Plain, Sample};

use super::build::Builder;
use super::case::{Arg, Call, Case};
use super::directed;
use super::elements::{self, DTYPES};
use super::layouts::{self, Kind};
use super::run::Setting;

/// The variation of a seed; none where the sample that it varies has an argument that no case has.
pub fn variation(setting: &Setting, seed: u64) -> Option<Case> {
    let (schema, known) = setting.sampled(seed);
    if !setting.is_about(&schema.name.to_string()) {
        return None;
    }
    let mut builder = Builder::new(&setting.ours, seed);
    let known = builder.random.pick(known);
    let dtypes: Vec<DType> = known.dtypes().iter().copied().filter(|dtype| DTYPES.contains(dtype)).collect();
    let is_declared = !dtypes.is_empty() && builder.random.chance(95);
    let dtype = *builder.random.pick(if is_declared { &dtypes } else { &DTYPES });
    let samples = known.samples(dtype);
    if samples.is_empty() {
        return None;
    }
    let sample = builder.random.pick(&samples);
    let mut variation = Variation::from_sample(builder, sample);
    let call = variation.call(schema, sample)?;
    variation.builder.end(schema, call);
    Some(variation.builder.case)
}

/// How a sample is varied.
struct Variation<'a> {
    builder: Builder<'a>,
    /// All dimensions of this size have that one instead.
    resized: Option<(i64, i64)>,
    /// How many of a hundred tensors get other elements.
    other_elements: usize,
}

impl<'a> Variation<'a> {
    fn from_sample(mut builder: Builder<'a>, sample: &Sample) -> Self {
        let tensors: Vec<&Plain> = sample.arguments().flat_map(Given::tensors).collect();
        if let Some(first) = tensors.first() {
            // What is made as usual, and outputs whose results cannot be foretold, is made for the sample's tensors.
            (builder.dtype, builder.shape) = (first.dtype(), first.sizes().to_vec());
        }
        let sizes: Vec<i64> = tensors.iter().flat_map(|tensor| tensor.sizes().iter().copied()).collect();
        let random = &mut builder.random;
        let is_resized = !sizes.is_empty() && random.chance(40);
        let resized = is_resized.then(|| (*random.pick(&sizes), random.below(8) as i64));
        let other_elements = *random.pick(&[0, 50, 100]);
        Self { builder, resized, other_elements }
    }

    /// The call; `None` where an argument of the sample is none of a case.
    fn call(&mut self, schema: &FunctionSchema, sample: &Sample) -> Option<Call> {
        self.builder.start(schema);
        let mut call =
            Call { operator: schema.name.to_string(), positional: Vec::new(), keyword: Vec::new() };
        for (at, argument) in schema.arguments.iter().enumerate().filter(|(_, argument)| !argument.is_out()) {
            let named =
                || sample.keyword.iter().find(|(name, _)| *name == argument.name).map(|(_, given)| given);
            let arg = match sample.positional.get(at).or_else(named) {
                Some(given) => self.arg(argument, given)?,
                None if argument.default.is_none() => self.builder.usual(argument),
                None => continue,
            };
            if call.positional.len() == at && !argument.kwarg_only {
                call.positional.push(arg);
            } else {
                call.keyword.push((argument.name.clone(), arg));
            }
        }
        Some(call)
    }

    fn arg(&mut self, argument: &Argument, given: &Given) -> Option<Arg> {
        Some(match given {
            Given::Tensor(tensor) => Arg::Tensor(self.tensor(argument, tensor)?),
            Given::Tensors(list) => {
                let list = list.iter().map(|tensor| self.tensor(argument, tensor).map(Some));
                Arg::Tensors(list.collect::<Option<_>>()?)
            }
            Given::OptionalTensors(list) => {
                let one = |gap: &Option<Plain>| match gap {
                    Some(tensor) => self.tensor(argument, tensor).map(Some),
                    None => Some(None),
                };
                Arg::Tensors(list.iter().map(one).collect::<Option<_>>()?)
            }
            Given::Value(_) if self.builder.random.chance(4) => self.builder.usual(argument),
            Given::Value(value) => arg(value)?,
        })
    }

    /// A tensor like one of the sample, somewhere in memory: its number in the case.
    fn tensor(&mut self, argument: &Argument, tensor: &Plain) -> Option<usize> {
        let random = &mut self.builder.random;
        let mut sizes = tensor.sizes().to_vec();
        if let Some((from, to)) = self.resized {
            sizes.iter_mut().filter(|size| **size == from).for_each(|size| *size = to);
        }
        if random.chance(2) {
            sizes = layouts::spoilt(random, &sizes);
        }
        let dtype = if random.chance(96) { tensor.dtype() } else { *random.pick(&DTYPES) };
        let count = sizes.iter().product::<i64>() as usize;
        let is_same = sizes == tensor.sizes() && random.below(100) >= self.other_elements;
        let elements: Vec<Complex64> = if is_same {
            tensor.elements().iter().map(|element| element.to_complex()).collect()
        } else {
            (0..count).map(|_| self.element(tensor)).collect()
        };
        let random = &mut self.builder.random;
        let kind = if argument.is_write() { Kind::of_output(random) } else { Kind::of_input(random) };
        Some(self.builder.filled(&sizes, &directed::block(dtype, &elements).ok()?, kind))
    }

    /// An element that may stand in a tensor: one of its own, or a float between two of them.
    fn element(&mut self, tensor: &Plain) -> Complex64 {
        let random = &mut self.builder.random;
        let (known, part) = (tensor.elements(), (elements::unit(random) + 1.0) / 2.0);
        if known.is_empty() {
            return Complex64::new(random.below(2) as f64, 0.0);
        }
        let [first, second] = [(); 2].map(|()| random.pick(known).to_complex());
        let is_inexact = tensor.dtype().is_floating_point() || tensor.dtype().is_complex();
        let is_between = is_inexact && random.chance(50);
        if is_between && (first - second).is_finite() { second + (first - second) * part } else { first }
    }
}

/// A value as the argument of a case, as far as there are such.
fn arg(value: &Value) -> Option<Arg> {
    Some(match value {
        // The default generator, whose seed is that of the case.
        Value::None | Value::Generator(_) => Arg::None,
        Value::Int(value) => Arg::Int(*value),
        Value::Float(value) => Arg::Float(*value),
        Value::Complex(value) => Arg::Complex(**value),
        Value::Bool(value) => Arg::Bool(*value),
        Value::Str(text) => Arg::Str(Cow::Owned(String::clone(text))),
        Value::DType(dtype) => Arg::DType(*dtype),
        Value::Layout(layout) => Arg::Layout(*layout),
        Value::MemoryFormat(format) => Arg::Format(*format),
        Value::Device(_) => Arg::Device,
        Value::List(list) => match &**list {
            List::Ints(list) => Arg::Ints(list.clone()),
            List::Floats(list) => Arg::Floats(list.clone()),
            List::Bools(list) => Arg::Bools(list.clone()),
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use opgrid_core::Device;

    use super::*;

    /// Whether arguments are lists of numbers of any kind, or of tensors that are written, which cases have no words for.
    fn takes_unwritable_lists(setting: &Setting, name: &str) -> bool {
        let handle = setting.ours.dispatcher().find(name).unwrap();
        let schema = handle.schema().unwrap();
        schema.arguments.iter().any(|argument| {
            let text = argument.real_type.to_string();
            text == "Scalar[]" || (text == "Tensor[]" && argument.is_write())
        })
    }

    #[test]
    fn every_sampled_overload_is_called() {
        let setting = Setting::new().unwrap();
        let count = setting.count_sampled();
        let is_called = |seed: &u64| {
            let Some(case) = variation(&setting, *seed) else { return false };
            setting.ours.run(&case, Device::CPU).unwrap().iter().any(|answer| answer.outcome.is_ok())
        };
        let never = (0..count).filter(|first| !(0..40).any(|round| is_called(&(first + round * count))));
        let mut names: Vec<String> = never.map(|seed| setting.sampled(seed).0.name.to_string()).collect();
        names.retain(|name| setting.can_be_called(name) && !takes_unwritable_lists(&setting, name));
        assert!(names.is_empty(), "no variation of a sample is taken by {}", names.join(", "));
    }
}
