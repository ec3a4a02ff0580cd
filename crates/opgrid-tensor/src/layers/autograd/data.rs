//! A tensor's memory, changed behind the back of the graph.

use opgrid_core::Result;

use super::no_grad;
use crate::error::argument;
use crate::ops::CopyInplace;
use crate::tensor::Tensor;

impl Tensor {
    /// Gives the tensor the memory of another one, with its sizes. It stays the leaf or the result that it was, with its gradient
    /// and its hooks; graphs that were recorded before keep the memory that they saw.
    ///
    /// What the tensor had before is kept until it is dropped, for somebody may still look at it. [`replace_data`] does without
    /// that where it can.
    ///
    /// # Errors
    ///
    /// Another dtype or device; a tensor without a storage.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// let weight = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    /// weight.requires_grad_(true)?;
    /// let loss = weight.mul(&weight)?.sum()?;
    /// weight.set_data(&Tensor::from_slice(&[7.0f32, 8.0], &[2])?)?;
    /// loss.backward()?;
    /// assert_eq!(weight.to_vec::<f32>()?, [7.0, 8.0]);
    /// assert_eq!(weight.grad().unwrap().to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn set_data(&self, data: &Self) -> Result<()> {
        let array = data.array()?;
        self.become_array(array.clone()).map_err(|error| {
            argument(format!("the data of a tensor cannot be replaced: {}", error.message()))
        })
    }
}

/// As [`Tensor::set_data`], where the caller promises that nobody uses `data` afterwards, so that a program that does this in
/// every step takes no more memory.
///
/// Where nobody else sees the tensor's memory either, the elements move over instead of the memory, which nobody can tell.
///
/// # Errors
///
/// Those of [`Tensor::set_data`].
pub fn replace_data(tensor: &Tensor, data: &Tensor) -> Result<()> {
    let is_own = |tensor: &Tensor| tensor.array().is_ok_and(|array| array.storage().owners() == 1);
    let is_alike = tensor.dtype() == data.dtype()
        && tensor.device() == data.device()
        && tensor.geometry() == data.geometry();
    if is_alike && is_own(tensor) && is_own(data) {
        return no_grad(|| CopyInplace.call(tensor, data, false)).map(drop);
    }
    tensor.set_data(data)
}
