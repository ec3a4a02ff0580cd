//! DLPack 1: memory that plugins and tensors lend each other.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::{self, NonNull};

use opgrid_abi::{OpgridError, OpgridTensor};
use opgrid_core::{DType, Device, DeviceType, Error, ErrorKind, Result};
use opgrid_tensor::tensor::Allocation;
use opgrid_tensor::{Array, Geometry, Storage, Tensor, TensorSpec};

use super::errors::answer;
use super::tensors::{give, hand_over, tensor};
use super::{refused, slice, write};

#[repr(C)]
#[derive(Clone, Copy)]
struct DlTensor {
    data: *mut c_void,
    device_kind: i32,
    device_index: i32,
    dims: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    sizes: *mut i64,
    /// Null for row-major tensors.
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Managed {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    tensor: DlTensor,
}

const CPU: i32 = 1;
const READ_ONLY: u64 = 1;

/// The dtypes that both sides have, by code and bits.
const TYPES: [(DType, u8, u8); 17] = [
    (DType::I8, 0, 8),
    (DType::I16, 0, 16),
    (DType::I32, 0, 32),
    (DType::I64, 0, 64),
    (DType::U8, 1, 8),
    (DType::U16, 1, 16),
    (DType::U32, 1, 32),
    (DType::U64, 1, 64),
    (DType::F16, 2, 16),
    (DType::F32, 2, 32),
    (DType::F64, 2, 64),
    (DType::BF16, 4, 16),
    (DType::Complex64, 5, 64),
    (DType::Complex128, 5, 128),
    (DType::Bool, 6, 8),
    (DType::F8E4M3, 10, 8),
    (DType::F8E5M2, 12, 8),
];

/// What is lent: the structure that the borrower gets comes first, so that its address is that of all.
#[repr(C)]
struct Lent {
    managed: Managed,
    sizes: Vec<i64>,
    strides: Vec<i64>,
    _tensor: Tensor,
}

/// # Safety
///
/// `lend` made it, and this is the only call.
unsafe extern "C" fn delete(managed: *mut Managed) {
    super::errors::quietly((), || {
        // SAFETY: guaranteed by the caller, see `# Safety`; the structure is the first field.
        drop(unsafe { Box::from_raw(managed.cast::<Lent>()) });
    });
}

fn lend(tensor: &Tensor) -> Result<*mut Managed> {
    let array = tensor.array()?;
    let known = TYPES.iter().find(|(dtype, ..)| *dtype == array.dtype());
    let &(_, code, bits) = known.ok_or_else(|| {
        refused(format!("DLPack has no dtype like {}; convert the tensor first", array.dtype()))
    })?;
    if array.device().kind() != DeviceType::Cpu {
        let message =
            format!("memory of device {} is not lent, only that of the cpu; copy it there", array.device());
        return Err(Error::new(ErrorKind::Argument, message));
    }
    // Reading clears memory that nobody has written.
    drop(array.storage().read()?);
    let start = array.storage().address().map_or(ptr::null_mut(), NonNull::as_ptr);
    let offset = array.geometry().offset() as usize * array.dtype().size_in_bytes();
    let (sizes, strides) = (array.sizes().to_vec(), array.geometry().strides().to_vec());
    let described = DlTensor {
        data: start.wrapping_add(offset).cast(),
        device_kind: CPU,
        device_index: 0,
        dims: sizes.len() as i32,
        code,
        bits,
        lanes: 1,
        sizes: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let managed = Managed {
        major: 1,
        minor: 0,
        context: ptr::null_mut(),
        deleter: Some(delete),
        flags: 0,
        tensor: described,
    };
    let mut lent = Box::new(Lent { managed, sizes, strides, _tensor: tensor.clone() });
    lent.managed.tensor.sizes = lent.sizes.as_mut_ptr();
    lent.managed.tensor.strides = lent.strides.as_mut_ptr();
    Ok(Box::into_raw(lent).cast())
}

pub(super) unsafe extern "C" fn tensor_to_dlpack(
    held: *const OpgridTensor,
    out: *mut *mut c_void,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: the plugin guarantees that its pointers are null or what their types say.
        let managed = lend(unsafe { tensor(&held) }?)?;
        // SAFETY: as above; what nobody gets is deleted.
        unsafe { write(out, managed.cast()).inspect_err(|_| delete(managed)) }
    };
    // SAFETY: as above, of the address of the error.
    unsafe { answer(error, body) }
}

/// Memory that is deleted when it goes.
struct Borrowed(NonNull<Managed>);

// SAFETY: DLPack lets the deleter be called on any thread, and nothing else is done with the pointer.
unsafe impl Send for Borrowed {}
// SAFETY: as above; a shared reference gives nothing out.
unsafe impl Sync for Borrowed {}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: the plugin gave the structure away, so that it is ours until it is deleted, here.
        if let Some(deleter) = unsafe { (*self.0.as_ptr()).deleter } {
            // SAFETY: as above.
            unsafe { deleter(self.0.as_ptr()) }
        }
    }
}

