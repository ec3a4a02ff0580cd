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

    /// A new row-major tensor of random numbers, evenly distributed from 0 to before 1.
    ///
    /// # Errors
    ///
    /// Those of [`Rand`].
    pub fn rand(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Rand.call(size, Some(dtype), None, Some(device), None)
    }

    /// A new row-major tensor of random numbers, normally distributed with mean 0 and deviation 1.
    ///
    /// # Errors
    ///
    /// Those of [`Randn`].
    pub fn randn(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Randn.call(size, Some(dtype), None, Some(device), None)
    }

    /// `self - alpha * other`.
    ///
    /// # Errors
    ///
    /// Those of [`SubTensor`].
    pub fn sub(&self, other: &Self, alpha: impl Into<Scalar>) -> Result<Self> {
        SubTensor.call(self, other, alpha.into())
    }

    /// `self - alpha * other` with a number.
    ///
    /// # Errors
    ///
    /// Those of [`SubScalar`].
    pub fn sub_scalar(&self, other: impl Into<Scalar>, alpha: impl Into<Scalar>) -> Result<Self> {
        SubScalar.call(self, other.into(), alpha.into())
    }

    /// Subtracts `alpha * other` from this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`SubInplaceTensor`].
    pub fn sub_(&self, other: &Self, alpha: impl Into<Scalar>) -> Result<&Self> {
        SubInplaceTensor.call(self, other, alpha.into()).map(|()| self)
    }

    /// `other - alpha * self` with a number.
    ///
    /// # Errors
    ///
    /// Those of [`RsubScalar`].
    pub fn rsub_scalar(&self, other: impl Into<Scalar>, alpha: impl Into<Scalar>) -> Result<Self> {
        RsubScalar.call(self, other.into(), alpha.into())
    }

    /// The product with a number.
    ///
    /// # Errors
    ///
    /// Those of [`MulScalar`].
    pub fn mul_scalar(&self, other: impl Into<Scalar>) -> Result<Self> {
        MulScalar.call(self, other.into())
    }

    /// Multiplies this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`MulInplaceTensor`].
    pub fn mul_(&self, other: &Self) -> Result<&Self> {
        MulInplaceTensor.call(self, other).map(|()| self)
    }

    /// Multiplies this tensor by a number.
    ///
    /// # Errors
    ///
    /// Those of [`MulInplaceScalar`].
    pub fn mul_scalar_(&self, other: impl Into<Scalar>) -> Result<&Self> {
        MulInplaceScalar.call(self, other.into()).map(|()| self)
    }

    /// The quotient.
    ///
    /// # Errors
    ///
    /// Those of [`DivTensor`].
    pub fn div(&self, other: &Self) -> Result<Self> {
        DivTensor.call(self, other)
    }

    /// The quotient by a number.
    ///
    /// # Errors
    ///
    /// Those of [`DivScalar`].
    pub fn div_scalar(&self, other: impl Into<Scalar>) -> Result<Self> {
        DivScalar.call(self, other.into())
    }

    /// Divides this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`DivInplaceTensor`].
    pub fn div_(&self, other: &Self) -> Result<&Self> {
        DivInplaceTensor.call(self, other).map(|()| self)
    }

    /// The quotient, rounded as `rounding_mode` says: "trunc" towards zero, "floor" downwards.
    ///
    /// # Errors
    ///
    /// Those of [`DivTensorMode`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// let x = Tensor::from_slice(&[-7i64, 7], &[2])?;
    /// let two = Tensor::number(2);
    /// assert_eq!(x.div_rounded(&two, "floor")?.to_vec::<i64>()?, [-4, 3]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn div_rounded<'m>(&self, other: &Self, rounding_mode: impl Into<Option<&'m str>>) -> Result<Self> {
        DivTensorMode.call(self, other, rounding_mode.into())
    }

    /// The distance from zero.
    ///
    /// # Errors
    ///
    /// Those of [`Abs`].
    pub fn abs(&self) -> Result<Self> {
        Abs.call(self)
    }

    /// One divided by each element.
    ///
    /// # Errors
    ///
    /// Those of [`Reciprocal`].
    pub fn reciprocal(&self) -> Result<Self> {
        Reciprocal.call(self)
    }

    /// The square root.
    ///
    /// # Errors
    ///
    /// Those of [`Sqrt`].
    pub fn sqrt(&self) -> Result<Self> {
        Sqrt.call(self)
    }

    /// The exponential function.
    ///
    /// # Errors
    ///
    /// Those of [`Exp`].
    pub fn exp(&self) -> Result<Self> {
        Exp.call(self)
    }

    /// The natural logarithm.
    ///
    /// # Errors
    ///
    /// Those of [`Log`].
    pub fn log(&self) -> Result<Self> {
        Log.call(self)
    }

    /// The hyperbolic tangent.
    ///
    /// # Errors
    ///
    /// Those of [`Tanh`].
    pub fn tanh(&self) -> Result<Self> {
        Tanh.call(self)
    }

    /// The logistic function.
    ///
    /// # Errors
    ///
    /// Those of [`Sigmoid`].
    pub fn sigmoid(&self) -> Result<Self> {
        Sigmoid.call(self)
    }

    /// Zero instead of negative numbers.
    ///
    /// # Errors
    ///
    /// Those of [`Relu`].
    pub fn relu(&self) -> Result<Self> {
        Relu.call(self)
    }

    /// Whether elements are zero.
    ///
    /// # Errors
    ///
    /// Those of [`LogicalNot`].
    pub fn logical_not(&self) -> Result<Self> {
        LogicalNot.call(self)
    }

    /// Whether elements are NaN.
    ///
    /// # Errors
    ///
    /// Those of [`Isnan`].
    pub fn isnan(&self) -> Result<Self> {
        Isnan.call(self)
    }

    /// Whether elements are neither infinite nor NaN.
    ///
    /// # Errors
    ///
    /// Those of [`Isfinite`].
    pub fn isfinite(&self) -> Result<Self> {
        Isfinite.call(self)
    }

    /// Elements to the power of others.
    ///
    /// # Errors
    ///
    /// Those of [`PowTensorTensor`].
    pub fn pow(&self, exponent: &Self) -> Result<Self> {
        PowTensorTensor.call(self, exponent)
    }

    /// Elements to the power of a number.
    ///
    /// # Errors
    ///
    /// Those of [`PowTensorScalar`].
    pub fn pow_scalar(&self, exponent: impl Into<Scalar>) -> Result<Self> {
        PowTensorScalar.call(self, exponent.into())
    }

    /// The larger one of two elements.
    ///
    /// # Errors
    ///
    /// Those of [`Maximum`].
    pub fn maximum(&self, other: &Self) -> Result<Self> {
        Maximum.call(self, other)
    }

    /// The smaller one of two elements.
    ///
    /// # Errors
    ///
    /// Those of [`Minimum`].
    pub fn minimum(&self, other: &Self) -> Result<Self> {
        Minimum.call(self, other)
    }

    /// Whether both elements are other than zero.
    ///
    /// # Errors
    ///
    /// Those of [`LogicalAnd`].
    pub fn logical_and(&self, other: &Self) -> Result<Self> {
        LogicalAnd.call(self, other)
    }

    /// Whether at least one of two elements is other than zero.
    ///
    /// # Errors
    ///
    /// Those of [`LogicalOr`].
    pub fn logical_or(&self, other: &Self) -> Result<Self> {
        LogicalOr.call(self, other)
    }

    /// The products of as many pairs of matrices.
    ///
    /// # Errors
    ///
    /// Those of [`Bmm`].
    pub fn bmm(&self, other: &Self) -> Result<Self> {
        Bmm.call(self, other)
    }

    /// The product of vectors, matrices or stacks of matrices.
    ///
    /// # Errors
    ///
    /// Those of [`Matmul`].
    pub fn matmul(&self, other: &Self) -> Result<Self> {
        Matmul.call(self, other)
    }

    /// Whether elements are equal.
    ///
    /// # Errors
    ///
    /// Those of [`EqTensor`].
    pub fn eq(&self, other: &Self) -> Result<Self> {
        EqTensor.call(self, other)
    }

    /// The same beside a number.
    ///
    /// # Errors
    ///
    /// Those of [`EqScalar`].
    pub fn eq_scalar(&self, other: impl Into<Scalar>) -> Result<Self> {
        EqScalar.call(self, other.into())
    }

    /// Whether elements differ.
    ///
    /// # Errors
    ///
    /// Those of [`NeTensor`].
    pub fn ne(&self, other: &Self) -> Result<Self> {
        NeTensor.call(self, other)
    }

    /// The same beside a number.
    ///
    /// # Errors
    ///
    /// Those of [`NeScalar`].
    pub fn ne_scalar(&self, other: impl Into<Scalar>) -> Result<Self> {
        NeScalar.call(self, other.into())
    }

    /// Whether elements are smaller.
    ///
    /// # Errors
    ///
    /// Those of [`LtTensor`].
    pub fn lt(&self, other: &Self) -> Result<Self> {
        LtTensor.call(self, other)
    }

    /// The same beside a number.
    ///
    /// # Errors
    ///
    /// Those of [`LtScalar`].
    pub fn lt_scalar(&self, other: impl Into<Scalar>) -> Result<Self> {
        LtScalar.call(self, other.into())
    }

    /// Whether elements are smaller or equal.
    ///
    /// # Errors
    ///
    /// Those of [`LeTensor`].
    pub fn le(&self, other: &Self) -> Result<Self> {
        LeTensor.call(self, other)
    }

    /// The same beside a number.
    ///
    /// # Errors
    ///
    /// Those of [`LeScalar`].
    pub fn le_scalar(&self, other: impl Into<Scalar>) -> Result<Self> {
        LeScalar.call(self, other.into())
    }

    /// Whether elements are larger.
    ///
    /// # Errors
    ///
    /// Those of [`GtTensor`].
    pub fn gt(&self, other: &Self) -> Result<Self> {
        GtTensor.call(self, other)
    }

    /// The same beside a number.
    ///
    /// # Errors
    ///
    /// Those of [`GtScalar`].
    pub fn gt_scalar(&self, other: impl Into<Scalar>) -> Result<Self> {
        GtScalar.call(self, other.into())
    }

    /// Whether elements are larger or equal.
    ///
    /// # Errors
    ///
    /// Those of [`GeTensor`].
    pub fn ge(&self, other: &Self) -> Result<Self> {
        GeTensor.call(self, other)
    }

    /// The same beside a number.
    ///
    /// # Errors
    ///
    /// Those of [`GeScalar`].
    pub fn ge_scalar(&self, other: impl Into<Scalar>) -> Result<Self> {
        GeScalar.call(self, other.into())
    }

    /// The sum over dimensions, all if none is named.
    ///
    /// # Errors
    ///
    /// Those of [`SumDim`].
    pub fn sum_dim(&self, dim: &[i64], keepdim: bool) -> Result<Self> {
        SumDim.call(self, Some(dim), keepdim, None)
    }

    /// The average of all elements.
    ///
    /// # Errors
    ///
    /// Those of [`Mean`].
    pub fn mean(&self) -> Result<Self> {
        Mean.call(self, None)
    }

    /// The average over dimensions, all if none is named.
    ///
    /// # Errors
    ///
    /// Those of [`MeanDim`].
    pub fn mean_dim(&self, dim: &[i64], keepdim: bool) -> Result<Self> {
        MeanDim.call(self, Some(dim), keepdim, None)
    }

    /// The largest element over dimensions, all if none is named.
    ///
    /// # Errors
    ///
    /// Those of [`Amax`].
    pub fn amax(&self, dim: &[i64], keepdim: bool) -> Result<Self> {
        Amax.call(self, dim, keepdim)
    }

    /// The smallest element over dimensions, all if none is named.
    ///
    /// # Errors
    ///
    /// Those of [`Amin`].
    pub fn amin(&self, dim: &[i64], keepdim: bool) -> Result<Self> {
        Amin.call(self, dim, keepdim)
    }

    /// Where the largest element is, of all or over a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Argmax`].
    pub fn argmax(&self, dim: impl Into<Option<i64>>, keepdim: bool) -> Result<Self> {
        Argmax.call(self, dim.into(), keepdim)
    }

    /// Whether some element is other than zero.
    ///
    /// # Errors
    ///
    /// Those of [`Any`].
    pub fn any(&self) -> Result<Self> {
        Any.call(self)
    }

    /// Whether some element is other than zero, over a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`AnyDim`].
    pub fn any_dim(&self, dim: i64, keepdim: bool) -> Result<Self> {
        AnyDim.call(self, dim, keepdim)
    }

    /// Whether every element is other than zero.
    ///
    /// # Errors
    ///
    /// Those of [`All`].
    pub fn all(&self) -> Result<Self> {
        All.call(self)
    }

    /// Whether every element is other than zero, over a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`AllDim`].
    pub fn all_dim(&self, dim: i64, keepdim: bool) -> Result<Self> {
        AllDim.call(self, dim, keepdim)
    }

    /// `beta * self + alpha * (mat1 @ mat2)`.
    ///
    /// # Errors
    ///
    /// Those of [`Addmm`].
    pub fn addmm(
        &self,
        mat1: &Self,
        mat2: &Self,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Self> {
        Addmm.call(self, mat1, mat2, beta.into(), alpha.into())
    }

    /// Whether both have the same shape and elements.
    ///
    /// # Errors
    ///
    /// Those of [`Equal`].
    pub fn equal(&self, other: &Self) -> Result<bool> {
        Equal.call(self, other)
    }

    /// Whether elements are as good as equal: `|self - other| <= atol + |rtol * other|`.
    ///
    /// # Errors
    ///
    /// Those of [`Isclose`].
    pub fn isclose(&self, other: &Self, rtol: f64, atol: f64) -> Result<Self> {
        Isclose.call(self, other, rtol, atol, false)
    }

    /// Whether all elements are as good as equal.
    ///
    /// # Errors
    ///
    /// Those of [`Allclose`].
    pub fn allclose(&self, other: &Self, rtol: f64, atol: f64) -> Result<bool> {
        Allclose.call(self, other, rtol, atol, false)
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
