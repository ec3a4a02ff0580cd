//! Tensors in a plugin's hands.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use opgrid_abi::{OPGRID_READ, OPGRID_WRITE, OpgridDevice, OpgridTensor, OpgridTensorInfo};

use crate::error::{Error, ErrorKind, Result, check};
use crate::host;

/// A dtype, by torch's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DType(pub i32);

impl DType {
    /// Unsigned 8-bit integers.
    pub const U8: Self = Self(0);
    /// Signed 32-bit integers.
    pub const I32: Self = Self(3);
    /// Signed 64-bit integers.
    pub const I64: Self = Self(4);
    /// Single precision.
    pub const F32: Self = Self(6);
    /// Double precision.
    pub const F64: Self = Self(7);
}

/// A device: a kind, and which one of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(pub OpgridDevice);

impl Device {
    /// The CPU.
    pub const CPU: Self = Self(OpgridDevice { kind: 0, index: -1 });

    /// The device whose tensors have no elements.
    pub const META: Self = Self(OpgridDevice { kind: 14, index: -1 });

    /// Device number `index` of the same kind.
    #[must_use]
    pub fn numbered(self, index: i32) -> Self {
        Self(OpgridDevice { index, ..self.0 })
    }
}

/// A type of elements.
///
/// # Safety
///
/// Elements of `DTYPE` lie in memory as values of the type do, and every pattern of bytes is one.
pub unsafe trait Element: Copy + 'static {
    /// The dtype of tensors with such elements.
    const DTYPE: DType;
}

// SAFETY: the dtype of that width and kind.
unsafe impl Element for u8 {
    const DTYPE: DType = DType::U8;
}
// SAFETY: as above.
unsafe impl Element for i32 {
    const DTYPE: DType = DType::I32;
}
// SAFETY: as above.
unsafe impl Element for i64 {
    const DTYPE: DType = DType::I64;
}
// SAFETY: as above.
unsafe impl Element for f32 {
    const DTYPE: DType = DType::F32;
}
// SAFETY: as above.
unsafe impl Element for f64 {
    const DTYPE: DType = DType::F64;
}

/// A handle of a tensor; clones are of the handle.
#[repr(transparent)]
pub struct Tensor(NonNull<OpgridTensor>);

// SAFETY: the host lets its tensors be used on any thread.
unsafe impl Send for Tensor {}
// SAFETY: as above.
unsafe impl Sync for Tensor {}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        if let Some(api) = host::known() {
            // SAFETY: the handle lives.
            unsafe { (api.tensor_retain)(self.0.as_ptr()) };
        }
        Self(self.0)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        if let Some(api) = host::known() {
            // SAFETY: the handle belongs to this value, which goes.
            unsafe { (api.tensor_release)(self.0.as_ptr()) };
        }
    }
}

impl Tensor {
    /// The handle, which stays here.
    pub fn as_ptr(&self) -> *mut OpgridTensor {
        self.0.as_ptr()
    }

    /// Counts one more handle of a tensor that is lent.
    ///
    /// # Errors
    ///
    /// The handle is null; the plugin is not loaded.
    ///
    /// # Safety
    ///
    /// It is null, or lives.
    pub unsafe fn borrow(handle: *mut OpgridTensor) -> Result<Self> {
        let api = host::api()?;
        let handle = NonNull::new(handle)
            .ok_or_else(|| Error::new(ErrorKind::Value, "a tensor is null, expected one"))?;
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { (api.tensor_retain)(handle.as_ptr()) };
        Ok(Self(handle))
    }

    /// Takes the handle that a function of the table has written.
    pub(crate) fn made(
        status: i32,
        handle: *mut OpgridTensor,
        error: *mut opgrid_abi::OpgridError,
    ) -> Result<Self> {
        check(status, error)?;
        NonNull::new(handle)
            .map(Self)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the host gave no tensor"))
    }

    fn info(&self) -> Result<OpgridTensorInfo> {
        let (mut info, mut error) = (OpgridTensorInfo::default(), ptr::null_mut());
        // SAFETY: the handle lives; the rest is here.
        check(unsafe { (host::api()?.tensor_info)(self.as_ptr(), &raw mut info, &raw mut error) }, error)?;
        Ok(info)
    }

    /// The size of each dimension.
    ///
    /// # Errors
    ///
    /// A tensor without a shape.
    pub fn sizes(&self) -> Result<&[i64]> {
        let info = self.info()?;
        // SAFETY: the host says that there are so many, as long as the tensor is held.
        Ok(if info.dims == 0 { &[] } else { unsafe { std::slice::from_raw_parts(info.sizes, info.dims) } })
    }

    /// The distance between neighbours in each dimension, in elements.
    ///
    /// # Errors
    ///
    /// As [`sizes`](Self::sizes).
    pub fn strides(&self) -> Result<&[i64]> {
        let info = self.info()?;
        // SAFETY: as above.
        Ok(if info.dims == 0 { &[] } else { unsafe { std::slice::from_raw_parts(info.strides, info.dims) } })
    }

    /// The bytes of the storage, which of a tensor on meta is only said to be there.
    ///
    /// # Errors
    ///
    /// As [`sizes`](Self::sizes).
    pub fn storage_bytes(&self) -> Result<usize> {
        Ok(self.info()?.storage_bytes)
    }

    /// The first element's place in the storage, in elements.
    ///
    /// # Errors
    ///
    /// As [`sizes`](Self::sizes).
    pub fn offset(&self) -> Result<usize> {
        Ok(usize::try_from(self.info()?.offset).unwrap_or(0))
    }

