//! Tensors in a plugin's hands.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use num_complex::Complex64;
use opgrid_abi::{OPGRID_READ, OPGRID_WRITE, OpgridGuard, OpgridTensor, OpgridTensorInfo};

use crate::error::{Error, ErrorKind, Result, check};
use crate::host::{self, give_up};
use crate::plain::{DType, Device};
use crate::value::ValueRef;

/// A type of elements.
///
/// # Safety
///
/// Elements of `DTYPE` lie in memory as values of the type do, and every pattern of bytes is one.
pub unsafe trait Element: Copy + 'static {
    /// The dtype of tensors with such elements.
    const DTYPE: DType;
}

/// Types of elements.
macro_rules! elements {
    ($($type:ty: $dtype:ident;)*) => {$(
        // SAFETY: the dtype of that width and kind, of which every pattern of bytes is a value.
        unsafe impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements! {
    u8: U8;
    i8: I8;
    i16: I16;
    i32: I32;
    i64: I64;
    u16: U16;
    u32: U32;
    u64: U64;
    f32: F32;
    f64: F64;
    Complex64: Complex128;
}

/// torch's number of a dtype, as the table takes it; one that is too large stands for none.
pub(crate) fn dtype_number(dtype: DType) -> i32 {
    i32::try_from(dtype.number()).unwrap_or(-1)
}

/// A handle of a tensor; clones are of the handle.
#[repr(transparent)]
pub struct Tensor(NonNull<OpgridTensor>);

// SAFETY: the host lets its tensors be used on any thread.
unsafe impl Send for Tensor {}
// SAFETY: the host lets its tensors be used by several threads at a time.
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
        // SAFETY: the host gave the handle in the call whose status this is.
        unsafe { Self::from_raw(handle) }
    }

    /// Takes a handle that belongs to the plugin.
    ///
    /// # Errors
    ///
    /// It is null.
    ///
    /// # Safety
    ///
    /// It is null, or a handle that the host gave to the plugin.
    pub(crate) unsafe fn from_raw(handle: *mut OpgridTensor) -> Result<Self> {
        NonNull::new(handle)
            .map(Self)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "the host gave no tensor"))
    }

    /// What the tensor is like. One that is not of opgrid is like nothing: whoever asks has no tensor to work on, and the
    /// kernel ends with the host's error.
    fn info(&self) -> OpgridTensorInfo {
        let (mut info, mut error) = (OpgridTensorInfo::default(), ptr::null_mut());
        let asked = host::api().and_then(|api| {
            // SAFETY: the handle lives; the rest is here.
            check(unsafe { (api.tensor_info)(self.as_ptr(), &raw mut info, &raw mut error) }, error)
        });
        if let Err(error) = asked {
            give_up(error);
        }
        info
    }

    /// The size of each dimension.
    ///
    /// # Panics
    ///
    /// As everything that says what a tensor is like: for one of another library than opgrid. In a kernel it becomes the
    /// call's error.
    pub fn sizes(&self) -> &[i64] {
        let info = self.info();
        // SAFETY: the host says that there are so many, as long as the tensor is held.
        if info.dims == 0 { &[] } else { unsafe { std::slice::from_raw_parts(info.sizes, info.dims) } }
    }

    /// The distance between neighbours in each dimension, in elements.
    ///
    /// # Panics
    ///
    /// As [`sizes`](Self::sizes).
    pub fn strides(&self) -> &[i64] {
        let info = self.info();
        // SAFETY: the host says that there are as many strides as dimensions, as long as the tensor is held.
        if info.dims == 0 { &[] } else { unsafe { std::slice::from_raw_parts(info.strides, info.dims) } }
    }

    /// The number of dimensions.
    ///
    /// # Panics
    ///
    /// As [`sizes`](Self::sizes).
    pub fn dim(&self) -> usize {
        self.info().dims
    }

    /// The bytes of the storage, which of a tensor on meta is only said to be there.
    ///
    /// # Panics
    ///
    /// As [`sizes`](Self::sizes).
    pub fn storage_bytes(&self) -> usize {
        self.info().storage_bytes
    }

    /// The first element's place in the storage, in elements.
    ///
    /// # Panics
    ///
    /// As [`sizes`](Self::sizes).
    pub fn offset(&self) -> i64 {
        self.info().offset
    }

    /// The number of elements.
    ///
    /// # Panics
    ///
    /// As [`sizes`](Self::sizes).
    pub fn numel(&self) -> i64 {
        self.info().numel
    }

    /// The dtype.
    ///
    /// # Panics
    ///
    /// As [`sizes`](Self::sizes).
    pub fn dtype(&self) -> DType {
        DType::from_number(self.info().dtype.into())
    }

    /// The device.
    ///
    /// # Panics
    ///
    /// As [`sizes`](Self::sizes).
    pub fn device(&self) -> Device {
        Device::of_host(self.info().device)
    }

    /// Whether the elements lie one after another in row-major order.
    ///
    /// # Panics
    ///
    /// As [`sizes`](Self::sizes).
    pub fn is_contiguous(&self) -> bool {
        self.info().is_contiguous != 0
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
                dtype_number(dtype),
                device.to_host(),
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
        let tensor = Self::empty(sizes, T::DTYPE, Device::CPU)?;
        if tensor.numel() != elements.len() as i64 {
            let message =
                format!("sizes {sizes:?} need {} elements, found {}", tensor.numel(), elements.len());
            return Err(Error::new(ErrorKind::Argument, message));
        }
        tensor.elements_mut::<T>()?.copy_from_slice(elements);
        Ok(tensor)
    }

    /// A copy of all elements in row-major order, whatever the strides; on a device, of a copy of its memory.
    ///
    /// # Errors
    ///
    /// Another dtype; a tensor without memory; somebody is writing it; the device's.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let readable = self.on_cpu()?;
        let guard = readable.guard::<T>(OPGRID_READ)?;
        let count = guard.count();
        if count == 0 {
            return Ok(Vec::new());
        }
        let start = guard.start.cast_const();
        if guard.like.is_contiguous != 0 {
            // SAFETY: the host says that so many elements lie there, all initialised; the guard keeps writers away.
            return Ok(unsafe { std::slice::from_raw_parts(start, count) }.to_vec());
        }
        // SAFETY: the host says that there are so many of both, as long as the tensor is held.
        let (sizes, strides) =
            unsafe { (list(guard.like.sizes, &guard.like), list(guard.like.strides, &guard.like)) };
        let mut elements = Vec::with_capacity(count);
        let mut index = vec![0i64; sizes.len()];
        for _ in 0..count {
            let place: i64 = index.iter().zip(strides).map(|(index, stride)| index * stride).sum();
            // SAFETY: the host guarantees that each element of these sizes and strides lies in the storage, initialised; as above.
            elements.push(unsafe { start.offset(place as isize).read() });
            // The next index in row-major order: the last dimension goes round first.
            for (index, size) in index.iter_mut().zip(sizes).rev() {
                *index += 1;
                if *index < *size {
                    break;
                }
                *index = 0;
            }
        }
        Ok(elements)
    }

    /// All elements, borrowed, where they lie one after another in memory of the CPU. Nobody can write the memory until the borrow
    /// ends.
    ///
    /// # Errors
    ///
    /// Another dtype; elements that do not lie one after another; memory that the CPU cannot address; somebody is writing it.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_plugin_sdk::{Result, Tensor};
    ///
    /// fn sum(x: &Tensor) -> Result<f32> {
    ///     Ok(x.elements::<f32>()?.iter().sum())
    /// }
    /// ```
    pub fn elements<T: Element>(&self) -> Result<Elements<'_, T>> {
        let guard = self.guard::<T>(OPGRID_READ)?.in_a_row()?;
        Ok(Elements { guard, tensor: PhantomData })
    }

    /// All elements, for writing. Nobody else can read or write the memory until the borrow ends.
    ///
    /// # Errors
    ///
    /// As [`elements`](Self::elements); somebody is reading the memory.
    pub fn elements_mut<T: Element>(&self) -> Result<ElementsMut<'_, T>> {
        let guard = self.guard::<T>(OPGRID_WRITE)?.in_a_row()?;
        Ok(ElementsMut { guard, tensor: PhantomData })
    }

    /// Keeps others away from the memory.
    fn guard<T: Element>(&self, access: u32) -> Result<Guard<T>> {
        let api = host::api()?;
        let (mut start, mut guard, mut error) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let mut like = OpgridTensorInfo::default();
        // SAFETY: the handle lives; the rest is here.
        let status = unsafe {
            (api.tensor_guard)(
                self.as_ptr(),
                access,
                &raw mut start,
                &raw mut like,
                &raw mut guard,
                &raw mut error,
            )
        };
        check(status, error)?;
        let guard = Guard { start: start.cast(), like, guard };
        let (found, expected) = (like.dtype, dtype_number(T::DTYPE));
        if found != expected {
            let message =
                format!("found elements of dtype {found}, expected dtype {expected}; convert the tensor");
            return Err(Error::new(ErrorKind::Argument, message));
        }
        Ok(guard)
    }

    /// Returns a tensor with these elements that the CPU can address: the tensor itself, or one with the same sizes
    /// and strides on a copy of its whole memory.
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

