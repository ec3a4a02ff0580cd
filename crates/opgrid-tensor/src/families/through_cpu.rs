//! The way through the CPU, for calls on a device that has no kernel of its own for them.
//!
//! What crosses are storages, each once, and tensors become views of the copies. So arguments that share memory still do, a
//! result that is a view of an argument becomes a view of the original, and what was written is written back.

use opgrid_core::schema::Type;
use opgrid_core::{
    AnyTensor, BoxedCall, Device, DeviceType, DispatchKey, Error, ErrorKind, List, Result, SlowPath,
    TensorType, Value, ValueView, compute_dispatch_key,
};

use crate::devices;
use crate::ops;
use crate::tensor::{Array, Storage, Tensor, TensorSpec};
use opgrid_array::random;

/// The fallback of a backend: runs the operator's CPU kernel on copies of what lies in the device's memory, and counts
/// each time as [`SlowPath::CPU_COPY`]. Tensors of no dimension that are on the CPU go along as they are.
///
/// The device is that of the first tensor of the backend, or the one that the call names, or the backend's current one.
///
/// # Errors
///
/// Strict mode, which comes before anything is copied; tensors on a third device; an `out` that would have to change its
/// shape; those of the CPU kernel.
///
/// # Examples
///
/// ```
/// use opgrid_core::{BackendComponent, Dispatcher, Kernel, SlowPath};
/// use opgrid::families::through_cpu;
///
/// let dispatcher = Dispatcher::new();
/// let _operators = opgrid::ops::register(&dispatcher)?;
/// let backend = BackendComponent::register("Abacus")?;
/// let mut everything = dispatcher.implementations("_", backend.key());
/// everything.fallback(Kernel::boxed(through_cpu));
/// let _registration = everything.finish()?;
///
/// let (size, device) = (&[2, 2][..], Some("abacus".parse()?));
/// // Nothing allocates memory of this device: the CPU has computed the zeros, but `empty` for the copy is missing.
/// let error = dispatcher.call(opgrid::ops::Zeros, (size, None, None, device, None)).unwrap_err();
/// assert!(error.message().contains("through the CPU"), "{error}");
/// assert!(dispatcher.stats().count(SlowPath::CPU_COPY, "aten::empty.memory_format") > 0);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn through_cpu(call: &mut BoxedCall<'_>) -> Result<()> {
    call.note_slow_path(SlowPath::CPU_COPY)?;
    let operator = call.operator().name();
    cross(call).map_err(|error| error.within(format_args!("{operator}, through the CPU")))
}

fn cross(call: &mut BoxedCall<'_>) -> Result<()> {
    let mut crossing = Crossing { device: device_of(call)?, storages: Vec::new(), tensors: Vec::new() };
    let arguments = call.args().iter().map(|argument| crossing.there(argument.view(), argument.to_value()));
    let mut arguments = arguments.collect::<Result<Vec<_>>>()?;
    let declared = call.schema().into_iter().flat_map(|schema| &schema.arguments);
    for (_, generator) in declared.zip(&mut arguments).filter(|(argument, value)| {
        *argument.real_type.without_optional() == Type::Generator && matches!(value, Value::None)
    }) {
        // The numbers are the device's, whoever draws them; from a generator of the backend's own making the CPU cannot.
        if devices::count(crossing.device.kind()) > 0 {
            let of_device = devices::default_generator(crossing.device)?;
            if random::draw(Some(&of_device), |_| ()).is_ok() {
                *generator = Value::Generator(of_device);
            }
        }
    }
    let lent: Vec<_> = arguments.iter().map(Value::borrow).collect();
    call.redispatch_with(DispatchKey::Cpu.key_set(), &lent)?;

    let schema = call.schema().into_iter().flat_map(|schema| &schema.arguments);
    for (_, written) in schema.zip(&arguments).filter(|(argument, _)| argument.is_write()) {
        crossing.write_back(written)?;
    }
    let results: Vec<Value> = call.returns().iter().cloned().collect();
    call.returns().clear();
    for result in results {
        let result = crossing.back(result)?;
        call.push(result);
    }
    Ok(())
}

/// The device of the call: that of the first tensor of the backend whose key reached the kernel, else the one that the call
/// names, else the backend's current one.
fn device_of(call: &BoxedCall<'_>) -> Result<Device> {
    let key = call.keys().highest_backend_type();
    let is_of_key =
        |device: &Device| compute_dispatch_key(None, None, Some(*device)).is_ok_and(|found| found == key);
    let of_tensor = |any: &AnyTensor| {
        let tensor = Tensor::from_any_ref(any).filter(|tensor| tensor.is_defined())?;
        Some(tensor.device()).filter(is_of_key)
    };
    let views = || call.args().iter().map(|argument| argument.view());
    let of_tensors = || {
        views().find_map(|argument| match argument {
            ValueView::Tensor(tensor) => of_tensor(tensor),
            ValueView::Tensors(tensors) => tensors.iter().find_map(of_tensor),
            ValueView::OptionalTensors(tensors) => tensors.iter().flatten().find_map(of_tensor),
            _ => None,
        })
    };
    let named = || {
        views().find_map(|argument| match argument {
            ValueView::Device(device) => Some(device).filter(is_of_key),
            _ => None,
        })
    };
    let current = || DeviceType::all().map(Device::from_type).find(is_of_key);
    of_tensors().or_else(named).or_else(current).ok_or_else(|| {
        let message = format!(
            "{key} is not the key of a device; use the fallback through the CPU for backend keys only"
        );
        Error::new(ErrorKind::Argument, message)
    })
}

