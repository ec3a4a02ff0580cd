//! The way through the CPU, for calls on a device that has no kernel of its own for them.
//!
//! What crosses are storages, each once, and tensors become views of the copies. So arguments that share memory still do, a
//! result that is a view of an argument becomes a view of the original, and what was written is written back.

use opgrid_core::{
    AnyTensor, BoxedCall, Device, DeviceType, DispatchKey, Error, ErrorKind, List, Result, SlowPath,
    TensorType, Value, ValueView, compute_dispatch_key,
};
use opgrid_tensor::{Array, Storage, Tensor, TensorSpec, ops};

/// Runs the operator's CPU kernel on copies of what lies in a device's memory. Each time is counted as
/// [`SlowPath::CPU_COPY`].
///
/// # Errors
///
/// Strict mode, which comes before anything is copied; tensors on a third device; those of the CPU kernel.
pub(crate) fn through_cpu(call: &mut BoxedCall<'_>) -> Result<()> {
    call.note_slow_path(SlowPath::CPU_COPY)?;
    let operator = call.operator().name();
    cross(call).map_err(|error| error.within(format_args!("{operator}, through the CPU")))
}

fn cross(call: &mut BoxedCall<'_>) -> Result<()> {
    let mut crossing = Crossing { device: device_of(call)?, storages: Vec::new(), tensors: Vec::new() };
    let arguments = call.args().iter().map(|argument| crossing.there(argument.view(), argument.to_value()));
    let arguments = arguments.collect::<Result<Vec<_>>>()?;
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

/// The tensor, if it has elements in a device's memory.
fn on_device(any: &AnyTensor) -> Option<&Tensor> {
    let tensor = Tensor::from_any_ref(any).filter(|tensor| tensor.is_defined() && !tensor.is_number())?;
    tensor.array().ok()?.storage().device_memory().map(|_| tensor)
}

/// The device of the call: that of its first tensor with device memory, else the one that it names, else the current one of
/// the key by which the kernel was reached.
fn device_of(call: &BoxedCall<'_>) -> Result<Device> {
    for argument in call.args() {
        let found = match argument.view() {
            ValueView::Tensor(tensor) => on_device(tensor),
            ValueView::Tensors(tensors) => tensors.iter().find_map(on_device),
            ValueView::OptionalTensors(tensors) => tensors.iter().flatten().find_map(on_device),
            _ => None,
        };
        if let Some(tensor) = found {
            return Ok(tensor.device());
        }
    }
    let key = call.keys().highest_backend_type();
    let is_of_key =
        |device: Device| compute_dispatch_key(None, None, Some(device)).is_ok_and(|found| found == key);
    let named = call.args().iter().find_map(|argument| match argument.view() {
        ValueView::Device(device) if is_of_key(device) => Some(device),
        _ => None,
    });
    let current = || DeviceType::all().map(Device::of).find(|device| is_of_key(*device));
    named.or_else(current).ok_or_else(|| {
        let message = format!(
            "{key} is the key of no device; take the way through the CPU in kernels of a backend alone"
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
                    "the output has shape {found:?}, expected {expected:?}; make it with that shape, a tensor on {} does not \
                     change its own",
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
                Ok(List::of(list.element_type(), values.collect::<Result<_>>()?)?.into())
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
