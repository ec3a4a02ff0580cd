//! What operators share whose result is as large as their elements say: new tensors, and outputs that get their shape.

use opgrid_core::{DType, Device, Result};

use opgrid_tensor::tensor::{Array, Element, Tensor};

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
