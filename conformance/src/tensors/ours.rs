//! Runs cases on our tensors.

use opgrid_core::{
    AnyTensor, Device, Dispatcher, Forms, Kind, List, OperatorHandle, Registration, Result, Scalar, Value,
};
use opgrid_samples::{OperatorSamples, Roundings, Samples};
use opgrid_tensor::tensor::{Dims, set_default_dtype};
use opgrid_tensor::{Array, Geometry, Storage, Tensor, TensorSpec, manual_seed};

use super::answer::{Answer, Returned, TensorAnswer};
use super::case::{Arg, Block, Call, Case, View, family};

/// A dispatcher with our operators.
pub struct Ours {
    dispatcher: Dispatcher,
    samples: Samples,
    _registration: Registration,
}

/// A case that is being run.
pub struct Run<'a> {
    ours: &'a Ours,
    device: Device,
    /// The memory, with its contents before the next call.
    blocks: Vec<(Storage, Block)>,
    /// The tensors of the case, then those that calls gave.
    tensors: Vec<Tensor>,
}

impl Ours {
    /// Prepares the dispatcher with its operators and samples.
    ///
    /// # Errors
    ///
    /// The operators cannot be registered.
    pub fn new() -> Result<Self> {
        let dispatcher = Dispatcher::new();
        let registration = opgrid_tensor::register(&dispatcher)?;
        Ok(Self { dispatcher, samples: opgrid_operators::samples(), _registration: registration })
    }

    /// How far results of an overload may lie from torch's.
    pub fn roundings(&self, operator: &str) -> Roundings {
        self.samples.roundings(operator)
    }

    /// The kind of an overload.
    pub fn kind(&self, operator: &str) -> Option<Kind> {
        let own = self.dispatcher.find(operator).and_then(|operator| operator.column::<Kind>());
        own.ok().flatten().map(|kind| (*kind).clone())
    }

    /// Whether an overload is of a kind, or of one under it.
    pub fn is_of_kind(&self, operator: &str, kind: &Kind) -> bool {
        self.kind(operator).is_some_and(|own| own.is(kind))
    }

    /// Whether the size of an overload's result depends on elements, which meta tensors have not.
    pub fn depends_on_elements(&self, operator: &str) -> bool {
        let own = family(operator);
        self.samples.operators().iter().any(|known| family(known.name()) == own && !known.is_on_meta())
    }

    /// Whether an operator has samples that are not refused: without a device beside the CPU some have none.
    pub fn can_be_called(&self, operator: &str) -> bool {
        let mut known = self.samples.operators().iter().filter(|known| known.name() == operator).peekable();
        let is_called =
            |known: &OperatorSamples| known.dtypes().iter().any(|dtype| !known.samples(*dtype).is_empty());
        known.peek().is_none() || known.any(is_called)
    }

    /// The samples of an overload: its own, and those of the functional one that it is linked to.
    ///
    /// # Errors
    ///
    /// The links cannot be read.
    pub fn samples(&self, operator: &OperatorHandle) -> Result<Vec<OperatorSamples>> {
        let name = operator.name().to_string();
        let functional = functional_of(operator)?;
        let is_its = |known: &&OperatorSamples| {
            known.name() == name || functional.as_ref().is_some_and(|functional| known.name() == functional)
        };
        Ok(self.samples.operators().iter().filter(is_its).cloned().collect())
    }

    /// The functional overload that an overload is linked to.
    pub fn functional(&self, operator: &str) -> Option<String> {
        self.dispatcher.find(operator).and_then(|operator| functional_of(&operator)).ok().flatten()
    }

    /// The names of the arguments of a call that are outputs.
    pub fn outputs(&self, call: &Call) -> Vec<String> {
        let schema = self.dispatcher.find(&call.operator).and_then(|operator| operator.schema());
        let outputs = schema.map(|schema| {
            let outputs = schema.arguments.iter().filter(|argument| argument.is_out());
            outputs.map(|argument| argument.name.clone()).collect()
        });
        outputs.unwrap_or_default()
    }

    /// Whether torch takes a number where an overload asks for a tensor.
    pub fn takes_numbers(&self, operator: &str) -> bool {
        self.samples.takes_numbers(operator)
    }

