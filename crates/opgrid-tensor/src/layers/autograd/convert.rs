//! Tensors that take over the elements of another one, of any dtype and shape, and stay who they are.

use opgrid_core::{DType, Result};

use super::no_grad;
use crate::error::argument;
use crate::ops::CopyInplace;
use crate::tensor::Tensor;

/// Gives a tensor the memory, sizes and dtype of another one, so that whoever holds the tensor, such as an optimizer its
/// parameters, goes on with the new elements. It keeps its gradient and its hooks. A graph that was recorded before keeps the
/// elements that it saw, and so do views.
///
/// # Errors
///
/// Another device; a quantized dtype; a tensor without a storage.
pub fn replace_elements(tensor: &Tensor, other: &Tensor) -> Result<()> {
    tensor.take_elements(other.array()?, false).map_err(|error| {
        argument(format!("the elements of a tensor cannot be replaced: {}", error.message()))
    })
}

/// As [`replace_elements`], where the caller promises that nobody uses `other` afterwards: memory that the tensor had before, of
/// the same spec, is used again, so that a tensor that is converted to and fro takes no more.
///
/// # Errors
///
/// Those of [`replace_elements`].
pub fn replace_elements_by(tensor: &Tensor, other: Tensor) -> Result<()> {
    let Some(spare) = tensor.spare_array(other.spec()?) else {
        return replace_elements(tensor, &other);
    };
    let again = Tensor::from_array(spare)?;
    no_grad(|| CopyInplace.call(&again, &other, false))?;
    replace_elements(tensor, &again)
}

/// Converts a tensor and its gradient in place, as modules do it with their parameters: handles of the tensor stay handles of
/// it. What needs no conversion is left as it is.
///
/// # Errors
///
/// Those of [`replace_elements`], and of `aten::to`; then the tensor is as it was.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_tensor::{Tensor, layers::autograd};
///
/// let weight = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
/// weight.requires_grad_(true)?;
/// let held = weight.clone();
/// autograd::convert_in_place(&weight, DType::F64)?;
/// assert_eq!((held.dtype(), held.to_vec::<f64>()?), (DType::F64, vec![1.0, 2.0]));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn convert_in_place(tensor: &Tensor, dtype: DType) -> Result<()> {
    if tensor.dtype() == dtype {
        return Ok(());
    }
    let grad = tensor.grad();
    let (converted, converted_grad) = no_grad(|| {
        let grad = grad.as_ref().map(|grad| grad.to_dtype(dtype)).transpose()?;
        Ok((tensor.to_dtype(dtype)?, grad))
    })?;
    replace_elements_by(tensor, converted)?;
    match grad.zip(converted_grad) {
        Some((grad, converted)) => replace_elements_by(&grad, converted),
        None => Ok(()),
    }
}
