//! A backend as a binary plugin: the device `vault:0`, whose memory the host cannot address.
//!
//! It makes tensors, copies both ways, has a kernel for `aten::relu` of contiguous floats, and sends every other call through
//! the CPU. It depends on the plugin SDK alone, and knows no type of opgrid.
#![deny(unsafe_code)]

mod memory;

use memory::Block;
use opgrid_plugin_sdk::{Call, DType, Device, Error, ErrorKind, Operator, Registrar, Result, Tensor};

/// The manifest and the entry.
mod entry;

/// Registers the backend.
///
/// # Errors
///
/// No place is free for a backend.
pub fn register(registrar: &Registrar) -> Result<()> {
    let (_, device) = registrar.backend("Vault")?;
    let vault = device.numbered(0);
    let kernels = registrar.implementations("aten", "Vault")?;
    for operator in ["empty.memory_format", "empty_strided"] {
        kernels.implement(operator, "Vault", move |call: &mut Call<'_>| make(call, vault))?;
    }
    kernels.implement("copy_", "Vault", copy)?;
    let fits = |call: &Call<'_>| {
        let x: Tensor = call.argument(0)?;
        Ok(x.dtype()? == DType::F32 && x.is_contiguous()? && x.memory::<Block>().is_some())
    };
    kernels.provider(
        "relu",
        "Vault",
        "vault",
        move |x: Tensor| relu(&x, vault),
        "it is contiguous float32",
        fits,
    )?;
    let everything = registrar.implementations("_", "Vault")?;
    everything.fallback(|call: &mut Call<'_>| call.through_cpu())
}

/// `aten::empty.memory_format` and `aten::empty_strided`: meta says what the tensor is like, the vault gives the memory.
fn make(call: &mut Call<'_>, vault: Device) -> Result<()> {
    let last = call.len() - 1;
    let strided = usize::from(call.name() == "aten::empty_strided");
    // (size, [stride], dtype, layout, device, pin_memory, …)
    let device = strided + 3;
    if let Some(asked) = call.argument::<Option<Device>>(device)?
        && asked.0.index > 0
    {
        let message = format!("there is no device vault:{}, expected vault:0, the only one", asked.0.index);
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let arguments: Vec<_> = (0..=last).map(|index| call.lent(index)).collect();
    let given = arguments.iter().enumerate().map(|(index, argument)| -> &dyn opgrid_plugin_sdk::ToValue {
        if index == device { &Device::META } else { argument }
    });
    let name = if strided == 1 { "aten::empty_strided" } else { "aten::empty.memory_format" };
    let like: Tensor = Operator::find(name)?.call(&given.collect::<Vec<_>>())?;
    call.push(&allocate(&like, vault)?)
}

/// A new tensor on the device with the sizes, strides and dtype of another.
fn allocate(like: &Tensor, vault: Device) -> Result<Tensor> {
    let bytes = like.storage_bytes()?;
    Tensor::on_device(Block::new(bytes), bytes, like.sizes()?, Some(like.strides()?), like.dtype()?, vault)
}

/// `aten::copy_` to the device, from it, or within: the CPU's work, on copies of both storages.
fn copy(call: &mut Call<'_>) -> Result<()> {
    let (to, from): (Tensor, Tensor) = (call.argument(0)?, call.argument(1)?);
    let (written, read) = (to.on_cpu()?, from.on_cpu()?);
    Operator::find("aten::copy_")?.call_boxed(&[&written, &read, &false])?;
    to.write_back(&written)?;
    call.push(&to)
}

/// The largest of 0 and each element, without leaving the device.
fn relu(x: &Tensor, vault: Device) -> Result<Tensor> {
    let out = Tensor::empty(x.sizes()?, DType::F32, vault)?;
    let (Some(from), Some(to)) = (x.memory::<Block>(), out.memory::<Block>()) else {
        return Err(Error::new(ErrorKind::Internal, "a tensor of the vault has other memory"));
    };
    let start = x.offset()? * 4;
    for index in 0..x.numel()? {
        let value = from.float(start + 4 * index)?;
        to.set_float(4 * index, if value < 0.0 { 0.0 } else { value })?;
    }
    Ok(out)
}
