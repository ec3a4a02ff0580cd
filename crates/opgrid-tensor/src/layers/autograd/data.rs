//! A tensor's memory, seen and changed behind the back of the graph.

use opgrid_core::{DType, Result};

use super::backward::is_differentiable;
use super::no_grad;
use crate::error::argument;
use crate::ops::CopyInplace;
use crate::tensor::Tensor;

/// # Data behind the graph
impl Tensor {
    /// Returns a tensor on this memory that no gradients lead to, and whose writes the graph does not notice: a
    /// backward pass that needs the tensor uses its current elements. This is `x.data` in torch; writes to the result
    /// of [`detach`](Self::detach) are noticed.
    ///
    /// A tensor that a layer implements is detached, because its memory is the layer's.
    ///
    /// # Errors
    ///
    /// Those of [`detach`](Self::detach); no memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let weight = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    /// weight.requires_grad_(true)?;
    /// let loss = weight.mul(&weight)?.sum()?;
    /// weight.untracked()?.add_(&weight.untracked()?)?;
    /// loss.backward()?;
    /// assert_eq!(weight.grad().unwrap().to_vec::<f32>()?, [4.0, 8.0]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn untracked(&self) -> Result<Self> {
        if self.any_wrapper().is_some() || !self.is_defined() {
            return self.detach();
        }
        Ok(self.unwatched_view()?.detached_from_graph())
    }

    /// Gives the tensor the memory of another one, with its sizes and dtype. It stays the leaf or the result that it was, with its
    /// gradient and its hooks; graphs that were recorded before, views and others who hold the old memory keep it. The tensors
    /// share the new memory, but count writes apart.
    ///
    /// What the tensor had before is kept until it is dropped, for somebody may still look at it. [`replace_data`] does without
    /// that where it can.
    ///
    /// # Errors
    ///
    /// Another device; a dtype without gradients for a tensor that requires one; a tensor without a storage.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
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
        self.take_data(data, false)
    }

    fn take_data(&self, data: &Self, is_last: bool) -> Result<()> {
        if self.requires_grad() && !is_differentiable(data.dtype()) {
            return Err(argument(format!(
                "the data of a tensor cannot be replaced: found elements of {} for a tensor that requires a gradient, expected a \
                 floating-point or complex dtype; switch `requires_grad` off first",
                data.dtype()
            )));
        }
        let array = data.array()?;
        self.take_elements(array, is_last).map_err(|error| {
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
    if !is_own(data) {
        return tensor.set_data(data);
    }
    if !is_alike || !is_own(tensor) {
        // Memory that the tensor had before, as one that is converted to and fro has it.
        let spare = tensor.spare_array(data.spec()?).map(Tensor::from_array).transpose()?;
        if let Some(spare) = &spare {
            no_grad(|| CopyInplace.call(spare, data, false))?;
        }
        return tensor.take_data(spare.as_ref().unwrap_or(data), true);
    }
    let version = tensor.version();
    no_grad(|| CopyInplace.call(tensor, data, false))?;
    tensor.array()?.storage().set_version(version);
    Ok(())
}

/// Converts a tensor and its gradient in place, as modules do it with their parameters: handles of the tensor stay handles of
/// it. What needs no conversion is left as it is.
///
/// # Errors
///
/// Those of [`Tensor::set_data`], and of `aten::to`; then the tensor is as it was.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid::{Tensor, layers::autograd};
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
    replace_data(tensor, &converted)?;
    match grad.zip(converted_grad) {
        Some((grad, converted)) => replace_data(&grad, &converted),
        None => Ok(()),
    }
}