/// What has crossed, with its copy on the CPU.
struct Crossing {
    device: Device,
    storages: Vec<(Storage, Storage)>,
    tensors: Vec<(Tensor, Tensor)>,
}

impl Crossing {
    /// An argument as the CPU takes it.
    fn there(&mut self, argument: ValueView<'_>, value: Value) -> Result<Value> {
        Ok(match argument {
            ValueView::Tensor(tensor) => self.tensor_there(tensor)?.into(),
            ValueView::Tensors(tensors) => {
                let copies = tensors.iter().map(|tensor| self.tensor_there(tensor));
                copies.collect::<Result<Vec<_>>>()?.into()
            }
            ValueView::OptionalTensors(tensors) => {
                let copies = tensors
                    .iter()
                    .map(|gap| gap.as_ref().map(|tensor| self.tensor_there(tensor)).transpose());
                List::OptionalTensors(copies.collect::<Result<_>>()?).into()
            }
            ValueView::Device(device) if device.kind() == self.device.kind() => Device::CPU.into(),
            _ => value,
        })
    }

    fn tensor_there(&mut self, any: &AnyTensor) -> Result<AnyTensor> {
        let Some(tensor) = Tensor::from_any_ref(any).filter(|tensor| tensor.is_defined()) else {
            return Ok(any.clone());
        };
        if tensor.device() == Device::CPU && tensor.dim() == 0 {
            return Ok(any.clone());
        }
        if tensor.device() != self.device {
            let (expected, found) = (self.device, tensor.device());
            let message = format!(
                "expected all tensors to be on the same device, but found at least two, {expected} and {found}; copy one of them"
            );
            return Err(Error::new(ErrorKind::Argument, message));
        }
        if let Some((_, copy)) = self.tensors.iter().find(|(original, _)| original.is_same(tensor)) {
            return Ok(copy.clone().into());
        }
        let storage = self.storage_there(tensor.array()?.storage())?;
        let spec = TensorSpec::new(tensor.geometry().clone(), tensor.dtype(), Device::CPU);
        let copy = Tensor::from_array(Array::new(spec, storage)?)?;
        self.tensors.push((tensor.clone(), copy.clone()));
        Ok(copy.into())
    }

    fn storage_there(&mut self, storage: &Storage) -> Result<Storage> {
        if let Some((_, copy)) = self.storages.iter().find(|(original, _)| original.is_same(storage)) {
            return Ok(copy.clone());
        }
        let copy = storage.on_cpu()?;
        self.storages.push((storage.clone(), copy.clone()));
        Ok(copy)
    }

    /// Brings back what the kernel has written to an argument.
    ///
    /// # Errors
    ///
    /// It got another shape, as an `out` without elements does; the storage on the device cannot grow.
    fn write_back(&self, argument: &Value) -> Result<()> {
        for (original, copy) in &self.tensors {
            if !holds(argument, copy) {
                continue;
            }
            if original.sizes() != copy.sizes() {
                let (found, expected) = (original.sizes(), copy.sizes());
                let message = format!(
                    "the output has shape {found:?}, expected {expected:?}; create it with that shape, \
                     as tensors on {} cannot be resized",
                    self.device
                );
                return Err(Error::new(ErrorKind::Argument, message));
            }
            if let Some(memory) = original.array()?.storage().device_memory() {
                memory.write(0, copy.array()?.storage().read()?.bytes())?;
                original.array()?.storage().mark_written();
            }
        }
        Ok(())
    }

    /// A result as the device's user takes it.
    fn back(&self, result: Value) -> Result<Value> {
        match result {
            Value::Tensor(tensor) => Ok(self.tensor_back(tensor)?.into()),
            Value::List(list) if matches!(*list, List::Tensors(_) | List::OptionalTensors(_)) => {
                let values = list.values().into_iter().map(|value| self.back(value));
                Ok(List::from_values(list.element_type(), values.collect::<Result<_>>()?)?.into())
            }
            other => Ok(other),
        }
    }

    /// The argument that the result is, a view of an argument's memory, or a new tensor.
    fn tensor_back(&self, any: AnyTensor) -> Result<AnyTensor> {
        let Some(tensor) = Tensor::from_any_ref(&any).filter(|tensor| tensor.is_defined()) else {
            return Ok(any);
        };
        if let Some((original, _)) = self.tensors.iter().find(|(_, copy)| copy.is_same(tensor)) {
            return Ok(original.clone().into());
        }
        let storage = tensor.array()?.storage();
        match self.storages.iter().find(|(_, copy)| copy.is_same(storage)) {
            Some((original, _)) => {
                let spec = TensorSpec::new(tensor.geometry().clone(), tensor.dtype(), self.device);
                Ok(Tensor::from_array(Array::new(spec, original.clone())?)?.into())
            }
            None => Ok(ops::ToCopy.call(tensor, None, None, Some(self.device), None, false, None)?.into()),
        }
    }
}

/// Whether a value is or contains that tensor.
fn holds(value: &Value, tensor: &Tensor) -> bool {
    let is = |other: &AnyTensor| other.is_same(tensor.as_any());
    match value.borrow().view() {
        ValueView::Tensor(other) => is(other),
        ValueView::Tensors(others) => others.iter().any(is),
        ValueView::OptionalTensors(others) => others.iter().flatten().any(is),
        _ => false,
    }
}
