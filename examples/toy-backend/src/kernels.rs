//! The kernels: new tensors, copies both ways, a sum, a product, and an operator of the backend's own.

use opgrid::array::{Array, Geometry, Storage, TensorSpec};
use opgrid::prelude::*;
use opgrid::tensor::default_dtype;
use opgrid::{devices, ops};

use crate::arena::{Block, Session};
use crate::{device, queue};

operator! {
    pub MultiplyAdd = "toy::multiply_add(Tensor self, Tensor weight, Tensor bias) -> Tensor";
}

/// A new tensor of that spec on its device, with memory of the device's allocator.
///
/// # Errors
///
/// No memory.
pub fn allocate(spec: TensorSpec) -> Result<Tensor> {
    let storage = Storage::new(&*devices::allocator(spec.device())?, spec.bytes()?)?;
    Tensor::from_array(Array::new(spec, storage)?)
}

/// What new tensors are asked for, with `toy` for the current device.
///
/// # Errors
///
/// A device that is not there, pinned memory, a layout other than strided.
fn spec(
    geometry: Geometry,
    dtype: Option<DType>,
    layout: Option<Layout>,
    asked: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<TensorSpec> {
    let device = devices::resolve(asked.unwrap_or(Device::from_type(device()?.kind())))?;
    if pin_memory == Some(true) || layout.is_some_and(|layout| layout != Layout::Strided) {
        return Err(refused(format!("memory of {device} is neither pinned nor anything but strided")));
    }
    Ok(TensorSpec::new(geometry, dtype.unwrap_or_else(default_dtype), device))
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message)
}

/// `aten::empty.memory_format` on the device.
///
/// # Errors
///
/// No memory; sizes or options that cannot be.
pub fn empty(
    size: &[i64],
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
    memory_format: Option<MemoryFormat>,
) -> Result<Tensor> {
    let geometry = match memory_format {
        None => Geometry::contiguous(size)?,
        Some(format) => Geometry::in_format(size, format)?,
    };
    allocate(spec(geometry, dtype, layout, device, pin_memory)?)
}

/// `aten::empty_strided` on the device.
///
/// # Errors
///
/// As [`empty`].
pub fn empty_strided(
    size: &[i64],
    stride: &[i64],
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
    pin_memory: Option<bool>,
) -> Result<Tensor> {
    allocate(spec(Geometry::strided(size, stride, 0)?, dtype, layout, device, pin_memory)?)
}

/// `aten::copy_` where one of both is on a device: to it, from it, or within.
///
/// Where bytes are copied as they are, the copy is queued on the current stream: within a device always, to and from pinned
/// memory where nobody wants to wait. Anything else, such as converting and stretching, is the CPU's work, on copies of both
/// storages, which have waited.
///
/// # Errors
///
/// What the CPU's kernel refuses.
pub fn copy_(input: &Tensor, src: &Tensor, non_blocking: bool) -> Result<()> {
    if input.dtype() == src.dtype()
        && input.sizes() == src.sizes()
        && input.is_contiguous()
        && src.is_contiguous()
        && copy_bytes(input, src, non_blocking)?
    {
        return Ok(());
    }
    let (to, from) = (on_cpu(input)?, on_cpu(src)?);
    ops::CopyInplace.call(&to, &from, non_blocking)?;
    write_back(input, &to)
}

