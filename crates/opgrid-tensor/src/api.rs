//! Operators as methods of tensors, one line each.

use opgrid_core::{DType, Device, MemoryFormat, Result, Scalar};

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

    /// The product.
    ///
    /// # Errors
    ///
    /// Those of [`MulTensor`].
    pub fn mul(&self, other: &Self) -> Result<Self> {
        MulTensor.call(self, other)
    }

    /// The negative.
    ///
    /// # Errors
    ///
    /// Those of [`Neg`].
    pub fn neg(&self) -> Result<Self> {
        Neg.call(self)
    }

    /// The sum of all elements.
    ///
    /// # Errors
    ///
    /// Those of [`Sum`].
    pub fn sum(&self) -> Result<Self> {
        Sum.call(self, None)
    }

    /// The matrix product.
    ///
    /// # Errors
    ///
    /// Those of [`Mm`].
    pub fn mm(&self, mat2: &Self) -> Result<Self> {
        Mm.call(self, mat2)
    }

    /// Sets every element to `value`.
    ///
    /// # Errors
    ///
    /// Those of [`FillInplaceScalar`].
    pub fn fill_(&self, value: impl Into<Scalar>) -> Result<&Self> {
        FillInplaceScalar.call(self, value.into()).map(|()| self)
    }

    /// Writes the elements of `src` to this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`CopyInplace`].
    pub fn copy_(&self, src: &Self) -> Result<&Self> {
        CopyInplace.call(self, src, false).map(|()| self)
    }

    /// The same elements in row-major order: this very tensor, if they are.
    ///
    /// # Errors
    ///
    /// Those of [`Contiguous`].
    pub fn contiguous(&self) -> Result<Self> {
        Contiguous.call(self, MemoryFormat::Contiguous)
    }

    /// The same elements under other sizes, of which one may be -1.
    ///
    /// # Errors
    ///
    /// Those of [`View`].
    pub fn view(&self, size: &[i64]) -> Result<Self> {
        View.call(self, size)
    }

    /// A view with any sizes and strides; without an offset it is that of this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`AsStrided`].
    pub fn as_strided(&self, size: &[i64], stride: &[i64], storage_offset: Option<i64>) -> Result<Self> {
        AsStrided.call(self, size, stride, storage_offset)
    }

    /// One index of a dimension, which disappears.
    ///
    /// # Errors
    ///
    /// Those of [`SelectInt`].
    pub fn select(&self, dim: i64, index: i64) -> Result<Self> {
        SelectInt.call(self, dim, index)
    }

    /// Every `step`-th index of a dimension from `start` to before `end`.
    ///
    /// # Errors
    ///
    /// Those of [`SliceTensor`].
    pub fn slice(
        &self,
        dim: i64,
        start: impl Into<Option<i64>>,
        end: impl Into<Option<i64>>,
        step: i64,
    ) -> Result<Self> {
        SliceTensor.call(self, dim, start.into(), end.into(), step)
    }
}

impl std::ops::Add for &Tensor {
    type Output = Result<Tensor>;

    fn add(self, other: Self) -> Result<Tensor> {
        AddTensor.call(self, other, Scalar::Int(1))
    }
}

impl std::ops::Mul for &Tensor {
    type Output = Result<Tensor>;

    fn mul(self, other: Self) -> Result<Tensor> {
        MulTensor.call(self, other)
    }
}

impl std::ops::Neg for &Tensor {
    type Output = Result<Tensor>;

    fn neg(self) -> Result<Tensor> {
        Neg.call(self)
    }
}