    /// The number of elements.
    ///
    /// # Errors
    ///
    /// As [`sizes`](Self::sizes).
    pub fn numel(&self) -> Result<usize> {
        Ok(usize::try_from(self.info()?.numel).unwrap_or(0))
    }

    /// The dtype.
    ///
    /// # Errors
    ///
    /// As [`sizes`](Self::sizes).
    pub fn dtype(&self) -> Result<DType> {
        Ok(DType(self.info()?.dtype))
    }

    /// The device.
    ///
    /// # Errors
    ///
    /// As [`sizes`](Self::sizes).
    pub fn device(&self) -> Result<Device> {
        Ok(Device(self.info()?.device))
    }

    /// Whether the elements lie one after another in row-major order.
    ///
    /// # Errors
    ///
    /// As [`sizes`](Self::sizes).
    pub fn is_contiguous(&self) -> Result<bool> {
        Ok(self.info()?.is_contiguous != 0)
    }

    /// A new row-major tensor, which reads as zero until it is written.
    ///
    /// # Errors
    ///
    /// Sizes that cannot be; no memory.
    pub fn empty(sizes: &[i64], dtype: DType, device: Device) -> Result<Self> {
        let api = host::api()?;
        let (mut made, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the pointers are of what is here.
        let status = unsafe {
            (api.tensor_make)(
                host::library(),
                sizes.len(),
                sizes.as_ptr(),
                ptr::null(),
                dtype.0,
                device.0,
                &raw mut made,
                &raw mut error,
            )
        };
        Self::made(status, made, error)
    }

    /// A new row-major tensor on the CPU with these elements.
    ///
    /// # Errors
    ///
    /// Sizes that ask for another number of elements; no memory.
    pub fn from_slice<T: Element>(elements: &[T], sizes: &[i64]) -> Result<Self> {
        let mut tensor = Self::empty(sizes, T::DTYPE, Device::CPU)?;
        if tensor.numel()? != elements.len() {
            let message =
                format!("sizes {sizes:?} need {} elements, found {}", tensor.numel()?, elements.len());
            return Err(Error::new(ErrorKind::Argument, message));
        }
        // SAFETY: the tensor is new, so that nobody else has it.
        unsafe { tensor.elements_mut::<T>()? }.copy_from_slice(elements);
        Ok(tensor)
    }

    /// A copy of all elements.
    ///
    /// # Errors
    ///
    /// Another dtype; elements that do not lie one after another; memory that the CPU cannot address.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        // SAFETY: the elements are copied at once. Who writes them from another thread meanwhile breaks the host's rules.
        Ok(unsafe { self.elements::<T>()? }.to_vec())
    }

    /// All elements.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec).
    ///
    /// # Safety
    ///
    /// Nobody writes the tensor's memory while the slice is used.
    pub unsafe fn elements<T: Element>(&self) -> Result<&[T]> {
        let (start, count) = self.address::<T>(OPGRID_READ)?;
        // SAFETY: the host says that so many elements lie there, all initialised; the caller that nobody writes them.
        Ok(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start.cast(), count) } })
    }

    /// All elements, for writing.
    ///
    /// # Errors
    ///
    /// As [`to_vec`](Self::to_vec).
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes the tensor's memory while the slice is used.
    pub unsafe fn elements_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        let (start, count) = self.address::<T>(OPGRID_WRITE)?;
        // SAFETY: the host says that so many elements lie there, all initialised; the caller that nobody else uses them.
        Ok(if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(start.cast(), count) } })
    }

    fn address<T: Element>(&self, access: u32) -> Result<(*mut c_void, usize)> {
        let info = self.info()?;
        if info.dtype != T::DTYPE.0 {
            let message = format!(
                "found elements of dtype {}, expected dtype {}; convert the tensor",
                info.dtype,
                T::DTYPE.0
            );
            return Err(Error::new(ErrorKind::Argument, message));
        }
        if info.is_contiguous == 0 {
            let message = "the elements of the tensor do not lie one after another; make it contiguous first";
            return Err(Error::new(ErrorKind::Argument, message));
        }
        let (mut start, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the handle lives; the rest is here.
        let status =
            unsafe { (host::api()?.tensor_data)(self.as_ptr(), access, &raw mut start, &raw mut error) };
        check(status, error)?;
        Ok((start, usize::try_from(info.numel).unwrap_or(0)))
    }

    /// The same elements where the CPU can address them: the tensor itself, or one with the same sizes and strides on a copy
    /// of its whole memory.
    ///
    /// # Errors
    ///
    /// Those of the device; no memory.
    pub fn on_cpu(&self) -> Result<Self> {
        let (mut made, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the handle lives; the rest is here.
        let status = unsafe { (host::api()?.tensor_on_cpu)(self.as_ptr(), &raw mut made, &raw mut error) };
        Self::made(status, made, error)
    }

    /// Overwrites the device memory of this tensor with that of what [`on_cpu`](Self::on_cpu) gave for it. Nothing happens to
    /// a tensor on the CPU.
    ///
    /// # Errors
    ///
    /// Those of the device.
    pub fn write_back(&self, copy: &Self) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: both handles live.
        check(
            unsafe { (host::api()?.tensor_write_back)(self.as_ptr(), copy.as_ptr(), &raw mut error) },
            error,
        )
    }
}
