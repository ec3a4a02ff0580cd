//! DLPack: memory that libraries lend each other, in both of its forms.
//!
//! What is lent stays with its owner. A [`Loan`] of ours keeps the tensor until the borrower gives it back; a tensor on
//! somebody else's memory gives that back when the last view of it is gone. Either side may write while the other looks:
//! the borrow state of our storages does not see what others do, as no library's does. Who shares memory between threads
//! keeps them apart.
//!
//! Memory has one storage here, however often it is lent and borrowed: a loan of ours that comes home is a tensor on the
//! storage that was lent, and what is borrowed from another library is looked up by its address first
//! ([`Storage::of_memory`]): it may be ours and come back, or have been borrowed before. So borrow state and version are those
//! of the first tensor on the memory. Such a tensor is no view of the lent one for gradients, as after `detach`.
//!
//! # Examples
//!
//! ```
//! use opgrid::Tensor;
//! use opgrid::dlpack::{Loan, Versioned};
//!
//! let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
//! let loan = Loan::<Versioned>::from_tensor(&x, false)?;
//! // Here the pointer of `loan.into_raw()` would go to another library, and come back from one.
//! let shared = loan.into_tensor()?;
//! shared.fill_(7)?;
//! assert_eq!(x.to_vec::<f32>()?, [7.0, 7.0]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

use opgrid_core::panics::discard;
use opgrid_core::{DType, Device, DeviceType, Result};

use crate::error::argument;
use crate::ops;
use crate::tensor::choose::STORED;
use crate::tensor::{Allocation, Array, Geometry, Storage, Tensor, TensorSpec};

/// The CPU among DLPack's kinds of devices.
pub const CPU: i32 = 1;

const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 2;

/// Every dtype with data, by DLPack's code and its bits.
const DTYPES: [(DType, u8, u8); STORED.len()] = [
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

/// `DLTensor`: where elements lie, and of what sizes, strides and dtype.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DlTensor {
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

impl DlTensor {
    /// Without dimensions, dtype and memory.
    const NOTHING: Self = Self {
        data: ptr::null_mut(),
        device_kind: CPU,
        device_index: 0,
        dims: 0,
        code: 0,
        bits: 0,
        lanes: 0,
        sizes: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };

    /// The description of a tensor. It leads to the tensor's own sizes, strides and memory, which are there as long as the
    /// tensor is there and nobody gives it others.
    ///
    /// # Errors
    ///
    /// A dtype that DLPack does not have; memory that is not on the CPU; somebody is writing it.
    pub fn from_tensor(tensor: &Tensor) -> Result<Self> {
        let array = tensor.array()?;
        let known = DTYPES.iter().find(|(dtype, ..)| *dtype == array.dtype());
        let &(_, code, bits) = known.ok_or_else(|| {
            argument(format!("DLPack has no dtype like {}; convert the tensor first", array.dtype()))
        })?;
        if array.device().kind() != DeviceType::Cpu {
            let device = array.device();
            return Err(argument(format!(
                "memory of device {device} cannot be exported, only that of the cpu; copy it there"
            )));
        }
        // Reading clears memory that nobody has written.
        drop(array.storage().read()?);
        // The memory may come back by way of another library.
        array.storage().make_known();
        let start = array.storage().address().map_or(ptr::null_mut(), NonNull::as_ptr);
        let offset = array.geometry().offset() as usize * array.dtype().size_in_bytes();
        Ok(Self {
            data: start.wrapping_add(offset).cast(),
            dims: array.sizes().len() as i32,
            code,
            bits,
            lanes: 1,
            sizes: array.sizes().as_ptr().cast_mut(),
            strides: array.geometry().strides().as_ptr().cast_mut(),
            ..Self::NOTHING
        })
    }

    /// The dtype of the elements.
    ///
    /// # Errors
    ///
    /// One that tensors do not have.
    fn dtype(&self) -> Result<DType> {
        let Self { code, bits, lanes, .. } = *self;
        let known = DTYPES.iter().find(|(_, known, size)| (*known, *size, 1) == (code, bits, lanes));
        known.map(|(dtype, ..)| *dtype).ok_or_else(|| {
            argument(format!(
                "found elements of DLPack's type ({code}, {bits} bits, {lanes} lanes), which tensors do not have; \
                 convert them first"
            ))
        })
    }

    /// # Errors
    ///
    /// A negative number of dimensions or sizes that are missing.
    fn check(&self) -> Result<()> {
        if self.dims < 0 || (self.dims > 0 && self.sizes.is_null()) {
            let found = if self.dims < 0 { "" } else { ", but no sizes" };
            return Err(argument(format!("found {} dimensions{found} in a DLPack tensor", self.dims)));
        }
        Ok(())
    }

    /// # Safety
    ///
    /// `start` is null, or as many numbers as there are dimensions lie there; `check` has passed.
    unsafe fn numbers<'a>(&self, start: *const i64) -> Option<&'a [i64]> {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start, self.dims as usize) })
    }

    /// What kind of tensor it describes.
    ///
    /// # Errors
    ///
    /// Another device than the CPU, a dtype, sizes or strides that tensors cannot have.
    ///
    /// # Safety
    ///
    /// Sizes and strides are null, or as many numbers as there are dimensions lie there.
    pub unsafe fn spec(&self) -> Result<TensorSpec> {
        self.check()?;
        if self.device_kind != CPU {
            let found = self.device_kind;
            return Err(argument(format!(
                "found memory of DLPack's device {found}, expected that of the cpu ({CPU}); copy it there first"
            )));
        }
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let (sizes, strides) = unsafe { (self.numbers(self.sizes), self.numbers(self.strides)) };
        let sizes = sizes.unwrap_or_default();
        let geometry = match strides {
            None => Geometry::contiguous(sizes)?,
            Some(strides) => Geometry::strided(sizes, strides, 0)?,
        };
        Ok(TensorSpec::new(geometry, self.dtype()?, Device::CPU))
    }
}