    /// The dispatcher that has the operators.
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// Runs a case on the CPU, or without data on the meta device.
    ///
    /// # Errors
    ///
    /// The case is none: a tensor does not lie on its block.
    pub fn run(&self, case: &Case, device: Device) -> Result<Vec<Answer>> {
        let mut run = self.start(case, device)?;
        Ok(case.calls.iter().map(|call| run.call(call)).collect())
    }

    /// Makes the tensors of a case.
    ///
    /// # Errors
    ///
    /// A tensor does not lie on its block.
    pub fn start(&self, case: &Case, device: Device) -> Result<Run<'_>> {
        set_default_dtype(case.default)?;
        manual_seed(case.stream);
        let memory = |block: &Block| -> Result<_> {
            let storage = match device {
                Device::META => Storage::meta(block.bytes.len())?,
                _ => filled(&block.bytes)?,
            };
            Ok((storage, block.clone()))
        };
        let blocks = case.blocks.iter().map(memory).collect::<Result<Vec<_>>>()?;
        let mut run = Run { ours: self, device, blocks, tensors: Vec::new() };
        for view in &case.tensors {
            run.tensors.push(run.tensor(view)?);
        }
        Ok(run)
    }
}

/// # Errors
///
/// The links cannot be read.
fn functional_of(operator: &OperatorHandle) -> Result<Option<String>> {
    Ok(operator.column::<Forms>()?.map(|forms| forms.functional.to_string()))
}

/// Memory with these contents.
pub fn filled(bytes: &[u8]) -> Result<Storage> {
    let storage = Storage::cpu(bytes.len())?;
    storage.write()?.bytes().copy_from_slice(bytes);
    Ok(storage)
}

