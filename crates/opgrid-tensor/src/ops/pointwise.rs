//! What element-wise operators share: the shape of the result.

use opgrid_core::{DType, Device, Result};

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
    let Some(specs) = specs(&arguments) else { return Err(undefined(&arguments)) };
    let device = common_device(&specs)?;
    let geometries = specs.map(TensorSpec::geometry);
    TensorSpec::elementwise(&geometries, dtype, device).map_err(|error| misfit(&arguments).unwrap_or(error))
}

/// The specs of all arguments, if they are defined.
#[inline]
fn specs<'a, const N: usize>(arguments: &[(&str, &'a Tensor); N]) -> Option<[&'a TensorSpec; N]> {
    let all = arguments.iter().all(|(_, tensor)| tensor.is_defined());
    all.then(|| arguments.map(|(_, tensor)| tensor.known_spec()))
}

#[cold]
fn undefined(arguments: &[(&str, &Tensor)]) -> opgrid_core::Error {
    let name = arguments.iter().find(|(_, tensor)| !tensor.is_defined()).map_or("self", |(name, _)| name);
    argument(format!("argument `{name}` is an undefined tensor, expected one with elements"))
}

/// The device of all; one tensor without dimensions on the CPU fits any.
///
/// # Errors
///
/// Tensors on different devices.
#[inline]
fn common_device(specs: &[&TensorSpec]) -> Result<Device> {
    match specs.split_first() {
        Some((first, rest)) if rest.iter().all(|other| other.device() == first.device()) => {
            Ok(first.device())
        }
        _ => device_of_several(specs),
    }
}

#[cold]
fn device_of_several(specs: &[&TensorSpec]) -> Result<Device> {
    let fits_any = |spec: &&&TensorSpec| spec.sizes().is_empty() && spec.device() == Device::CPU;
    let mut bound = specs.iter().filter(|spec| !fits_any(spec)).map(|spec| spec.device());
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