/// `DLManagedTensor`, the form from before version 1.
#[repr(C)]
pub struct Unversioned {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<Deleter<Self>>,
}

/// `DLManagedTensorVersioned` of version 1.
#[repr(C)]
pub struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<Deleter<Self>>,
    flags: u64,
    tensor: DlTensor,
}

mod form {
    use std::ffi::c_void;
    use std::ptr::NonNull;

    use opgrid_core::Result;

    use super::DlTensor;

    pub type Deleter<F> = unsafe extern "C" fn(*mut F);

    /// How the two structures are made and read.
    pub trait Form: Sized + 'static {
        fn new(tensor: DlTensor, deleter: Deleter<Self>, flags: u64) -> Self;

        /// # Safety
        ///
        /// `managed` leads to such a structure, of any version.
        unsafe fn deleter(managed: NonNull<Self>) -> Option<Deleter<Self>>;

        /// The word that whoever made the structure keeps in it.
        ///
        /// # Safety
        ///
        /// As of [`Form::deleter`].
        unsafe fn context(managed: NonNull<Self>) -> *mut c_void;

        /// What the structure says of the tensor, and its flags.
        ///
        /// # Safety
        ///
        /// As of [`Form::deleter`].
        ///
        /// # Errors
        ///
        /// Another version.
        unsafe fn read(managed: NonNull<Self>) -> Result<(DlTensor, u64)>;
    }
}

use form::{Deleter, Form};

impl Form for Unversioned {
    fn new(tensor: DlTensor, deleter: Deleter<Self>, _: u64) -> Self {
        Self { tensor, context: ours(), deleter: Some(deleter) }
    }

    unsafe fn deleter(managed: NonNull<Self>) -> Option<Deleter<Self>> {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { (*managed.as_ptr()).deleter }
    }

    unsafe fn context(managed: NonNull<Self>) -> *mut c_void {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { (*managed.as_ptr()).context }
    }

    unsafe fn read(managed: NonNull<Self>) -> Result<(DlTensor, u64)> {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        Ok((unsafe { (*managed.as_ptr()).tensor }, 0))
    }
}

