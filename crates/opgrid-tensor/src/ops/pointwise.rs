//! What element-wise operators share: the shape of the result.

use opgrid_core::{DType, Device, DeviceType, Result};

use crate::error::argument;
use crate::tensor::{Tensor, TensorSpec, broadcast, result_type};

/// What an element-wise operator on these arguments gives, in the promoted dtype.
///
/// # Errors
///
/// Undefined tensors, dtypes that do not promote, several devices, or a shape that does not broadcast with that of
/// the first argument.
pub(super) fn promoted<const N: usize>(arguments: [(&str, &Tensor); N]) -> Result<TensorSpec> {
    let dtype = result_type(&arguments.map(|(_, tensor)| tensor))?;
    of_dtype(arguments, dtype)
}

/// The same for functions such as `exp`, which give the default dtype for integers and bools.
///
/// # Errors
///
/// As [`promoted`].
pub(super) fn inexact<const N: usize>(arguments: [(&str, &Tensor); N]) -> Result<TensorSpec> {
    let dtype = result_type(&arguments.map(|(_, tensor)| tensor))?;
    of_dtype(arguments, crate::tensor::inexact(dtype))
}

/// The same in a dtype that does not depend on the arguments, such as bool for comparisons.
///
/// # Errors
///
/// As [`promoted`].
pub(super) fn of_dtype<const N: usize>(arguments: [(&str, &Tensor); N], dtype: DType) -> Result<TensorSpec> {
    let tensors = arguments.map(|(_, tensor)| tensor);
    if let Some(undefined) = tensors.iter().find(|tensor| !tensor.is_defined()) {
        return undefined.spec().cloned();
    }
    let device = common_device(&tensors)?;
    let geometries = tensors.map(Tensor::geometry);
    TensorSpec::elementwise(&geometries, dtype, device).map_err(|error| misfit(&arguments).unwrap_or(error))
}

/// The device of all; one tensor without dimensions on the CPU fits any.
///
/// # Errors
///
/// Tensors on different devices.
#[inline]
fn common_device(tensors: &[&Tensor]) -> Result<Device> {
    if let Some((first, rest)) = tensors.split_first()
        && rest.iter().all(|other| other.device() == first.device())
    {
        return Ok(first.device());
    }
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
