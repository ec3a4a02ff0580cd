//! Tensors in the hands of plugins: made, viewed, looked at, and their memory.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use opgrid_abi::{
    OPGRID_READ, OPGRID_WRITE, OpgridDevice, OpgridDeviceMemory, OpgridError, OpgridGuard, OpgridLibrary,
    OpgridReleaseFn, OpgridTensor, OpgridTensorInfo,
};
use opgrid_core::{AnyTensor, DType, Device, DeviceType, Error, ErrorKind, Result, TensorType, Value};
use opgrid_tensor::tensor::{Allocation, Allocator, DeviceMemory, OwnedReadGuard, OwnedWriteGuard};
use opgrid_tensor::{Array, Geometry, Storage, Tensor, TensorSpec};

use super::errors::{answer, outcome, quietly};
use super::libraries::State;
use super::owned::Owned;
use super::values::{device_from, device_to, dtype_from};
use super::{describe, described, keys_to, refused, slice, write};

/// Takes a handle from a plugin.
///
/// # Safety
///
/// It is null, or a handle that belongs to the plugin.
pub(super) unsafe fn handle(tensor: *mut OpgridTensor) -> Option<AnyTensor> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    NonNull::new(tensor.cast::<()>()).map(|raw| unsafe { AnyTensor::from_raw(raw) })
}

/// A tensor that a plugin holds.
///
/// # Errors
///
/// It is null, or one of another library than ours.
///
/// # Safety
///
/// It is null, or a handle that lives as long as the reference to where it lies.
pub(super) unsafe fn tensor(held: &*const OpgridTensor) -> Result<&Tensor> {
    if held.is_null() {
        return Err(refused("a tensor is null, expected one"));
    }
    let any: *const AnyTensor = ptr::from_ref(held).cast();
    // SAFETY: guaranteed by the caller, see `# Safety`: a handle is nothing but its pointer.
    let any = unsafe { &*any };
    Tensor::from_any_ref(any)
        .ok_or_else(|| refused(format!("{any} is a tensor of another library, expected one of opgrid")))
}

/// Gives a tensor to a plugin.
pub(super) fn give(tensor: Tensor) -> *mut OpgridTensor {
    tensor.into_any().into_raw().as_ptr().cast()
}

pub(super) unsafe extern "C" fn tensor_retain(tensor: *mut OpgridTensor) {
    // SAFETY: the plugin guarantees that the handle is null or lives.
    if let Some(tensor) = unsafe { handle(tensor) } {
        // One for the plugin as before, and one more.
        let _ = tensor.clone().into_raw();
        let _ = tensor.into_raw();
    }
}

pub(super) unsafe extern "C" fn tensor_release(tensor: *mut OpgridTensor) {
    quietly((), || {
        // SAFETY: the plugin guarantees that the handle is null or belongs to it.
        drop(unsafe { handle(tensor) });
    });
}

