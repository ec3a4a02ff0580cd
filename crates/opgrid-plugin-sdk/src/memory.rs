//! Memory of devices that the CPU cannot address.
#![allow(unsafe_code)]

use std::any::TypeId;
use std::ffi::c_void;
use std::ptr;

use opgrid_abi::{OpgridDeviceMemory, OpgridError};

use crate::error::Result;
use crate::host::{self, freeing, guarded};
use crate::plain::{DType, Device};
use crate::tensor::{Tensor, dtype_number};

/// A piece of a device's memory; dropping it gives it back.
pub trait DeviceMemory: Send + Sync + 'static {
    /// Fills `out` with the bytes from position `start` on. They lie inside.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn read(&self, start: usize, out: &mut [u8]) -> Result<()>;

    /// Writes `bytes` from position `start` on. They lie inside.
    ///
    /// # Errors
    ///
    /// Those of the device.
    fn write(&self, start: usize, bytes: &[u8]) -> Result<()>;
}

/// What a context points to.
struct Held {
    kind: TypeId,
    memory: Box<dyn DeviceMemory>,
}

unsafe extern "C" fn read(
    context: *mut c_void,
    start: usize,
    to: *mut u8,
    count: usize,
    error: *mut *mut OpgridError,
) -> i32 {
    guarded(error, || {
        // SAFETY: the host gives the context of `on_device`, and room for the bytes.
        let (held, out) = unsafe { (&*context.cast::<Held>(), bytes_mut(to, count)) };
        held.memory.read(start, out)
    })
}

unsafe extern "C" fn write(
    context: *mut c_void,
    start: usize,
    from: *const u8,
    count: usize,
    error: *mut *mut OpgridError,
) -> i32 {
    guarded(error, || {
        // SAFETY: the host gives the context of `on_device`, and the bytes.
        let (held, bytes) = unsafe { (&*context.cast::<Held>(), bytes(from, count)) };
        held.memory.write(start, bytes)
    })
}

unsafe extern "C" fn release(context: *mut c_void) {
    // SAFETY: the host gives the context of `on_device` back once.
    freeing(|| drop(unsafe { Box::from_raw(context.cast::<Held>()) }));
}

/// # Safety
///
/// `count` bytes lie there, unless there are none.
unsafe fn bytes<'a>(start: *const u8, count: usize) -> &'a [u8] {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start, count) } }
}

/// # Safety
///
/// As of [`bytes`]; nobody else uses them.
unsafe fn bytes_mut<'a>(start: *mut u8, count: usize) -> &'a mut [u8] {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(start, count) } }
}

impl Tensor {
    /// A tensor on `bytes` bytes of a device's memory; row-major where no strides are given.
    ///
    /// # Errors
    ///
    /// Sizes that ask for more bytes; a device that is none.
    pub fn on_device<M: DeviceMemory>(
        memory: M,
        bytes: usize,
        sizes: &[i64],
        strides: Option<&[i64]>,
        dtype: DType,
        device: Device,
    ) -> Result<Self> {
        let api = host::api()?;
        let held = Held { kind: TypeId::of::<M>(), memory: Box::new(memory) };
        let description = OpgridDeviceMemory {
            struct_size: size_of::<OpgridDeviceMemory>(),
            context: Box::into_raw(Box::new(held)).cast(),
            bytes,
            read: Some(read),
            write: Some(write),
            release: Some(release),
        };
        let (mut made, mut error) = (ptr::null_mut(), ptr::null_mut());
        let strides = strides.filter(|strides| strides.len() == sizes.len());
        // SAFETY: the pointers are of what is here; the host takes the context.
        let status = unsafe {
            (api.tensor_on_device)(
                &raw const description,
                sizes.len(),
                sizes.as_ptr(),
                strides.map_or(ptr::null(), <[i64]>::as_ptr),
                dtype_number(dtype),
                device.to_host(),
                &raw mut made,
                &raw mut error,
            )
        };
        Self::made(status, made, error)
    }

    /// The memory that this plugin gave [`on_device`](Self::on_device), if it is an `M`.
    pub fn memory<M: DeviceMemory>(&self) -> Option<&M> {
        // SAFETY: the handle lives.
        let context = unsafe { (host::known()?.tensor_memory)(self.as_ptr(), Some(release)) };
        // SAFETY: the host says that the memory came with this plugin's `release`, so that it is a `Held`; the tensor keeps it.
        let held = unsafe { context.cast::<Held>().as_ref() }?;
        if held.kind != TypeId::of::<M>() {
            return None;
        }
        // SAFETY: the type was compared in the line above; the box lives as long as the tensor.
        Some(unsafe { &*ptr::from_ref(&*held.memory).cast::<M>() })
    }
}
