//! Operators as methods of tensors, one line each.

use opgrid_core::{DType, Device, Result, Scalar};

use crate::ops::*;
use crate::tensor::Tensor;

impl Tensor {
    /// A new row-major tensor with any content.
    ///
    /// # Errors
    ///
    /// Those of [`EmptyMemoryFormat`].
    pub fn empty(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        EmptyMemoryFormat.call(size, Some(dtype), None, Some(device), None, None)
    }

    /// `self + alpha * other`.
    ///
    /// # Errors
    ///
    /// Those of [`AddTensor`].
    pub fn add(&self, other: &Self, alpha: impl Into<Scalar>) -> Result<Self> {
        AddTensor.call(self, other, alpha.into())
    }

    /// `self + alpha * other` with a number.
    ///
    /// # Errors
    ///
    /// Those of [`AddScalar`].
    pub fn add_scalar(&self, other: impl Into<Scalar>, alpha: impl Into<Scalar>) -> Result<Self> {
        AddScalar.call(self, other.into(), alpha.into())
    }

    /// Adds `alpha * other` to this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`AddInplaceTensor`].
    pub fn add_(&self, other: &Self, alpha: impl Into<Scalar>) -> Result<&Self> {
        AddInplaceTensor.call(self, other, alpha.into()).map(|()| self)
    }
}