pub(super) unsafe extern "C" fn tensor_info(
    held: *const OpgridTensor,
    out: *mut OpgridTensorInfo,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let tensor = unsafe { tensor(&held) }?;
        // Tensors that wrap others have no memory of their own, and say what they are like all the same.
        let (geometry, dtype) = (tensor.geometry(), tensor.dtype());
        let bytes = tensor.array().map_or(0, |array| array.storage().bytes());
        let fill = |size| info(size, tensor, geometry, dtype, bytes);
        // SAFETY: the plugin guarantees that the description is null or as large as it says, and can be written.
        unsafe { describe(out, "OpgridTensorInfo", fill) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

/// What a tensor with this geometry is like.
fn info(
    struct_size: usize,
    tensor: &Tensor,
    geometry: &Geometry,
    dtype: DType,
    storage_bytes: usize,
) -> OpgridTensorInfo {
    OpgridTensorInfo {
        struct_size,
        dims: geometry.dims(),
        sizes: geometry.sizes().as_ptr(),
        strides: geometry.strides().as_ptr(),
        offset: geometry.offset(),
        numel: geometry.numel(),
        dtype: dtype.number() as i32,
        item_size: dtype.size_in_bytes() as u32,
        device: device_to(tensor.device()),
        is_contiguous: u32::from(geometry.is_contiguous()),
        reserved: 0,
        storage_bytes,
        keys: keys_to(tensor.keys()),
    }
}

pub(super) unsafe extern "C" fn tensor_data(
    held: *const OpgridTensor,
    access: u32,
    out: *mut *mut c_void,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let array = unsafe { tensor(&held) }?.array()?;
        let storage = array.storage();
        // Each asks whether somebody is in the way, and makes sure that all bytes have a value.
        match access {
            OPGRID_READ => drop(storage.read()?),
            OPGRID_WRITE => drop(storage.write()?.bytes()),
            found => return Err(unknown_access(found)),
        }
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, first_element(array)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

#[cold]
fn unknown_access(found: u32) -> Error {
    refused(format!("access {found} is unknown, expected OPGRID_READ or OPGRID_WRITE"))
}

/// Where the first element lies, if the CPU can address it.
fn first_element(array: &Array) -> *mut c_void {
    let start = array.storage().address().map_or(ptr::null_mut(), NonNull::as_ptr);
    let offset = array.geometry().offset() as usize * array.dtype().size_in_bytes();
    start.wrapping_add(offset).cast()
}

/// What an `OpgridGuard` leads to. Either keeps the storage.
enum Guard {
    Reads { _guard: OwnedReadGuard },
    Writes { _guard: OwnedWriteGuard },
}

pub(super) unsafe extern "C" fn tensor_guard(
    held: *const OpgridTensor,
    access: u32,
    out: *mut *mut c_void,
    like: *mut OpgridTensorInfo,
    guard: *mut *mut OpgridGuard,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let tensor = unsafe { tensor(&held) }?;
        // One array for all, because another one may take its place at any time.
        let array = tensor.array()?;
        let (geometry, dtype, storage) = (array.geometry(), array.dtype(), array.storage());
        // As `tensor_data`: each asks whether somebody is in the way, and makes sure that all bytes have a value.
        let guarded = match access {
            OPGRID_READ => Guard::Reads { _guard: storage.read_owned()? },
            OPGRID_WRITE => {
                let mut writer = storage.write_owned()?;
                writer.bytes();
                Guard::Writes { _guard: writer }
            }
            found => return Err(unknown_access(found)),
        };
        let fill = |size| info(size, tensor, geometry, dtype, storage.bytes());
        // SAFETY: the plugin guarantees that the description is null or as large as it says, and can be written.
        unsafe { describe(like, "OpgridTensorInfo", fill) }?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written.
        unsafe { write(out, first_element(array)) }?;
        let guarded = Box::into_raw(Box::new(guarded));
        // SAFETY: the plugin guarantees that the address of the guard is null or can be written.
        unsafe { write(guard, guarded.cast()) }.inspect_err(|_| {
            // SAFETY: the box was made above; the plugin did not get it.
            drop(unsafe { Box::from_raw(guarded) });
        })
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn guard_release(guard: *mut OpgridGuard) {
    quietly((), || {
        if !guard.is_null() {
            // SAFETY: the plugin guarantees that `tensor_guard` wrote it, and that it gives it back once.
            drop(unsafe { Box::from_raw(guard.cast::<Guard>()) });
        }
    });
}

/// The geometry that a plugin asks for, row-major where it says no strides.
///
/// # Safety
///
/// Each pointer is null or leads to `dims` numbers.
unsafe fn geometry(dims: usize, sizes: *const i64, strides: *const i64, offset: i64) -> Result<Geometry> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let sizes = unsafe { slice(sizes, dims, "the sizes of a tensor") }?;
    if strides.is_null() {
        let geometry = Geometry::contiguous(sizes)?;
        return if offset == 0 { Ok(geometry) } else { Geometry::strided(sizes, geometry.strides(), offset) };
    }
    // SAFETY: guaranteed by the caller, see `# Safety`: strides that are not null are `dims` numbers.
    let strides = unsafe { slice(strides, dims, "the strides of a tensor") }?;
    Geometry::strided(sizes, strides, offset)
}

pub(super) unsafe extern "C" fn tensor_make(
    library: *mut OpgridLibrary,
    dims: usize,
    sizes: *const i64,
    strides: *const i64,
    dtype: i32,
    device: OpgridDevice,
    out: *mut *mut OpgridTensor,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        let (dtype, device) = (dtype_from(dtype.into())?, device_from(device)?);
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let geometry = unsafe { geometry(dims, sizes, strides, 0) }?;
        let made = if matches!(device.kind(), DeviceType::Cpu | DeviceType::Meta) {
            give(Tensor::allocate(TensorSpec::new(geometry, dtype, device))?)
        } else {
            let arguments = vec![
                Value::from(geometry.sizes().to_vec()),
                Value::from(geometry.strides().to_vec()),
                Value::from(dtype),
                Value::None,
                Value::from(device),
                Value::None,
            ];
            let made =
                State::here(library)?.dispatcher.find("aten::empty_strided")?.call_values(arguments)?;
            match made.into_iter().next() {
                Some(Value::Tensor(tensor)) => tensor.into_raw().as_ptr().cast(),
                _ => return Err(refused("aten::empty_strided gave no tensor")),
            }
        };
        // SAFETY: the plugin guarantees that the address of the result is null or can be written; the handle was made here.
        unsafe { hand_over(out, made) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

/// Writes a handle to where a plugin wants it; one that it cannot get is given back.
///
/// # Safety
///
/// `out` is null or can be written; the handle belongs to the caller.
pub(super) unsafe fn hand_over(out: *mut *mut OpgridTensor, made: *mut OpgridTensor) -> Result<()> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { write(out, made) }.inspect_err(|_| drop(unsafe { handle(made) }))
}

pub(super) unsafe extern "C" fn tensor_view(
    held: *const OpgridTensor,
    dims: usize,
    sizes: *const i64,
    strides: *const i64,
    offset: i64,
    out: *mut *mut OpgridTensor,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let view = unsafe { tensor(&held)?.view_as(geometry(dims, sizes, strides, offset)?) }?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written; the handle was made here.
        unsafe { hand_over(out, give(view)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn tensor_from_memory(
    data: *mut c_void,
    bytes: usize,
    dims: usize,
    sizes: *const i64,
    strides: *const i64,
    dtype: i32,
    device: OpgridDevice,
    context: *mut c_void,
    release: OpgridReleaseFn,
    out: *mut *mut OpgridTensor,
    error: *mut *mut OpgridError,
) -> i32 {
    let owned = Owned::new(context, release);
    let body = || {
        let start = NonNull::new(data.cast::<u8>())
            .ok_or_else(|| refused("the memory of a tensor is null, expected an address"))?;
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let geometry = unsafe { geometry(dims, sizes, strides, 0) }?;
        let spec = TensorSpec::new(geometry, dtype_from(dtype.into())?, device_from(device)?);
        spec.check_storage(bytes)?;
        // SAFETY: the plugin guarantees that there are so many bytes, used by nobody else until they are given back.
        let memory = unsafe { Allocation::foreign(start, bytes, move || drop(owned)) };
        // SAFETY: the plugin guarantees that every byte is initialised.
        let storage = unsafe { Storage::of_written(memory) }?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written; the handle was made here.
        unsafe { hand_over(out, give(Tensor::from_array(Array::new(spec, storage)?)?)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

/// A plugin's device memory.
struct Memory {
    owned: Owned,
    bytes: usize,
    read: ReadFn,
    write: WriteFn,
}

/// What `OpgridDeviceMemory::read` is that is not null.
type ReadFn = unsafe extern "C" fn(*mut c_void, usize, *mut u8, usize, *mut *mut OpgridError) -> i32;
/// What `OpgridDeviceMemory::write` is that is not null.
type WriteFn = unsafe extern "C" fn(*mut c_void, usize, *const u8, usize, *mut *mut OpgridError) -> i32;

impl Memory {
    fn check(&self, start: usize, count: usize) -> Result<()> {
        let bytes = self.bytes;
        if start.checked_add(count).is_some_and(|end| end <= bytes) {
            return Ok(());
        }
        let message =
            format!("{count} bytes from byte {start} on lie outside of a device's memory of {bytes} bytes");
        Err(Error::new(ErrorKind::Argument, message))
    }
}

impl DeviceMemory for Memory {
    fn read(&self, start: usize, out: &mut [u8]) -> Result<()> {
        self.check(start, out.len())?;
        let (context, mut error) = (self.owned.context(), ptr::null_mut());
        // SAFETY: the plugin gave the function of this type with the context; the range was checked above.
        let status = unsafe { (self.read)(context, start, out.as_mut_ptr(), out.len(), &raw mut error) };
        outcome(status, error, || "reading a device's memory".into())
    }

    fn write(&self, start: usize, bytes: &[u8]) -> Result<()> {
        self.check(start, bytes.len())?;
        let (context, mut error) = (self.owned.context(), ptr::null_mut());
        // SAFETY: the plugin gave the function of this type with the context; the range was checked above.
        let status = unsafe { (self.write)(context, start, bytes.as_ptr(), bytes.len(), &raw mut error) };
        outcome(status, error, || "writing a device's memory".into())
    }
}

/// Gives a piece of memory once.
struct Once(std::sync::Mutex<Option<Memory>>);

impl Allocator for Once {
    fn name(&self) -> &str {
        "plugin"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        let memory = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        memory
            .map(|memory| Allocation::on_device(memory, bytes))
            .ok_or_else(|| refused("the memory is set already"))
    }
}

pub(super) unsafe extern "C" fn tensor_on_device(
    memory: *const OpgridDeviceMemory,
    dims: usize,
    sizes: *const i64,
    strides: *const i64,
    dtype: i32,
    device: OpgridDevice,
    out: *mut *mut OpgridTensor,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let description = unsafe { described(memory, "OpgridDeviceMemory") }?;
        let owned = Owned::new(description.context, description.release);
        let (Some(read), Some(write)) = (description.read, description.write) else {
            return Err(refused("OpgridDeviceMemory lacks a function; give both `read` and `write`"));
        };
        let memory = Memory { owned, bytes: description.bytes, read, write };
        // SAFETY: the plugin guarantees that sizes and strides are null or lead to so many numbers.
        let geometry = unsafe { geometry(dims, sizes, strides, 0) }?;
        let spec = TensorSpec::new(geometry, dtype_from(dtype.into())?, device_from(device)?);
        spec.check_storage(description.bytes)?;
        let storage = Storage::new(&Once(Some(memory).into()), description.bytes)?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written; the handle was made here.
        unsafe { hand_over(out, give(Tensor::from_array(Array::new(spec, storage)?)?)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

pub(super) unsafe extern "C" fn tensor_memory(
    held: *const OpgridTensor,
    release: OpgridReleaseFn,
) -> *mut c_void {
    quietly(ptr::null_mut(), || {
        // SAFETY: the plugin guarantees that the tensor is null or lives.
        let array = unsafe { tensor(&held) }.and_then(Tensor::array);
        let memory = array.ok().and_then(|array| array.storage().memory::<Memory>());
        memory.and_then(|memory| memory.owned.context_of(release)).unwrap_or(ptr::null_mut())
    })
}

pub(super) unsafe extern "C" fn tensor_on_cpu(
    held: *const OpgridTensor,
    out: *mut *mut OpgridTensor,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let copy = on_cpu(unsafe { tensor(&held) }?)?;
        // SAFETY: the plugin guarantees that the address of the result is null or can be written; the handle was made here.
        unsafe { hand_over(out, give(copy)) }
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

/// Returns a tensor with these elements, at the same positions of a storage that the CPU can address.
fn on_cpu(tensor: &Tensor) -> Result<Tensor> {
    let array = tensor.array()?;
    if array.storage().device_memory().is_none() {
        return Ok(tensor.clone());
    }
    let spec = TensorSpec::new(array.geometry().clone(), array.dtype(), Device::CPU);
    Tensor::from_array(Array::new(spec, array.storage().on_cpu()?)?)
}

pub(super) unsafe extern "C" fn tensor_write_back(
    held: *const OpgridTensor,
    copy: *const OpgridTensor,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let (to, from) = unsafe { (tensor(&held)?.array()?, tensor(&copy)?.array()?) };
        let Some(memory) = to.storage().device_memory() else { return Ok(()) };
        memory.write(0, from.storage().read()?.bytes())?;
        to.storage().mark_written();
        Ok(())
    };
    // SAFETY: the plugin guarantees that the address of its error is null or can be written.
    unsafe { answer(error, body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_count() {
        let x = Tensor::from_slice(&[1.0f32], &[1]).unwrap();
        let raw = super::super::values::raw(x.as_any());
        // SAFETY: the handle lives.
        unsafe { tensor_retain(raw) };
        assert_eq!(x.as_any().handle_count(), 2);
        // SAFETY: the handle was counted above.
        unsafe { tensor_release(raw) };
        assert_eq!(x.as_any().handle_count(), 1);
    }
}
