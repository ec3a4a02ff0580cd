//! What is tested: an operator on a device, and one of its samples with all that checks ask for.

use std::cell::RefCell;
use std::sync::Arc;

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{DType, Device, List, OperatorHandle, Result, Value, ValueRef};
use opgrid_samples::{Expected, Given, Inputs, OperatorSamples, Plain, Sample};
use opgrid_tensor::Tensor;

use crate::draws;
use crate::fault::Fault;
use crate::memory::Memory;
use crate::target::{Target, guarded};
use crate::variants::Variants;

/// An operator on a device.
pub(crate) struct Subject<'a> {
    pub(crate) target: Target<'a>,
    pub(crate) samples: &'a OperatorSamples,
    pub(crate) operator: OperatorHandle,
    pub(crate) schema: Arc<FunctionSchema>,
    pub(crate) variants: Variants,
}

impl<'a> Subject<'a> {
    /// # Errors
    ///
    /// The dispatcher has no such operator, or lacks an overload that is linked to it.
    pub(crate) fn new(target: Target<'a>, samples: &'a OperatorSamples) -> Result<Self> {
        let operator = target.dispatcher.find(samples.name())?;
        let schema = operator.schema()?;
        let variants = Variants::for_operator(target.dispatcher, &operator)?;
        Ok(Self { target, samples, operator, schema, variants })
    }

    /// Whether it draws random numbers, as samples of one dtype show.
    pub(crate) fn is_random(&self) -> bool {
        let mut samples = self.samples.dtypes().iter().take(1).flat_map(|&dtype| self.samples.samples(dtype));
        samples.any(|sample| self.expected(&sample).is_ok_and(|expected| draws::is_random(&expected)))
    }

    /// The names of the overloads that are called.
    pub(crate) fn overloads(&self) -> Vec<String> {
        let variants = self.variants.all().map(|variant| &variant.operator);
        variants.chain([&self.operator]).map(|operator| operator.name().to_string()).collect()
    }

    /// The arguments of a sample on a device, in the order of the schema, with defaults.
    ///
    /// What the operator writes is never repeated in memory.
    ///
    /// # Errors
    ///
    /// They do not fit the schema; the device cannot make them.
    pub(crate) fn arguments(
        &self,
        target: &Target<'_>,
        sample: &Sample,
        memory: Memory,
    ) -> Result<Vec<Value>> {
        self.bound(target, sample, |argument, given| {
            let is_written = argument.is_some_and(Argument::is_write);
            let repeats = memory == Memory::Expanded;
            target.value(given, if is_written && repeats { Memory::Offset } else { memory })
        })
    }

    /// Places all tensors of `dtype` in one storage, adjacent, with `more` after them, which are also given.
    ///
    /// # Errors
    ///
    /// As [`arguments`](Self::arguments).
    pub(crate) fn neighbours(
        &self,
        sample: &Sample,
        dtype: DType,
        more: &[&Plain],
    ) -> Result<(Vec<Value>, Vec<Tensor>)> {
        let own = sample.arguments().flat_map(Given::tensors).filter(|plain| plain.dtype() == dtype);
        let all: Vec<&Plain> = own.chain(more.iter().copied()).collect();
        let mut tensors = self.target.side_by_side(dtype, &all)?;
        let more = tensors.split_off(all.len() - more.len());
        let next = RefCell::new(tensors.into_iter());
        let arguments = self.bound(&self.target, sample, |_, given| {
            self.target.value_of(given, |plain| {
                let placed = (plain.dtype() == dtype).then(|| next.borrow_mut().next()).flatten();
                placed.map_or_else(|| self.target.tensor(plain, Memory::Contiguous), Ok)
            })
        })?;
        Ok((arguments, more))
    }