impl Form for Versioned {
    fn new(tensor: DlTensor, deleter: Deleter<Self>, flags: u64) -> Self {
        Self { major: 1, minor: 0, context: ours(), deleter: Some(deleter), flags, tensor }
    }

    unsafe fn deleter(managed: NonNull<Self>) -> Option<Deleter<Self>> {
        // SAFETY: guaranteed by the caller, see `# Safety`; DLPack guarantees that every version begins so.
        unsafe { (*managed.as_ptr()).deleter }
    }

    unsafe fn context(managed: NonNull<Self>) -> *mut c_void {
        // SAFETY: guaranteed by the caller, see `# Safety`; DLPack guarantees that every version begins so.
        unsafe { (*managed.as_ptr()).context }
    }

    unsafe fn read(managed: NonNull<Self>) -> Result<(DlTensor, u64)> {
        // SAFETY: guaranteed by the caller, see `# Safety`; DLPack guarantees that every version begins so.
        let (major, minor) = unsafe { ((*managed.as_ptr()).major, (*managed.as_ptr()).minor) };
        if major != 1 {
            return Err(argument(format!("found DLPack version {major}.{minor}, expected 1")));
        }
        // SAFETY: guaranteed by the caller, see `# Safety`; the version says that this is the structure.
        Ok(unsafe { ((*managed.as_ptr()).tensor, (*managed.as_ptr()).flags) })
    }
}

/// The word that our loans keep. It is the address of something that no other library has.
fn ours() -> *mut c_void {
    static OURS: u8 = 0;
    ptr::from_ref(&OURS).cast_mut().cast()
}

/// What a loan of ours is made of: the structure that the borrower gets comes first, so that its address is that of all.
#[repr(C)]
struct Lent<F> {
    managed: F,
    sizes: Vec<i64>,
    strides: Vec<i64>,
    tensor: Tensor,
}

/// # Safety
///
/// [`Loan::from_tensor`] made it, and this is the only call for it.
unsafe extern "C" fn delete<F: Form>(managed: *mut F) {
    // SAFETY: guaranteed by the caller, see `# Safety`; the structure is the first field of what `Loan::from_tensor` boxed.
    let lent = unsafe { Box::from_raw(managed.cast::<Lent<F>>()) };
    // Memory may be given back by a function of its owner. A panic has printed its message and ends here.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(lent))) {
        discard(panic);
    }
}

/// A tensor as `spec` says, but for its offset, on the bytes of a storage from some byte on; `None` where elements do not begin
/// there.
fn tensor_on(spec: &TensorSpec, (storage, before): (Storage, usize)) -> Result<Option<Tensor>> {
    let size = spec.dtype().size_in_bytes();
    if !before.is_multiple_of(size) {
        return Ok(None);
    }
    let geometry = Geometry::strided(spec.sizes(), spec.geometry().strides(), (before / size) as i64)?;
    let spec = TensorSpec::new(geometry, spec.dtype(), spec.device());
    Ok(Some(Tensor::from_array(Array::new(spec, storage)?)?.detached_from_graph()))
}

/// Memory on its way between libraries, in one of DLPack's forms. Dropping it gives the memory back.
pub struct Loan<F: Form> {
    /// Invariant: it leads to a structure that is ours to give back, with everything that DLPack guarantees.
    managed: NonNull<F>,
    tensor: DlTensor,
    flags: u64,
}

// SAFETY: DLPack guarantees that a deleter may be called on any thread, and that nobody changes the structure.
unsafe impl<F: Form> Send for Loan<F> {}
// SAFETY: DLPack guarantees that nobody changes the structure; a shared reference only reads.
unsafe impl<F: Form> Sync for Loan<F> {}

