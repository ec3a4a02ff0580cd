//! What element-wise operators share: the shape of the result.

use opgrid_core::{Device, DeviceType, Result};
use smallvec::SmallVec;

use crate::error::argument;
use crate::tensor::{Geometry, Tensor, TensorSpec, broadcast, result_type};

/// What an element-wise operator on these arguments gives, in the dtype that it computes in.
///
/// # Errors
///
/// Undefined tensors, dtypes that do not promote, several devices, or a shape that does not broadcast with that of
/// the first argument.
pub(super) fn shape(arguments: &[(&str, &Tensor)]) -> Result<TensorSpec> {
    let tensors: SmallVec<[&Tensor; 4]> = arguments.iter().map(|(_, tensor)| *tensor).collect();
    let dtype = result_type(&tensors)?;
    let device = common_device(&tensors)?;
    let specs = tensors.iter().map(|tensor| tensor.spec().map(TensorSpec::geometry));
    let geometries = specs.collect::<Result<SmallVec<[&Geometry; 4]>>>()?;
    TensorSpec::elementwise(&geometries, dtype, device).map_err(|error| misfit(arguments).unwrap_or(error))
}

/// The device of all; one tensor without dimensions on the CPU fits any.
///
/// # Errors
///
/// Tensors on different devices.
fn common_device(tensors: &[&Tensor]) -> Result<Device> {
    let fits_any = |tensor: &&&Tensor| tensor.dim() == 0 && tensor.device().kind() == DeviceType::Cpu;
    let mut bound = tensors.iter().filter(|tensor| !fits_any(tensor)).map(|tensor| tensor.device());
    let device = bound.next().unwrap_or_default();
    match bound.find(|other| *other != device) {
        Some(other) => {
            let message = format!(
                "expected all tensors to be on the same device, but found at least two, {device} and {other}"
            );
            Err(argument(message))
        }
        None => Ok(device),
    }
}

/// The error for the first argument whose shape does not broadcast with that of the first.
#[cold]
fn misfit(arguments: &[(&str, &Tensor)]) -> Option<opgrid_core::Error> {
    let ((first, input), rest) = arguments.split_first()?;
    let (name, other) = rest.iter().find(|(_, other)| broadcast(&[input.sizes(), other.sizes()]).is_err())?;
    let message = format!(
        "argument `{name}` has shape {:?}, which does not broadcast with `{first}` of shape {:?}",
        other.sizes(),
        input.sizes()
    );
    Some(argument(message))
}
