//! Copies elements, between tensors or from and to numbers.

use opgrid_core::{DType, Device, MemoryFormat, Result};

use crate::devices;

declarations! {
    /// # Copies and conversions
    copies {
        clone {
            pub CloneTensor = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", out;
        }

        contiguous {
            pub Contiguous = "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)";
        }

        copy {
            pub CopyInplace = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)";
            pub Copy = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", out;
        }

        fill {
            /// Sets every element to `value`.
            pub FillInplaceScalar = "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", method;
            pub FillInplaceTensor = "aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)";
            pub FillScalar = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", out;
            pub FillTensor = "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", out;
        }

        lift_fresh_copy {
            /// A copy of a constant of a program.
            pub LiftFreshCopy = "aten::lift_fresh_copy(Tensor self) -> Tensor", out;
        }

        local_scalar_dense {
            pub LocalScalarDense = "aten::_local_scalar_dense(Tensor self) -> Scalar";
            pub Item = "aten::item(Tensor self) -> Scalar", method;
        }

        pin_memory {
            pub IsPinned = "aten::is_pinned(Tensor self, Device? device=None) -> bool";
            pub PinMemory = "aten::pin_memory(Tensor(a) self, Device? device=None) -> Tensor(a)";
            pub PinMemoryCopy = "aten::_pin_memory(Tensor self, Device? device=None) -> Tensor";
        }

        to {
            pub ToDtype = "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)";
            pub ToDevice = "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)";
            pub ToDtypeLayout = "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)";
            pub ToOther = "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)";
            pub TypeAs = "aten::type_as(Tensor self, Tensor other) -> Tensor";
        }

        to_copy {
            pub ToCopy = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor", out;
        }
    }
}

/// # Copying and pinning
impl Tensor {
    /// Returns the tensor in row-major order: the tensor itself if it is contiguous, otherwise a copy.
    ///
    /// # Errors
    ///
    /// Those of [`Contiguous`].
    pub fn contiguous(&self) -> Result<Self> {
        Contiguous.call(self, MemoryFormat::Contiguous)
    }

    /// Writes the elements of `src` to this tensor.
    ///
    /// # Errors
    ///
    /// Those of [`CopyInplace`].
    pub fn copy_(&self, src: &Self) -> Result<&Self> {
        CopyInplace.call(self, src, false).map(|()| self)
    }

    /// Copies the elements of `src` to this tensor asynchronously if the device's backend supports it: the copy is
    /// queued on the device's current stream. CPU memory that takes part counts as borrowed until the copy has ended.
    ///
    /// # Errors
    ///
    /// Those of [`CopyInplace`]; what fails later is told by [`synchronize`](crate::devices::synchronize).
    pub fn copy_non_blocking_(&self, src: &Self) -> Result<&Self> {
        CopyInplace.call(self, src, true).map(|()| self)
    }

    /// Returns a copy in pinned memory, from which a device copies asynchronously; a pinned tensor is returned
    /// itself.
    ///
    /// # Errors
    ///
    /// A tensor that is not on the CPU; no device, or several types of devices, have pinned memory
    /// ([`pinned_storage`](crate::devices::pinned_storage)).
    pub fn pin_memory(&self) -> Result<Self> {
        PinMemory.call(self, None)
    }

    /// Whether the tensor lies in pinned memory.
    pub fn is_pinned(&self) -> bool {
        devices::is_pinned(self, None).unwrap_or(false)
    }
}

/// A device to which elements go while the program goes on, for [`Tensor::to`]: from pinned memory to a device, or from
/// there to new pinned memory. The backend of the device decides which copies it queues; the others wait.
///
/// # Examples
///
/// ```
/// use opgrid_core::Device;
/// use opgrid::{Tensor, ops::NonBlocking};
///
/// let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
/// assert!(x.to(NonBlocking(Device::CPU))?.is_same(&x), "it is there already");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NonBlocking(pub Device);

/// What a tensor can be converted [to](Tensor::to): a dtype, a device, or both as another tensor has them.
pub trait Conversion {
    /// # Errors
    ///
    /// Those of the operator.
    fn convert(self, input: &Tensor) -> Result<Tensor>;
}

impl Conversion for DType {
    fn convert(self, input: &Tensor) -> Result<Tensor> {
        ToDtype.call(input, self, false, false, None)
    }
}

impl Conversion for Device {
    fn convert(self, input: &Tensor) -> Result<Tensor> {
        ToDtypeLayout.call(input, None, None, Some(self), None, false, false, None)
    }
}

impl Conversion for NonBlocking {
    fn convert(self, input: &Tensor) -> Result<Tensor> {
        ToDtypeLayout.call(input, None, None, Some(self.0), None, true, false, None)
    }
}

impl Conversion for &Tensor {
    fn convert(self, input: &Tensor) -> Result<Tensor> {
        ToOther.call(input, self, false, false, None)
    }
}

/// # Conversions
impl Tensor {
    /// Converts the tensor to a dtype, to a device, or to both of another tensor: returns the tensor itself if
    /// nothing changes, otherwise a new one, through which gradients flow.
    ///
    /// # Errors
    ///
    /// A dtype without a conversion, a device without memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{DType, Device};
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::from_slice(&[1.5f32, -2.5], &[2])?;
    /// assert_eq!(x.to(DType::I64)?.to_vec::<i64>()?, [1, -2]);
    /// assert!(x.to(Device::CPU)?.is_same(&x));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn to(&self, to: impl Conversion) -> Result<Self> {
        to.convert(self)
    }

    /// Converts the tensor to another dtype; a tensor of that dtype is returned itself.
    ///
    /// # Errors
    ///
    /// Those of [`ToCopy`].
    pub fn to_dtype(&self, dtype: DType) -> Result<Self> {
        if self.dtype() == dtype {
            Ok(self.clone())
        } else {
            ToCopy.call(self, Some(dtype), None, None, None, false, None)
        }
    }
}