/// A list of as many numbers as there are dimensions.
///
/// # Safety
///
/// So many lie there, for `'a`, unless there are none.
unsafe fn list<'a>(start: *const i64, like: &OpgridTensorInfo) -> &'a [i64] {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    if like.dims == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start, like.dims) } }
}

/// A tensor's memory, as long as the host keeps others away from it.
///
/// Invariant: the elements of sizes and strides in `like` lie from `start` on, all initialised; the host has kept others away, as it was
/// asked, since `guard` was given.
struct Guard<T> {
    start: *mut T,
    like: OpgridTensorInfo,
    guard: *mut OpgridGuard,
}

// SAFETY: the host takes guards back on any thread. What one leads to is read through shared references and written through
// exclusive ones, as a slice of `T`.
unsafe impl<T: Send> Send for Guard<T> {}
// SAFETY: a shared reference only reads what the guard leads to, as a slice of `T`, which is `Sync`.
unsafe impl<T: Sync> Sync for Guard<T> {}

impl<T> Guard<T> {
    fn count(&self) -> usize {
        usize::try_from(self.like.numel).unwrap_or(0)
    }

    /// Returns the guard if the elements are contiguous in memory.
    fn in_a_row(self) -> Result<Self> {
        if self.like.is_contiguous != 0 {
            return Ok(self);
        }
        let message = "the elements of the tensor are not contiguous in memory; make it contiguous first";
        Err(Error::new(ErrorKind::Argument, message))
    }