impl<F: Form> Loan<F> {
    /// Lends the memory of a tensor. `copied` says that it is a copy, made for this loan.
    ///
    /// # Errors
    ///
    /// As [`DlTensor::from_tensor`].
    pub fn from_tensor(tensor: &Tensor, copied: bool) -> Result<Self> {
        let mut described = DlTensor::from_tensor(tensor)?;
        let mut sizes = tensor.sizes().to_vec();
        let mut strides = tensor.strides().to_vec();
        (described.sizes, described.strides) = (sizes.as_mut_ptr(), strides.as_mut_ptr());
        let flags = if copied { IS_COPIED } else { 0 };
        let managed = F::new(described, delete::<F>, flags);
        let lent = Box::new(Lent { managed, sizes, strides, tensor: tensor.clone() });
        let managed = NonNull::from(Box::leak(lent)).cast();
        Ok(Self { managed, tensor: described, flags })
    }

    /// Takes over what another library lends.
    ///
    /// # Safety
    ///
    /// `managed` leads to a structure of that form that its owner has given away, and everything that DLPack guarantees of
    /// one holds: as many sizes and strides as dimensions, elements wherever they lead to, with values, until its deleter
    /// is called, which any thread may do.
    ///
    /// # Errors
    ///
    /// Another version, a negative number of dimensions or sizes that are missing; then it has been given back.
    pub unsafe fn from_raw(managed: NonNull<F>) -> Result<Self> {
        // From here on an error gives it back.
        let mut loan = Self { managed, tensor: DlTensor::NOTHING, flags: 0 };
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let (tensor, flags) = unsafe { F::read(managed) }?;
        tensor.check()?;
        (loan.tensor, loan.flags) = (tensor, flags);
        Ok(loan)
    }

    /// The structure, for another library, which has to call its deleter.
    pub fn into_raw(self) -> NonNull<F> {
        ManuallyDrop::new(self).managed
    }

    /// The dtype of the elements.
    ///
    /// # Errors
    ///
    /// One that tensors do not have.
    pub fn dtype(&self) -> Result<DType> {
        self.tensor.dtype()
    }

    /// The distance between neighbours in each dimension, in elements; `None` for row-major tensors.
    pub fn strides(&self) -> Option<&[i64]> {
        // SAFETY: the invariant; `check` has passed in `from_raw`, and `from_tensor` makes no others.
        unsafe { self.tensor.numbers(self.tensor.strides) }
    }

    /// Whether nobody may write the memory.
    pub fn is_read_only(&self) -> bool {
        self.flags & READ_ONLY != 0
    }

    /// Whether the elements lie at addresses at which elements of tensors cannot lie, so that they have to be copied.
    pub fn is_misaligned(&self) -> bool {
        let has_elements = !self.sizes().contains(&0);
        let alignment = self.dtype().map_or(1, DType::alignment);
        has_elements && !self.start().addr().is_multiple_of(alignment)
    }

    /// The sizes of the dimensions.
    fn sizes(&self) -> &[i64] {
        // SAFETY: the invariant; `check` has passed in `from_raw`, and `from_tensor` makes no others.
        unsafe { self.tensor.numbers(self.tensor.sizes) }.unwrap_or_default()
    }

    /// Where the first element lies.
    fn start(&self) -> *mut u8 {
        self.tensor.data.cast::<u8>().wrapping_add(self.tensor.byte_offset as usize)
    }