impl Run<'_> {
    fn tensor(&self, view: &View) -> Result<Tensor> {
        let (storage, block) = &self.blocks[view.block];
        let geometry = Geometry::strided(&view.sizes, &view.strides, view.offset)?;
        let spec = TensorSpec::new(geometry, block.dtype, self.device);
        Tensor::from_array(Array::new(spec, storage.clone())?)
    }

    /// The tensors of the case, then those that calls gave.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The tensor that the next call would take for the last one.
    pub fn last(&self) -> Option<&Tensor> {
        self.tensors.last()
    }

    /// Calls an operator; its first tensor becomes the next one, or else the last one again.
    pub fn call(&mut self, call: &Call) -> Answer {
        let result = self.results(call);
        let outcome = match &result {
            Ok(values) => values.iter().map(|value| self.returned(value)).collect(),
            Err(error) => Err(error.to_string()),
        };
        let written = if self.device == Device::META { Vec::new() } else { self.written() };
        let next = result.ok().and_then(|values| values.iter().find_map(first_tensor));
        self.tensors.extend(next.or_else(|| self.tensors.last().cloned()));
        Answer { outcome, written }
    }

    /// Forgets the tensor of the last call, as if that had not been.
    pub fn forget_last(&mut self) {
        self.tensors.pop();
    }

    fn results(&self, call: &Call) -> Result<Vec<Value>> {
        let operator = self.ours.dispatcher.find(&call.operator)?;
        let schema = operator.schema()?;
        let type_of = |at: usize| schema.arguments.get(at).map(|argument| argument.real_type.to_string());
        let positional = call.positional.iter().enumerate().map(|(at, arg)| self.value(arg, type_of(at)));
        let keyword = call.keyword.iter().map(|(name, arg)| {
            (name.clone(), self.value(arg, schema.argument_index(name).and_then(type_of)))
        });
        operator.call_with(positional.collect(), keyword.collect())
    }

    fn value(&self, arg: &Arg, expected: Option<String>) -> Value {
        let expected = expected.unwrap_or_default();
        let number = |value: Scalar| match expected.as_str() {
            "Tensor" => Tensor::number(value).into(),
            _ => value.into(),
        };
        let tensor = |at: usize| AnyTensor::from(self.tensors[at].clone());
        match arg {
            Arg::None => Value::None,
            Arg::Tensor(at) => tensor(*at).into(),
            Arg::Tensors(list) if expected == "Tensor[]" => {
                List::Tensors(list.iter().flatten().map(|at| tensor(*at)).collect()).into()
            }
            Arg::Tensors(list) => {
                List::OptionalTensors(list.iter().map(|at| at.map(tensor)).collect()).into()
            }
            Arg::Int(value) => number(Scalar::Int(*value)),
            Arg::Float(value) => number(Scalar::Float(*value)),
            Arg::Complex(value) => number(Scalar::Complex(*value)),
            Arg::Bool(value) => number(Scalar::Bool(*value)),
            Arg::Str(text) => text.as_ref().into(),
            Arg::DType(dtype) => (*dtype).into(),
            Arg::Format(format) => (*format).into(),
            Arg::Layout(layout) => (*layout).into(),
            Arg::Device => self.device.into(),
            Arg::Ints(list) => list.clone().into(),
            Arg::Floats(list) => list.clone().into(),
            Arg::Bools(list) => list.clone().into(),
        }
    }

    fn returned(&self, value: &Value) -> std::result::Result<Returned, String> {
        Ok(match value {
            Value::Tensor(tensor) => {
                let tensor = Tensor::try_from(tensor.clone()).map_err(|error| error.to_string())?;
                Returned::Tensor(self.described(&tensor).map_err(|error| error.to_string())?)
            }
            Value::Int(value) => Returned::Number(Scalar::Int(*value)),
            Value::Float(value) => Returned::Number(Scalar::Float(*value)),
            Value::Bool(value) => Returned::Number(Scalar::Bool(*value)),
            Value::Complex(value) => Returned::Number(Scalar::Complex(**value)),
            Value::UInt(value) => Returned::Number(Scalar::UInt(*value)),
            Value::List(list) => match &**list {
                List::Tensors(list) => {
                    let each = list.iter().map(|tensor| self.returned(&Value::Tensor(tensor.clone())));
                    Returned::List(each.collect::<std::result::Result<_, _>>()?)
                }
                _ => Returned::None,
            },
            _ => Returned::None,
        })
    }

    fn described(&self, tensor: &Tensor) -> Result<TensorAnswer> {
        let array = tensor.array()?;
        let size = array.geometry().numel() as usize * array.dtype().size_in_bytes();
        let is_compared = self.device != Device::META && size <= LARGEST;
        let bytes = if is_compared { contents(array)? } else { Vec::new() };
        Ok(TensorAnswer {
            dtype: tensor.dtype(),
            sizes: tensor.sizes().to_vec(),
            strides: tensor.strides().to_vec(),
            offset: tensor.geometry().offset(),
            same: self.tensors.iter().position(|known| known.is_same(tensor)),
            block: self.blocks.iter().position(|(storage, _)| storage.is_same(array.storage())),
            bytes,
        })
    }

    /// The blocks whose contents the last call has changed.
    fn written(&mut self) -> Vec<(usize, Block)> {
        let mut written = Vec::new();
        for (at, (storage, block)) in self.blocks.iter_mut().enumerate() {
            let Ok(guard) = storage.read() else { continue };
            if guard.bytes() != block.bytes {
                block.bytes = guard.bytes().to_vec();
                written.push((at, block.clone()));
            }
        }
        written
    }
}

/// The number of bytes up to which results are compared, here and in torch; of larger ones everything but the
/// elements is compared.
const LARGEST: usize = 1 << 26;

/// The first tensor of a result.
fn first_tensor(value: &Value) -> Option<Tensor> {
    match value {
        Value::Tensor(tensor) => Tensor::try_from(tensor.clone()).ok(),
        Value::List(list) => match &**list {
            List::Tensors(list) => Tensor::try_from(list.first()?.clone()).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The bytes of the elements in row-major order.
fn contents(array: &Array) -> Result<Vec<u8>> {
    let guard = array.storage().read()?;
    let (bytes, width) = (guard.bytes(), array.dtype().size_in_bytes());
    let geometry = array.geometry();
    let mut contents = Vec::with_capacity(geometry.numel() as usize * width);
    let mut index = Dims::from_elem(0, geometry.dims());
    for _ in 0..geometry.numel() {
        let steps = index.iter().zip(geometry.strides()).map(|(at, stride)| at * stride);
        let at = (geometry.offset() + steps.sum::<i64>()) as usize * width;
        contents.extend_from_slice(&bytes[at..at + width]);
        for dim in (0..index.len()).rev() {
            index[dim] += 1;
            if index[dim] < geometry.sizes()[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
    Ok(contents)
}