    /// The elements, which lie one after another.
    ///
    /// # Safety
    ///
    /// They do; nobody writes them while the slice is used.
    unsafe fn slice(&self) -> &[T] {
        // SAFETY: the invariant; guaranteed by the caller, see `# Safety`.
        if self.count() == 0 { &[] } else { unsafe { std::slice::from_raw_parts(self.start, self.count()) } }
    }
}

impl<T> Drop for Guard<T> {
    fn drop(&mut self) {
        if let Some(api) = host::known() {
            // SAFETY: the guard belongs to this value, which goes.
            unsafe { (api.guard_release)(self.guard) }
        }
    }
}

/// A tensor's elements, borrowed for reading ([`Tensor::elements`]).
///
/// Invariant: the guard is for reading, and its elements lie one after another.
pub struct Elements<'t, T> {
    guard: Guard<T>,
    tensor: PhantomData<&'t Tensor>,
}

impl<T> Deref for Elements<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the invariant; the host keeps writers away.
        unsafe { self.guard.slice() }
    }
}

/// A tensor's elements, borrowed for writing ([`Tensor::elements_mut`]).
///
/// Invariant: the guard is for writing, and its elements lie one after another.
pub struct ElementsMut<'t, T> {
    guard: Guard<T>,
    tensor: PhantomData<&'t Tensor>,
}

impl<T> Deref for ElementsMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the invariant; the host keeps everybody else away, and who writes through this value borrows it exclusively.
        unsafe { self.guard.slice() }
    }
}

impl<T> DerefMut for ElementsMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let count = self.guard.count();
        // SAFETY: the invariant: so many elements lie one after another, initialised, and the guard is for writing.
        // This value is borrowed exclusively.
        if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(self.guard.start, count) } }
    }
}

impl fmt::Display for Tensor {
    /// As the host prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&ValueRef::from(self), f)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&ValueRef::from(self), f)
    }
}
