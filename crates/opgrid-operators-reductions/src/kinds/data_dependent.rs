//! What operators share whose result is as large as their elements say: new tensors, and outputs that get their shape.

use opgrid_core::{DType, Device, Result};

use opgrid_array::error::{argument, without_data};
use opgrid_tensor::tensor::{Array, Element, Tensor};

/// # Errors
///
/// A meta tensor: how large the result is depends on elements.
pub(crate) fn check_data(input: &Tensor) -> Result<()> {
    if input.device().is_meta() {
        let found = without_data(input.device());
        return Err(argument(format!(
            "argument `self` is {found}, but the size of the result depends on its elements; create it on a device with data"
        )));
    }
    Ok(())
}

/// A new tensor of these elements.
///
/// # Errors
///
/// No memory.
pub(crate) fn tensor<T: Element>(elements: &[T], sizes: &[i64]) -> Result<Tensor> {
    Tensor::from_array(Array::from_slice(elements, sizes)?)
}

/// A new tensor without elements.
///
/// # Errors
///
/// No memory.
pub(crate) fn nothing(dtype: DType, device: Device) -> Result<Tensor> {
    Tensor::empty(&[0], dtype, device)
}
