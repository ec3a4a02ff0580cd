//! Devices, as tensors use them: what [`opgrid_array::devices`] says, and what needs a tensor.

pub use opgrid_array::devices::*;
use opgrid_array::{Array, TensorSpec};
use opgrid_core::{Device, DeviceType, Result};

use crate::error::argument;
use crate::tensor::Tensor;

/// A new tensor of the CPU in pinned memory.
///
/// # Errors
///
/// As [`pinned_storage`].
pub fn pinned(spec: TensorSpec, kind: Option<DeviceType>) -> Result<Tensor> {
    let storage = pinned_storage(kind, spec.bytes()?)?;
    Tensor::from_array(Array::new(spec, storage)?)
}

/// Whether a tensor of the CPU lies in pinned memory, of any device or of the type of `device`.
///
/// # Errors
///
/// An undefined tensor.
pub fn is_pinned(input: &Tensor, device: Option<Device>) -> Result<bool> {
    if input.spec()?.device().kind() != DeviceType::Cpu || input.is_number() {
        return Ok(false);
    }
    let pinned_for = input.array()?.storage().pinned_for();
    Ok(pinned_for.is_some_and(|kind| device.is_none_or(|device| device.kind() == kind)))
}

/// # Streams of devices
impl Tensor {
    /// Notes that work on `stream` uses this tensor's memory which the backend does not know of, such as work that a
    /// program has queued there itself: when the memory is dropped, its bytes are nobody else's until all that was queued
    /// there has ended. Memory of the CPU needs no note: who queues work on it holds a guard
    /// ([`Storage::read_owned`](crate::Storage::read_owned)).
    ///
    /// # Errors
    ///
    /// A stream of another type of device; a tensor without memory; those of the backend.
    pub fn record_stream(&self, stream: &Stream) -> Result<()> {
        let array = self.array()?;
        let Some(memory) = array.storage().device_memory() else { return Ok(()) };
        if self.device().kind() != stream.device().kind() {
            return Err(argument(format!(
                "record_stream: found a stream of {}, expected one of the tensor's type of device, `{}`",
                stream.device(),
                self.device().kind()
            )));
        }
        memory.record_stream(stream)
    }
}
