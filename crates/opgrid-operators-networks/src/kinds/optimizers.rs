//! What the steps of optimizers have in common: lists of tensors, one of each for each parameter.

use opgrid_core::{DType, Result, Scalar};

use opgrid_array::error::argument;
use opgrid_array::with_dtype;
use opgrid_kernels::math::Inexact;
use opgrid_kernels::{arithmetic, elementwise};
use opgrid_tensor::tensor::{Math, Tensor};

/// Lists of an optimizer, by the names of their arguments: each has a tensor for each parameter, of the parameter's sizes,
/// dtype and device.
///
/// # Errors
///
/// Another number of tensors; other sizes, dtypes or devices; a parameter that is no floating-point tensor.
pub(crate) fn check(parameters: &[Tensor], lists: &[(&str, &[Tensor])]) -> Result<()> {
    for (name, list) in lists {
        if list.len() != parameters.len() {
            return Err(argument(format!(
                "argument `{name}` has {} tensors, expected {}, one for each of `self`",
                list.len(),
                parameters.len()
            )));
        }
        for (place, (parameter, tensor)) in parameters.iter().zip(*list).enumerate() {
            let fits = tensor.sizes() == parameter.sizes()
                && tensor.dtype() == parameter.dtype()
                && tensor.device() == parameter.device();
            if !fits {
                return Err(argument(format!(
                    "argument `{name}`: tensor {place} has sizes {:?} and dtype {} on {}, expected \
                     {:?} and {} on {} as the parameter",
                    tensor.sizes(),
                    tensor.dtype(),
                    tensor.device(),
                    parameter.sizes(),
                    parameter.dtype(),
                    parameter.device()
                )));
            }
        }
    }
    match parameters.iter().find(|parameter| !parameter.dtype().is_floating_point()) {
        None => Ok(()),
        Some(other) => Err(argument(format!(
            "argument `self` has a tensor of {}, expected floating-point ones; optimize complex numbers as pairs of real ones",
            other.dtype()
        ))),
    }
}

/// Whether the step is left out, because some gradient is not finite.
///
/// # Errors
///
/// A tensor that is no single number.
pub(crate) fn is_left_out(found_inf: Option<&Tensor>) -> Result<bool> {
    found_inf.map_or(Ok(false), |found| Ok(found.item()?.to_f64()? != 0.0))
}

/// # Errors
///
/// The tensor is not one number of float32.
pub(crate) fn check_number(name: &str, tensor: &Tensor) -> Result<()> {
    if tensor.numel() == 1 && tensor.dtype() == DType::F32 {
        return Ok(());
    }
    Err(argument(format!(
        "argument `{name}` has sizes {:?} and dtype {}, expected one number of float32",
        tensor.sizes(),
        tensor.dtype()
    )))
}

/// Divides gradients by the scale of the loss that they come from.
///
/// # Errors
///
/// A scale that is no single number; gradients that cannot be written.
pub(crate) fn unscale(grads: &[Tensor], scale: Option<&Tensor>) -> Result<()> {
    let Some(scale) = scale else { return Ok(()) };
    let scale = Scalar::Float(scale.item()?.to_f64()?);
    for grad in grads {
        with_dtype!(grad.dtype(), T: Float => {
            let scale = arithmetic::element::<Math<T>>(scale)?;
            elementwise::unary::<T, T>(grad, grad, move |grad| grad.over(scale))
        })?;
    }
    Ok(())
}