    /// The arguments of a sample in the order of the schema, each as `value` makes it; it is told what is declared.
    fn bound(
        &self,
        target: &Target<'_>,
        sample: &Sample,
        value: impl Fn(Option<&Argument>, &Given) -> Result<Value>,
    ) -> Result<Vec<Value>> {
        let declared = &self.schema.arguments;
        let positional =
            sample.positional.iter().enumerate().map(|(at, given)| value(declared.get(at), given));
        let keyword = sample.keyword.iter().map(|(name, given)| {
            let argument = declared.iter().find(|argument| argument.name == *name);
            Ok((name.clone(), value(argument, given)?))
        });
        let (positional, mut keyword) =
            (positional.collect::<Result<_>>()?, keyword.collect::<Result<Vec<_>>>()?);
        let takes_device = self.schema.argument_index("device").is_some();
        if takes_device && keyword.iter().all(|(name, _)| name != "device") {
            keyword.push(("device".to_owned(), target.device.into()));
        }
        self.operator.bind(positional, keyword)
    }

    /// Calls the operator boxed, with a sample in that layout.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub(crate) fn call(&self, target: &Target<'_>, sample: &Sample, memory: Memory) -> Result<Vec<Value>> {
        target.call(&self.operator, &self.arguments(target, sample, memory)?)
    }

    /// Calls the operator typed; `None` where it has no Rust type.
    ///
    /// # Errors
    ///
    /// Those of the operator.
    pub(crate) fn call_typed(&self, sample: &Sample) -> Option<Result<Vec<Value>>> {
        let call = || {
            let arguments = self.arguments(&self.target, sample, Memory::Contiguous)?;
            let lent: Vec<ValueRef<'_>> = arguments.iter().map(Value::borrow).collect();
            self.samples.call_typed(self.target.dispatcher, &lent).transpose()
        };
        guarded(call).transpose()
    }

    /// The arguments of a sample by name, as the reference reads them.
    ///
    /// # Errors
    ///
    /// They do not fit the schema.
    pub(crate) fn inputs(&self, sample: &Sample) -> Result<Inputs> {
        let here = Target { device: Device::META, ..self.target };
        let bound = self.arguments(&here, sample, Memory::Contiguous)?;
        let named = self.schema.arguments.iter().zip(bound).enumerate();
        let of_sample = |at: usize, name: &str| {
            let keyword = sample.keyword.iter().find(|(own, _)| own == name);
            sample.positional.get(at).or(keyword.map(|(_, given)| given)).cloned()
        };
        let argument = |(at, (argument, bound)): (usize, (&Argument, Value))| {
            let given = match of_sample(at, &argument.name) {
                // Only binding knows what a number means where a list is declared, and the like.
                None | Some(Given::Value(_)) => Given::Value(bound),
                Some(tensors) => tensors,
            };
            (argument.name.clone(), given)
        };
        Ok(Inputs::new(named.map(argument).collect()))
    }

    /// What the operator has to answer to a sample.
    ///
    /// # Errors
    ///
    /// The reference cannot read the sample.
    pub(crate) fn expected(&self, sample: &Sample) -> Result<Expected, Fault> {
        let expected = guarded(|| self.samples.expected(&self.inputs(sample)?));
        expected.map_err(|error| Fault::wrong(format!("the reference fails: {error}"), "an answer"))
    }
}

/// A sample of an operator.
pub struct Case<'a> {
    pub(crate) subject: &'a Subject<'a>,
    pub(crate) dtype: DType,
    /// Which one of those for the dtype.
    pub(crate) number: usize,
    pub(crate) sample: Sample,
    pub(crate) expected: Expected,
}

/// The results one by one, and those of lists among them, if all are tensors.
pub(crate) fn tensors(results: &[Value]) -> Option<Vec<Tensor>> {
    let mut found = Vec::new();
    for result in results {
        match result {
            Value::Tensor(tensor) => found.push(Tensor::try_from(tensor.clone()).ok()?),
            Value::List(list) => match &**list {
                List::Tensors(tensors) => {
                    for tensor in tensors {
                        found.push(Tensor::try_from(tensor.clone()).ok()?);
                    }
                }
                _ => return None,
            },
            _ => return None,
        }
    }
    Some(found)
}
