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

    /// A new tensor of zeros.
    ///
    /// # Errors
    ///
    /// Those of [`Zeros`].
    pub fn zeros(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Zeros.call(size, Some(dtype), None, Some(device), None)
    }

    /// A new tensor of ones.
    ///
    /// # Errors
    ///
    /// Those of [`Ones`].
    pub fn ones(size: &[i64], dtype: DType, device: Device) -> Result<Self> {
        Ones.call(size, Some(dtype), None, Some(device), None)
    }

    /// A new tensor with `value` everywhere; without a dtype it has that of the number.
    ///
    /// # Errors
    ///
    /// Those of [`Full`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::Device;
    /// use opgrid_tensor::Tensor;
    ///
    /// let x = Tensor::full(&[2], 7, None, Device::CPU)?;
    /// assert_eq!(x.to_string(), "tensor([7, 7])");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn full(
        size: &[i64],
        value: impl Into<Scalar>,
        dtype: Option<DType>,
        device: Device,
    ) -> Result<Self> {
        Full.call(size, value.into(), dtype, None, Some(device), None)
    }

    /// The numbers from `start` to before `end`; of integers an int64 tensor.
    ///
    /// # Errors
    ///
    /// Those of [`ArangeStartStep`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// assert_eq!(Tensor::arange(1, 7, 2)?.to_string(), "tensor([1, 3, 5])");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn arange(start: impl Into<Scalar>, end: impl Into<Scalar>, step: impl Into<Scalar>) -> Result<Self> {
        ArangeStartStep.call(start.into(), end.into(), step.into(), None, None, None, None)
    }

    /// `steps` numbers from `start` to `end`, both included, in the default dtype.
    ///
    /// # Errors
    ///
    /// Those of [`Linspace`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// assert_eq!(Tensor::linspace(0, 1, 5)?.to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn linspace(start: impl Into<Scalar>, end: impl Into<Scalar>, steps: i64) -> Result<Self> {
        Linspace.call(start.into(), end.into(), steps, None, None, None, None)
    }

    /// A matrix with ones on the diagonal and zeros elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`EyeM`].
    pub fn eye(rows: i64, columns: i64, dtype: DType, device: Device) -> Result<Self> {
        EyeM.call(rows, columns, Some(dtype), None, Some(device), None)
    }

    /// Tensors one behind the other along a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Cat`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 2, 1)?;
    /// assert_eq!(Tensor::cat(&[x.clone(), x], 0)?.to_vec::<i64>()?, [0, 1, 0, 1]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn cat(tensors: &[Self], dim: i64) -> Result<Self> {
        Cat.call(tensors, dim)
    }

    /// Tensors of one shape along a new dimension.
    ///
    /// # Errors
    ///
    /// Those of [`Stack`].
    pub fn stack(tensors: &[Self], dim: i64) -> Result<Self> {
        Stack.call(tensors, dim)
    }

    /// `self` where `condition` is true, `other` elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`WhereSelf`].
    pub fn where_self(&self, condition: &Self, other: &Self) -> Result<Self> {
        WhereSelf.call(condition, self, other)
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

    /// Stretched to other sizes by repeating elements; -1 keeps a size.
    ///
    /// # Errors
    ///
    /// Those of [`Expand`].
    pub fn expand(&self, size: &[i64]) -> Result<Self> {
        Expand.call(self, size, false)
    }

    /// The dimensions in another order.
    ///
    /// # Errors
    ///
    /// Those of [`Permute`].
    pub fn permute(&self, dims: &[i64]) -> Result<Self> {
        Permute.call(self, dims)
    }

    /// Two dimensions exchanged.
    ///
    /// # Errors
    ///
    /// Those of [`TransposeInt`].
    pub fn transpose(&self, dim0: i64, dim1: i64) -> Result<Self> {
        TransposeInt.call(self, dim0, dim1)
    }

    /// The transposed matrix.
    ///
    /// # Errors
    ///
    /// Those of [`T`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, 1)?.view(&[2, 3])?;
    /// assert_eq!(x.t()?.to_vec::<i64>()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn t(&self) -> Result<Self> {
        T.call(self)
    }

    /// Without dimensions of size 1.
    ///
    /// # Errors
    ///
    /// Those of [`Squeeze`].
    pub fn squeeze(&self) -> Result<Self> {
        Squeeze.call(self)
    }

    /// Without one dimension, if its size is 1.
    ///
    /// # Errors
    ///
    /// Those of [`SqueezeDim`].
    pub fn squeeze_dim(&self, dim: i64) -> Result<Self> {
        SqueezeDim.call(self, dim)
    }

    /// With a dimension of size 1 before `dim`.
    ///
    /// # Errors
    ///
    /// Those of [`Unsqueeze`].
    pub fn unsqueeze(&self, dim: i64) -> Result<Self> {
        Unsqueeze.call(self, dim)
    }

    /// The same elements under other sizes: a view where there is one, otherwise a copy.
    ///
    /// # Errors
    ///
    /// Those of [`Reshape`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, 1)?.view(&[2, 3])?;
    /// assert_eq!(x.t()?.reshape(&[-1])?.to_vec::<i64>()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn reshape(&self, shape: &[i64]) -> Result<Self> {
        Reshape.call(self, shape)
    }

    /// The dimensions from `start_dim` to `end_dim`, both included, as one.
    ///
    /// # Errors
    ///
    /// Those of [`FlattenUsingInts`].
    pub fn flatten(&self, start_dim: i64, end_dim: i64) -> Result<Self> {
        FlattenUsingInts.call(self, start_dim, end_dim)
    }

    /// The indices of one dimension that a list names.
    ///
    /// # Errors
    ///
    /// Those of [`IndexSelect`].
    pub fn index_select(&self, dim: i64, index: &Self) -> Result<Self> {
        IndexSelect.call(self, dim, index)
    }

    /// An element of dimension `dim` for each index.
    ///
    /// # Errors
    ///
    /// Those of [`Gather`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, 1)?.view(&[2, 3])?;
    /// let index = Tensor::from_slice(&[2i64, 0], &[2, 1])?;
    /// assert_eq!(x.gather(1, &index)?.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn gather(&self, dim: i64, index: &Self) -> Result<Self> {
        Gather.call(self, dim, index, false)
    }

    /// The elements that tensors of indices or masks name; `None` keeps a dimension whole.
    ///
    /// # Errors
    ///
    /// Those of [`IndexTensor`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_tensor::Tensor;
    ///
    /// let x = Tensor::arange(0, 6, 1)?.view(&[2, 3])?;
    /// let columns = Tensor::from_slice(&[2i64, -3], &[2])?;
    /// assert_eq!(x.index(&[None, Some(columns)])?.to_vec::<i64>()?, [2, 0, 5, 3]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn index(&self, indices: &[Option<Self>]) -> Result<Self> {
        IndexTensor.call(self, indices)
    }

    /// Writes `values` to the elements that tensors of indices or masks name, or adds them.
    ///
    /// # Errors
    ///
    /// Those of [`IndexPutInplace`].
    pub fn index_put_(&self, indices: &[Option<Self>], values: &Self, accumulate: bool) -> Result<&Self> {
        IndexPutInplace.call(self, indices, values, accumulate).map(|()| self)
    }

    /// A copy with a number where a mask is true.
    ///
    /// # Errors
    ///
    /// Those of [`MaskedFillScalar`].
    pub fn masked_fill(&self, mask: &Self, value: impl Into<Scalar>) -> Result<Self> {
        MaskedFillScalar.call(self, mask, value.into())
    }

    /// Sets elements to a number where a mask is true.
    ///
    /// # Errors
    ///
    /// Those of [`MaskedFillInplaceScalar`].
    pub fn masked_fill_(&self, mask: &Self, value: impl Into<Scalar>) -> Result<&Self> {
        MaskedFillInplaceScalar.call(self, mask, value.into()).map(|()| self)
    }

    /// The number in a tensor of one element.
    ///
    /// # Errors
    ///
    /// Those of [`Item`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::Scalar;
    /// use opgrid_tensor::Tensor;
    ///
    /// assert_eq!(Tensor::from_slice(&[3i64], &[1])?.item()?, Scalar::Int(3));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn item(&self) -> Result<Scalar> {
        Item.call(self)
    }
}