/// Queues the copy, if it is one that need not wait.
fn copy_bytes(input: &Tensor, src: &Tensor, non_blocking: bool) -> Result<bool> {
    let bytes = src.numel() as usize * src.dtype().size_in_bytes();
    let start = |tensor: &Tensor| tensor.geometry().offset() as usize * tensor.dtype().size_in_bytes();
    if input.device() == src.device() {
        let (from, to) = (address(src)?, address(input)?);
        launch(&[input, src], move |session| {
            let mut buffer = vec![0; bytes];
            session.read(from, &mut buffer);
            session.write(to, &buffer);
        })?;
        input.mark_written();
    } else if non_blocking && src.is_pinned() {
        // The guard keeps the host from changing the bytes before they are there.
        let (to, from) = (address(input)?, start(src));
        let guard = src.array()?.storage().read_owned()?;
        launch(&[input], move |session| session.write(to, &guard.bytes()[from..from + bytes]))?;
        input.mark_written();
    } else if non_blocking && input.is_pinned() {
        let (from, to) = (address(src)?, start(input));
        let mut guard = input.array()?.storage().write_owned()?;
        launch(&[src], move |session| session.read(from, &mut guard.bytes()[to..to + bytes]))?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Queues work on the current stream of the device of these tensors, and notes that it uses their memory.
///
/// # Errors
///
/// No tensors, or one that is not on a device.
pub fn launch(operands: &[&Tensor], work: impl FnOnce(&mut Session<'_>) + Send + 'static) -> Result<()> {
    let blocks = operands.iter().map(|tensor| block(tensor)).collect::<Result<Vec<_>>>()?;
    let (Some(tensor), Some(first)) = (operands.first(), blocks.first()) else {
        return Err(refused("found work on no tensors, expected at least one; pass those that it uses"));
    };
    let stream = devices::current_stream(tensor.device())?;
    let arena = first.arena().clone();
    let ticket = queue(&stream, move || {
        work(&mut arena.lock());
        Ok(())
    })?;
    blocks.iter().for_each(|block| block.used_until(&ticket));
    Ok(())
}

/// A tensor on the CPU with the same elements in the same places of its storage; one that is there is itself.
///
/// # Errors
///
/// No memory on the CPU.
pub fn on_cpu(tensor: &Tensor) -> Result<Tensor> {
    let array = tensor.array()?;
    if array.storage().device_memory().is_none() {
        return Ok(tensor.clone());
    }
    let spec = TensorSpec::new(tensor.geometry().clone(), tensor.dtype(), Device::CPU);
    Tensor::from_array(Array::new(spec, array.storage().on_cpu()?)?)
}

/// Overwrites the storage of `tensor`, if it is on the device, with that of its copy on the CPU.
///
/// # Errors
///
/// Somebody is writing the copy.
pub fn write_back(tensor: &Tensor, copy: &Tensor) -> Result<()> {
    match tensor.array()?.storage().device_memory() {
        Some(memory) => {
            memory.write(0, copy.array()?.storage().read()?.bytes())?;
            tensor.mark_written();
            Ok(())
        }
        None => Ok(()),
    }
}

/// Copies elements to another device, by `aten::_to_copy`.
///
/// # Errors
///
/// Those of the operator.
pub fn to(tensor: &Tensor, device: Device) -> Result<Tensor> {
    ops::ToCopy.call(tensor, None, None, Some(device), None, false, None)
}

/// Whether a device's own kernels can do it: contiguous floats of one shape, all there.
pub fn fits<const N: usize>(tensors: [&Tensor; N]) -> bool {
    let Some(first) = tensors.first() else { return true };
    tensors.iter().all(|tensor| {
        let alike = tensor.sizes() == first.sizes() && tensor.device() == first.device();
        alike && tensor.dtype() == DType::F32 && tensor.is_contiguous() && block(tensor).is_ok()
    })
}

/// The tensor's memory.
///
/// # Errors
///
/// It is not on a device.
pub fn block(tensor: &Tensor) -> Result<&Block> {
    tensor.array()?.storage().memory::<Block>().ok_or_else(|| {
        refused(format!(
            "expected a tensor on a device `toy`, found one on {}; copy it there",
            tensor.device()
        ))
    })
}

/// Where the tensor's first element lies in its device's memory.
///
/// # Errors
///
/// It is not on a device.
pub fn address(tensor: &Tensor) -> Result<usize> {
    Ok(block(tensor)?.address() + tensor.geometry().offset() as usize * tensor.dtype().size_in_bytes())
}

/// Lets the device compute every element of `out` from those of all tensors.
///
/// # Errors
///
/// An input that lies where `out` does, but not in the same place.
fn each<const N: usize>(
    out: &Tensor,
    tensors: [&Tensor; N],
    compute: impl Fn([f32; N]) -> f32 + Send + 'static,
) -> Result<()> {
    let to = address(out)?;
    let bytes = 4 * out.numel() as usize;
    let mut from = [0; N];
    for (place, tensor) in from.iter_mut().zip(tensors) {
        *place = address(tensor)?;
        if *place != to && place.abs_diff(to) < bytes {
            return Err(refused("the output overlaps an input in part; write to a tensor of its own"));
        }
    }
    let elements = out.numel() as usize;
    let operands: Vec<_> = tensors.into_iter().chain([out]).collect();
    launch(&operands, move |session| {
        for index in 0..elements {
            let value = compute(from.map(|address| session.float(address, index)));
            session.set_float(to, index, value);
        }
    })
}

/// The loop of `aten::add` on the device, over tensors that [fit](fits).
///
/// # Errors
///
/// An output that overlaps an input in part.
pub fn add(input: &Tensor, other: &Tensor, alpha: Scalar, out: &Tensor) -> Result<()> {
    let alpha = alpha.to_f64()? as f32;
    each(out, [input, other], move |[a, b]| a + alpha * b)
}

/// The loop of `aten::mul` on the device, over tensors that [fit](fits).
///
/// # Errors
///
/// As [`add`].
pub fn mul(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    each(out, [input, other], |[a, b]| a * b)
}

/// The loop of `aten::relu` on the device, over tensors that [fit](fits).
///
/// # Errors
///
/// As [`add`].
pub fn relu(input: &Tensor, out: &Tensor) -> Result<()> {
    each(out, [input], |[a]| if a < 0.0 { 0.0 } else { a })
}

/// [`MultiplyAdd`] on the device, in one pass.
///
/// # Errors
///
/// Arguments that do not [fit](fits); no memory.
pub fn multiply_add(input: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    if !fits([input, weight, bias]) {
        let shapes =
            [input, weight, bias].map(|it| format!("{} {:?} on {}", it.dtype(), it.sizes(), it.device()));
        let found = shapes.join(", ");
        return Err(refused(format!(
            "toy::multiply_add: expected contiguous floats of one shape on one device, found {found}"
        )));
    }
    let out = allocate(TensorSpec::contiguous(input.sizes(), DType::F32, input.device())?)?;
    each(&out, [input, weight, bias], |[a, b, c]| a * b + c)?;
    Ok(out)
}

/// [`MultiplyAdd`] where autograd may look on: a product and a sum, whose derivatives it knows.
///
/// # Errors
///
/// Those of the two operators.
pub fn multiply_then_add(input: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    input.mul(weight)?.add(bias)
}
