//! What operators share whose result is as large as their elements say: new tensors, and outputs that get their shape.

use opgrid_core::{DType, Device, Result};

use opgrid_array::error::{argument, without_data};
use opgrid_tensor::layers::fake;
use opgrid_tensor::tensor::{Array, Element, Tensor};

/// How many elements of a tensor without data are assumed to be found, of at most so many; `None` for one with data.
///
/// # Errors
///
/// A tensor without data for which nothing is assumed: how large the result is depends on elements.
pub(crate) fn assumed(input: &Tensor, most: i64) -> Result<Option<i64>> {
    if !input.device().is_meta() {
        return Ok(None);
    }
    match fake::assumed_count(input.device(), most) {
        Some(found) => Ok(Some(found)),
        None => {
            let remedy = if input.device().is_fake() {
                "assume a density of elements, or create it on a device with data"
            } else {
                "create it on a device with data"
            };
            let found = without_data(input.device());
            Err(argument(format!(
                "argument `self` is {found}, but the size of the result depends on its elements; {remedy}"
            )))
        }
    }
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