    /// A tensor on the memory, which goes back when the last view of it is gone; a copy if nobody may write it, or if it
    /// [is misaligned](Self::is_misaligned).
    ///
    /// # Errors
    ///
    /// Memory of another device than the CPU, elements of a dtype that tensors do not have, at distances that they cannot
    /// have, or no memory; then it has been given back.
    pub fn into_tensor(self) -> Result<Tensor> {
        // SAFETY: the invariant.
        let spec = unsafe { self.tensor.spec() }?;
        let bytes = spec.bytes()?;
        if bytes == 0 {
            // Without elements there is nothing to share.
            return Tensor::from_array(Array::empty(spec)?);
        }
        let start = NonNull::new(self.start())
            .ok_or_else(|| argument("found no memory behind a DLPack tensor with elements"))?;
        if self.is_misaligned() {
            // SAFETY: the invariant: elements wherever sizes and strides lead to from `start`.
            return unsafe { copied(&spec, start) };
        }
        let is_read_only = self.is_read_only();
        let give =
            |tensor: Tensor| if is_read_only { ops::CloneTensor.call(&tensor, None) } else { Ok(tensor) };
        if let Some(known) = self.storage(start, bytes)
            && let Some(shared) = tensor_on(&spec, known)?
        {
            return give(shared);
        }
        // SAFETY: the invariant: elements wherever sizes and strides lead to from `start`, of which the last ends at `bytes`,
        // until `release` gives the structure back. That others write them meanwhile is in the hands of who shares them, as
        // this module's text says; memory that may not be written is only read, below.
        let memory = unsafe { Allocation::foreign(start, bytes, move || drop(self)) };
        // SAFETY: the invariant: elements have values.
        let storage = unsafe { Storage::of_written(memory) }?;
        if !is_read_only {
            // Another thread may have been faster.
            let own = storage.clone();
            if let Some(shared) = tensor_on(&spec, storage.known())? {
                return Ok(shared);
            }
            return Tensor::from_array(Array::new(spec, own)?);
        }
        give(Tensor::from_array(Array::new(spec, storage)?)?)
    }

    /// The storage that has these bytes, and how many of its bytes lie before them: that of the tensor that was lent, or
    /// one that is known by its address.
    fn storage(&self, start: NonNull<u8>, bytes: usize) -> Option<(Storage, usize)> {
        // SAFETY: the invariant.
        if unsafe { F::context(self.managed) } == ours() {
            // SAFETY: whoever has that word made the structure in `from_tensor`, where it is the first field of a `Lent<F>`.
            let lent = unsafe { self.managed.cast::<Lent<F>>().as_ref() };
            let storage = lent.tensor.array().ok()?.storage().clone();
            let before = start.addr().get().checked_sub(storage.address()?.addr().get())?;
            if before.checked_add(bytes)? <= storage.bytes() {
                return Some((storage, before));
            }
        }
        Storage::of_memory(start, bytes)
    }

    /// Whether tensors know the memory already, so that a tensor on this loan shares theirs.
    pub fn is_known(&self) -> bool {
        // SAFETY: the invariant.
        let Ok(bytes) = (unsafe { self.tensor.spec() }).and_then(|spec| spec.bytes()) else { return false };
        let start = self.tensor.data.cast::<u8>().wrapping_add(self.tensor.byte_offset as usize);
        bytes == 0 || NonNull::new(start).is_some_and(|start| self.storage(start, bytes).is_some())
    }
}

/// A new tensor of elements that may lie at any address.
///
/// # Safety
///
/// Elements of the spec's dtype lie wherever its sizes and strides lead to from `start`.
unsafe fn copied(spec: &TensorSpec, start: NonNull<u8>) -> Result<Tensor> {
    let array = Array::empty(TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())?)?;
    let size = spec.dtype().size_in_bytes();
    let mut guard = array.storage().write()?;
    let mut index = vec![0i64; spec.sizes().len()];
    for element in guard.bytes().chunks_exact_mut(size).take(spec.numel() as usize) {
        let offset: i64 = index.iter().zip(spec.strides()).map(|(index, stride)| index * stride).sum();
        // SAFETY: guaranteed by the caller, see `# Safety`: the index is one of the elements'.
        let found = unsafe { start.add(offset as usize * size) };
        // SAFETY: guaranteed by the caller, see `# Safety`: the element has `size` bytes there; those of the new array are its own.
        unsafe { ptr::copy_nonoverlapping(found.as_ptr(), element.as_mut_ptr(), size) };
        for (place, length) in index.iter_mut().zip(spec.sizes()).rev() {
            *place += 1;
            if *place < *length {
                break;
            }
            *place = 0;
        }
    }
    drop(guard);
    Tensor::from_array(array)
}

impl<F: Form> Drop for Loan<F> {
    fn drop(&mut self) {
        // SAFETY: the invariant.
        if let Some(deleter) = unsafe { F::deleter(self.managed) } {
            // SAFETY: the invariant; it is given back once, here, for `into_raw` leaves no loan behind.
            unsafe { deleter(self.managed.as_ptr()) }
        }
    }
}