fn borrow(borrowed: Borrowed) -> Result<Tensor> {
    let managed = borrowed.0.as_ptr();
    // SAFETY: the plugin guarantees that the structure begins so, whatever its version is.
    let (major, minor) = unsafe { ((*managed).major, (*managed).minor) };
    if major != 1 {
        return Err(refused(format!("found DLPack version {major}.{minor}, expected 1")));
    }
    // SAFETY: as above, of version 1.
    let (described, flags) = unsafe { ((*managed).tensor, (*managed).flags) };
    if described.device_kind != CPU {
        let found = described.device_kind;
        return Err(refused(format!(
            "found memory of DLPack's device {found}, expected that of the cpu (1); copy it there"
        )));
    }
    let (code, bits, lanes) = (described.code, described.bits, described.lanes);
    let known = TYPES.iter().find(|(_, known, size)| (*known, *size, 1) == (code, bits, lanes));
    let &(dtype, ..) = known.ok_or_else(|| {
        refused(format!(
            "DLPack's dtype of code {code}, {bits} bits and {lanes} lanes has no counterpart here"
        ))
    })?;
    let dims = usize::try_from(described.dims)
        .map_err(|_| refused(format!("found {} dimensions", described.dims)))?;
    // SAFETY: DLPack guarantees as many numbers as there are dimensions.
    let sizes = unsafe { slice(described.sizes.cast_const(), dims, "DLPack's sizes") }?;
    let geometry = match described.strides.is_null() {
        true => Geometry::contiguous(sizes)?,
        false => {
            // SAFETY: as above.
            let strides = unsafe { slice(described.strides.cast_const(), dims, "DLPack's strides") }?;
            Geometry::strided(sizes, strides, 0)?
        }
    };
    let spec = TensorSpec::new(geometry, dtype, Device::CPU);
    let bytes = spec.bytes()?;
    let offset =
        usize::try_from(described.byte_offset).map_err(|_| refused("DLPack's offset is too large"))?;
    let start = NonNull::new(described.data.cast::<u8>().wrapping_add(offset));
    let storage = match start {
        None if bytes > 0 => return Err(refused("DLPack's memory is null, expected an address")),
        None => Storage::cpu(0)?,
        Some(start) => {
            // SAFETY: DLPack guarantees that every element lies there until the structure is deleted.
            let memory = unsafe { Allocation::foreign(start, bytes, move || drop(borrowed)) };
            // SAFETY: as above, with a value.
            unsafe { Storage::of_written(memory) }?
        }
    };
    let tensor = Tensor::from_array(Array::new(spec, storage)?)?;
    // Memory that may not be written is copied.
    if flags & READ_ONLY != 0 { opgrid_tensor::ops::Clone.call(&tensor, None) } else { Ok(tensor) }
}

pub(super) unsafe extern "C" fn tensor_from_dlpack(
    managed: *mut c_void,
    out: *mut *mut OpgridTensor,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        let managed = NonNull::new(managed.cast::<Managed>()).filter(|managed| managed.is_aligned());
        let managed = managed.ok_or_else(|| refused("the DLPack structure is null, expected one"))?;
        let made = borrow(Borrowed(managed))?;
        // SAFETY: the plugin guarantees that the address is null or can be written.
        unsafe { hand_over(out, give(made)) }
    };
    // SAFETY: as above, of the address of the error.
    unsafe { answer(error, body) }
}
