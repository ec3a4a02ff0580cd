//! A backend as a binary plugin: the device `vault:0`, whose memory the host cannot address.
//!
//! It makes tensors, copies both ways, has a kernel for `aten::relu` of contiguous floats, and sends every other call through
//! the CPU. It depends on the plugin SDK alone, and knows no type of opgrid.
#![deny(unsafe_code)]

mod memory;

use memory::Block;
use opgrid_plugin_sdk::prelude::*;
use opgrid_plugin_sdk::{BackendComponent, ValueRef, through_cpu};

/// The manifest and the entry.
mod entry;

operator! {
    CopyInplace = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)";
    Relu = "aten::relu(Tensor self) -> Tensor";
}

/// Says what the backend does.
///
/// # Errors
///
/// No place is free for a backend.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let backend = BackendComponent::register("Vault")?;
    let (vault, device) = (backend.key(), Device::numbered(backend.device_type(), 0)?);
    let mut kernels = dispatcher.implementations("aten", vault);
    for operator in ["empty.memory_format", "empty_strided"] {
        kernels.implement(operator).boxed(vault, move |call| make(call, device));
    }
    kernels.implement(CopyInplace).kernel(vault, copy);
    kernels.implement(Relu).provider(vault, "vault", relu).when("it is contiguous float32", |x| {
        Ok(x.dtype() == DType::F32 && x.is_contiguous() && x.memory::<Block>().is_some())
    });
    let mut everything = dispatcher.implementations("_", vault);
    everything.fallback(Kernel::boxed(through_cpu));
    let mut registration = kernels.finish()?;
    registration.join(everything.finish()?);
    Ok(registration)
}

/// `aten::empty.memory_format` and `aten::empty_strided`: meta says what the tensor is like, the vault gives the memory.
fn make(call: &mut BoxedCall<'_>, vault: Device) -> Result<()> {
    // (size, [stride], dtype, layout, device, pin_memory, …)
    let place = if call.operator().name().name == "aten::empty_strided" { 4 } else { 3 };
    let asked = call.argument::<Option<Device>>(place)?.and_then(Device::index);
    if let Some(index) = asked.filter(|index| *index > 0) {
        let message = format!("there is no device vault:{index}, expected vault:0, the only one");
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let mut arguments = call.args().to_vec();
    arguments[place] = ValueRef::from(Device::META);
    let operator = Dispatcher::current().find(&call.operator().name().to_string())?;
    let like = operator
        .call_boxed(&arguments)?
        .pop()
        .map_or(Err(Error::new(ErrorKind::Value, "no tensor was made")), Value::take::<Tensor>)?;
    call.push(&allocate(&like, vault)?)
}

/// A new tensor on the device with the sizes, strides and dtype of another.
fn allocate(like: &Tensor, vault: Device) -> Result<Tensor> {
    let bytes = like.storage_bytes();
    Tensor::on_device(Block::new(bytes), bytes, like.sizes(), Some(like.strides()), like.dtype(), vault)
}

/// `aten::copy_` to the device, from it, or within: the CPU's work, on copies of both storages.
fn copy(to: &Tensor, from: &Tensor, _non_blocking: bool) -> Result<()> {
    let (written, read) = (to.on_cpu()?, from.on_cpu()?);
    CopyInplace.call(&written, &read, false)?;
    to.write_back(&written)
}

/// The largest of 0 and each element, without leaving the device.
fn relu(x: &Tensor) -> Result<Tensor> {
    let out = Tensor::empty(x.sizes(), DType::F32, x.device())?;
    let (Some(from), Some(to)) = (x.memory::<Block>(), out.memory::<Block>()) else {
        return Err(Error::new(ErrorKind::Internal, "a tensor of the vault has other memory"));
    };
    let start = x.offset() as usize * 4;
    for index in 0..x.numel() as usize {
        let value = from.float(start + 4 * index)?;
        to.set_float(4 * index, if value < 0.0 { 0.0 } else { value })?;
    }
    Ok(out)
}
