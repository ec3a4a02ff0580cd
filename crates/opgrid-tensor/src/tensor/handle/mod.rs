//! The tensor that operators take and give: the dispatcher's handle with the methods of an array.
//!
//! ```text
//! Tensor ──► keys │ count │ content: array, number, wrapper or nothing │ ──► array that took its place, of those kept
//!                                                                        │     what others keep with the tensor
//! ```
//!
//! A tensor's sizes change in two cases: an `out` argument without elements takes the shape of the result, and operators
//! such as `resize_` and `t_` are asked to change them. An array never changes: another one takes its place. All that
//! ever did are kept as long as the tensor, so that who looks at one may go on and reading takes no lock. Equal ones are
//! kept once, so that changing to and fro takes no more memory. A number in a tensor's place has no storage until
//! somebody asks for its array.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use opgrid_core::conversions::IntList;
use opgrid_core::deferred_drop::Flat;
use opgrid_core::{
    AnyTensor, DType, Device, DeviceType, DispatchKey, DispatchKeySet, Result, Scalar, TensorData,
    TensorType, WeakTensor, compute_dispatch_key, inference_tensor_key_set, is_inference_mode,
    tensor_key_set, tensor_type,
};

use super::array::{Array, Elements, new_storage};
use super::element::Element;
use super::geometry::Geometry;
use super::metadata::Attachments;
use super::requires_grad::Lineage;
use super::spec::TensorSpec;
use super::storage::Storage;
use super::wrapper::{Wrapper, no_memory};
use crate::error::argument;

mod replacement;

tensor_type! {
    /// A dense tensor. Clones are the same tensor; views are others on the same memory.
    ///
    /// Invariant: the handle's data is a `Record`.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    /// let y = x.add(&x)?;
    /// assert_eq!(y.to_string(), "tensor([2., 4., 6.])");
    /// assert_eq!(y.sum()?.to_vec::<f32>()?, [12.0]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub struct Tensor(Record);
}

/// What a handle leads to.
///
/// Invariant: `latest` is null or one of the arrays that `more` keeps. `more` is null or leads to a [`More`] made by
/// `Box::into_raw`, which lives as long as the record.
struct Record {
    content: Content,
    /// The array that took the content's place, if one has.
    latest: AtomicPtr<Array>,
    /// What most tensors do not have.
    more: AtomicPtr<More>,
    /// A word of a language binding.
    object: AtomicPtr<()>,
}

/// What is kept with a tensor beside its content.
///
/// Invariant: the pointers in `kept` are of arrays made by `Box::into_raw`, one for each place; they live as long as
/// this and never change.
#[derive(Default)]
struct More {
    /// Every array that ever took the content's place: somebody may still look at it.
    kept: Mutex<Option<Box<Kept>>>,
    lineage: Lineage,
    attachments: Attachments,
}

/// Arrays by their specs and their storages, which they keep alive.
pub type Kept = HashMap<(TensorSpec, usize), AtomicPtr<Array>>;

enum Content {
    Array(Array),
    /// A number in a tensor's place.
    Number(Scalar),
    /// What a layer implements. It may own another such tensor.
    Wrapper(Flat<Box<dyn Wrapper>>),
    /// A tensor that is not there.
    Undefined,
}

impl Drop for Record {
    #[inline]
    fn drop(&mut self) {
        let more = *self.more.get_mut();
        if !more.is_null() {
            // SAFETY: by the invariant a box's; nobody looks at a record that is dropped.
            drop(unsafe { Box::from_raw(more) });
        }
    }
}

impl Drop for More {
    fn drop(&mut self) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        for mut array in kept.into_iter().flat_map(|kept| kept.into_values()) {
            // SAFETY: by the invariant a box's, of which each is met once; nobody looks at what is dropped.
            drop(unsafe { Box::from_raw(*array.get_mut()) });
        }
    }
}

impl Record {
    #[inline]
    fn new(content: Content) -> Self {
        Self {
            content,
            latest: AtomicPtr::new(ptr::null_mut()),
            more: AtomicPtr::new(ptr::null_mut()),
            object: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// What is kept beside the content, if anything is.
    #[inline]
    fn more(&self) -> Option<&More> {
        let more = self.more.load(Ordering::Acquire);
        // SAFETY: by the invariant null or alive as long as `self`; the load sees what was published.
        unsafe { more.as_ref() }
    }

    /// Returns the record's rare fields, creating them if needed.
    fn more_or_new(&self) -> &More {
        if let Some(more) = self.more() {
            return more;
        }
        let new = Box::into_raw(Box::default());
        if self.more.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: made by `Box::into_raw` above, and never published.
            drop(unsafe { Box::from_raw(new) });
        }
        self.more().expect("this thread or a faster one has put it there")
    }

    /// The array that took the content's place.
    #[inline]
    fn later(&self) -> Option<&Array> {
        let latest = self.latest.load(Ordering::Acquire);
        // SAFETY: by the invariant null or alive and unchanging as long as `self`; the load sees what was published.
        unsafe { latest.as_ref() }
    }

    /// Puts an array into the place of the one that was there before, unless somebody else has put another one there.
    fn replace(&self, before: *mut Array, array: Array) -> bool {
        let mut kept = self.more_or_new().kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (array.spec().clone(), array.storage().identity());
        let kept = kept.get_or_insert_default().entry(place);
        let array = kept.or_insert_with(|| AtomicPtr::new(Box::into_raw(Box::new(array))));
        self.latest.compare_exchange(before, *array.get_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// An array of this spec that was the tensor's before and whose memory nobody else has.
    fn spare(&self, spec: &TensorSpec) -> Option<Array> {
        let mut kept = self.more()?.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let latest = self.latest.load(Ordering::Acquire);
        let first = match &self.content {
            Content::Array(array) if !latest.is_null() => Some(array),
            _ => None,
        };
        // SAFETY: by the invariant all are boxes', which live as long as `self` and never change; `latest` is one of them.
        let before =
            kept.iter_mut().flat_map(|kept| kept.values_mut()).map(|array| unsafe { &**array.get_mut() });
        let own: Vec<&Array> = first.into_iter().chain(before).collect();
        let is_now = |array: &&Array| ptr::eq(*array, latest);
        let has_memory_of = |a: &Array, b: &Array| a.storage().is_same(b.storage());
        own.iter().find_map(|array| {
            let storages = own.iter().filter(|other| has_memory_of(array, other));
            let is_shown = storages.clone().any(is_now);
            let is_spare = array.spec() == spec && !is_shown && array.storage().owners() == storages.count();
            is_spare.then(|| (*array).clone())
        })
    }

    #[inline(always)]
    fn spec(&self) -> &TensorSpec {
        match &self.content {
            Content::Array(array) if self.is_first() => array.spec(),
            Content::Number(value) if self.is_first() => number_spec(*value),
            _ => self.other_spec(),
        }
    }

    /// Whether no array has taken the content's place, as with most tensors.
    #[inline(always)]
    fn is_first(&self) -> bool {
        self.latest.load(Ordering::Acquire).is_null()
    }

    /// As [`spec`](Self::spec), of a tensor of any kind.
    #[inline(never)]
    fn other_spec(&self) -> &TensorSpec {
        match (self.later(), &self.content) {
            (Some(array), _) | (None, Content::Array(array)) => array.spec(),
            (None, Content::Number(value)) => number_spec(*value),
            (None, Content::Wrapper(wrapper)) => wrapper.spec(),
            (None, Content::Undefined) => &NOTHING,
        }
    }

    #[inline(always)]
    fn array(&self) -> Result<&Array> {
        match &self.content {
            Content::Array(array) if self.is_first() => Ok(array),
            _ => self.other_array(),
        }
    }

    /// As [`array`](Self::array), of a tensor of any kind.
    #[inline(never)]
    fn other_array(&self) -> Result<&Array> {
        match (self.later(), &self.content) {
            (Some(array), _) | (None, Content::Array(array)) => Ok(array),
            (None, Content::Number(value)) => {
                self.replace(ptr::null_mut(), Array::from_number(*value)?);
                Ok(self.later().expect("this thread or a faster one has put an array there"))
            }
            (None, Content::Wrapper(wrapper)) => Err(no_memory(&***wrapper)),
            (None, Content::Undefined) => Err(undefined()),
        }
    }
}

/// What a number in a tensor's place is like.
#[inline]
fn number_spec(value: Scalar) -> &'static TensorSpec {
    const fn scalar_spec(dtype: DType) -> TensorSpec {
        TensorSpec::new(Geometry::ONE, dtype, Device::CPU)
    }
    static SPECS: [TensorSpec; 5] = [
        scalar_spec(DType::I64),
        scalar_spec(DType::U64),
        scalar_spec(DType::F64),
        scalar_spec(DType::Bool),
        scalar_spec(DType::Complex128),
    ];
    match value {
        Scalar::Int(_) => &SPECS[0],
        Scalar::UInt(_) => &SPECS[1],
        Scalar::Float(_) => &SPECS[2],
        Scalar::Bool(_) => &SPECS[3],
        Scalar::Complex(_) => &SPECS[4],
    }
}

/// What an undefined tensor seems to be like.
static NOTHING: TensorSpec = TensorSpec::new(Geometry::NONE, DType::F32, Device::CPU);

#[cold]
fn undefined() -> opgrid_core::Error {
    argument("found an undefined tensor, expected one with elements; pass a tensor")
}

impl TensorData for Record {
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.array() {
            Ok(array) => fmt::Display::fmt(array, f),
            Err(_) => match &self.content {
                Content::Number(value) => write!(f, "tensor({value})"),
                Content::Wrapper(wrapper) => wrapper.describe(f),
                _ => f.write_str("tensor(<undefined>)"),
            },
        }
    }
}

/// The keys that a new tensor with such data carries: without those of autograd in inference mode.
///
/// # Errors
///
/// A device without dense tensors.
#[inline]
fn keys_of(dtype: DType, device: Device) -> Result<DispatchKeySet> {
    if device == Device::CPU && !dtype.is_quantized() {
        return Ok(cpu_keys());
    }
    let key = compute_dispatch_key(Some(dtype), None, Some(device))?;
    let keys = if is_inference_mode() { inference_tensor_key_set(key) } else { tensor_key_set(key) };
    Ok(if device.is_fake() { keys | keys_of_fakes(device.real()) } else { keys })
}

/// What a tensor without data carries beside its own keys: the layer of fake tensors, and autocast of the device that it passes for.
#[cold]
fn keys_of_fakes(device: Device) -> DispatchKeySet {
    let keys = compute_dispatch_key(None, None, Some(device)).map_or(DispatchKeySet::EMPTY, tensor_key_set);
    let autocast = keys.layers() & DispatchKeySet::AUTOCAST.layers();
    DispatchKeySet::from_parts(autocast, 0).add(DispatchKey::Fake)
}

/// Returns the dispatch keys of an ordinary CPU tensor.
#[inline]
fn cpu_keys() -> DispatchKeySet {
    if is_inference_mode() { CPU_INFERENCE } else { CPU }
}

const CPU_INFERENCE: DispatchKeySet =
    DispatchKeySet::from_keys(&[DispatchKey::Cpu, DispatchKey::AutocastCpu]);
const CPU: DispatchKeySet = CPU_INFERENCE.add(DispatchKey::AdInplaceOrView).add(DispatchKey::AutogradCpu);

/// # Tensors of elements and numbers
impl Tensor {
    #[inline]
    fn with_content(keys: DispatchKeySet, content: Content) -> Self {
        Self(AnyTensor::new(keys, Record::new(content)))
    }

    /// A tensor of this array. In inference mode it carries no autograd keys.
    ///
    /// # Errors
    ///
    /// A device without dense tensors.
    #[inline]
    pub fn from_array(array: Array) -> Result<Self> {
        let keys = keys_of(array.dtype(), array.device())?;
        Ok(Self::with_content(keys, Content::Array(array)))
    }

    /// A new row-major CPU tensor of these elements.
    ///
    /// # Errors
    ///
    /// Sizes that ask for another number of elements; no memory.
    pub fn from_slice<T: Element>(elements: &[T], sizes: impl IntList) -> Result<Self> {
        Self::from_array(Array::from_slice(elements, sizes.into_list().as_ref())?)
    }

    /// A new tensor, which reads as zero until it is written. It is made here and now, without a dispatch: kernels
    /// make their results so.
    ///
    /// # Errors
    ///
    /// No memory; a device other than CPU and meta.
    #[inline]
    pub fn allocate(spec: TensorSpec) -> Result<Self> {
        Self::allocate_like(&spec)
    }

    /// Allocates a tensor from a spec that is copied once, from its source to its final place: data that was just
    /// written in parts would be read as a whole to be moved, for which the processor waits.
    #[inline]
    pub fn allocate_like(spec: &TensorSpec) -> Result<Self> {
        let storage = new_storage(spec)?;
        let keys = keys_of(spec.dtype(), spec.device())?;
        Ok(Self(AnyTensor::with(keys, || {
            // SAFETY: the storage was allocated for the spec above.
            Record::new(Content::Array(unsafe { Array::allocated(spec.clone(), storage) }))
        })))
    }

    /// As [`allocate`](Self::allocate), row-major. Sizes and strides of a small CPU tensor are written where they stay, as
    /// above.
    ///
    /// # Errors
    ///
    /// As [`allocate`](Self::allocate); those of [`Geometry::contiguous`].
    #[inline]
    pub fn allocate_contiguous(sizes: &[i64], dtype: DType, device: Device) -> Result<Self> {
        if device == Device::CPU
            && !dtype.is_quantized()
            && let Some(bytes) = Geometry::bytes_of_few(sizes, dtype.size_in_bytes())
        {
            let storage = Storage::cpu(bytes)?;
            // On the CPU, as was just asked: a constant, which is written where it stays.
            let of_one = move || {
                let spec = TensorSpec::of_one(dtype, Device::CPU);
                // SAFETY: nobody reads it before it gets, in the lines below, the sizes that the storage was allocated for.
                Record::new(Content::Array(unsafe { Array::allocated(spec, storage) }))
            };
            let mut new = Self(AnyTensor::with(cpu_keys(), of_one));
            if let Some(Record { content: Content::Array(array), .. }) = new.0.data_mut() {
                // SAFETY: the storage was allocated with the bytes of these sizes, as `bytes_of_few` counted them.
                unsafe { array.become_contiguous(sizes)? };
                return Ok(new);
            }
        }
        Self::allocate(TensorSpec::contiguous(sizes, dtype, device)?)
    }

    /// A number in a tensor's place: it has no dimensions, counts least in type promotion, and has no memory.
    #[inline]
    pub fn number(value: impl Into<Scalar>) -> Self {
        Self::with_content(cpu_keys(), Content::Number(value.into()))
    }

    /// A tensor that is not there, as autograd uses it for a gradient that is zero.
    pub fn undefined() -> Self {
        let keys = tensor_key_set(DispatchKey::Undefined);
        Self::with_content(keys, Content::Undefined)
    }

    /// A tensor of a layer's own.
    pub(super) fn wrapping(keys: DispatchKeySet, wrapper: Box<dyn Wrapper>) -> Self {
        Self::with_content(keys, Content::Wrapper(Flat::new(wrapper)))
    }

    /// What a layer keeps behind this handle.
    pub(super) fn wrapped(&self) -> Option<&dyn Wrapper> {
        match &self.record().content {
            Content::Wrapper(wrapper) => Some(&***wrapper),
            _ => None,
        }
    }

    /// What layers, backends and language bindings keep with this tensor, unless it keeps nothing.
    #[inline]
    pub(super) fn attachments(&self) -> Option<&Attachments> {
        self.record().more().map(|more| &more.attachments)
    }

    /// Returns the attachments, creating them if needed.
    pub(super) fn attachments_or_new(&self) -> &Attachments {
        &self.record().more_or_new().attachments
    }

    /// How the tensor came to memory that others have, too; none if it keeps nothing.
    #[inline]
    pub(super) fn lineage(&self) -> Option<&Lineage> {
        self.record().more().map(|more| &more.lineage)
    }

    /// Returns the lineage, creating it if needed.
    pub(super) fn lineage_or_new(&self) -> &Lineage {
        &self.record().more_or_new().lineage
    }

    /// A word that belongs to the one language binding of the process: where its object of this tensor is, so that a
    /// tensor has one object. It is null until the binding writes it, and nobody else reads it.
    #[inline]
    pub fn binding_object(&self) -> &AtomicPtr<()> {
        &self.record().object
    }
}

/// # Memory, views and versions
impl Tensor {
    /// How often the elements behind this tensor were written since they were there: every view of the memory counts
    /// together. Two equal answers mean that nobody has written in between; the numbers themselves mean nothing.
    pub fn version(&self) -> u64 {
        match (self.record().later(), &self.record().content) {
            (Some(array), _) | (None, Content::Array(array)) => array.storage().version(),
            (None, Content::Wrapper(wrapper)) => wrapper.version(),
            (None, Content::Number(_) | Content::Undefined) => 0,
        }
    }

    /// Begins to count from here, for a result that a kernel has made and nobody else knows of.
    #[inline]
    pub fn restart_version(&self) {
        if let Some(array) = self.first_array() {
            array.storage().restart_version();
        }
    }

    /// Whether the CPU can address the elements, so that guards see writes.
    #[inline]
    pub(crate) fn has_cpu_memory(&self) -> bool {
        self.device().kind() == DeviceType::Cpu
    }

    /// Counts a write that no guard of the storage sees: to memory of a device, or to a meta tensor.
    pub fn mark_written(&self) {
        if let Ok(array) = self.record().array() {
            array.storage().mark_written();
        }
    }

    /// A handle that does not keep the tensor; [`upgrade`](Self::upgrade) turns it back.
    pub fn downgrade(&self) -> WeakTensor {
        self.0.downgrade()
    }

    /// A handle of the tensor that a weak one leads to, if it is there and of this library.
    pub fn upgrade(weak: &WeakTensor) -> Option<Self> {
        Self::from_any(weak.upgrade()?).ok()
    }

    /// Another view of the same memory, made without a dispatch; it carries the same keys.
    ///
    /// Where the tensor requires a gradient the view has none, and a recorded write to it is an error, because the graph
    /// does not know of it: the operators for views (`as_strided` and others) give views that it knows.
    ///
    /// # Errors
    ///
    /// A geometry that leads beyond the storage; an undefined tensor.
    pub fn view_as(&self, geometry: Geometry) -> Result<Self> {
        Ok(self.bare_view(geometry)?.taken_unrecorded_of(self))
    }

    /// As [`view_as`](Self::view_as), of which nobody will say what it was taken of.
    ///
    /// # Errors
    ///
    /// As [`view_as`](Self::view_as).
    pub fn bare_view(&self, geometry: Geometry) -> Result<Self> {
        Ok(Self::with_content(self.unmarked_keys(), Content::Array(self.array()?.view(geometry)?)))
    }

    /// A view of the same memory with another spec, which may be of another dtype.
    ///
    /// # Errors
    ///
    /// A spec that leads beyond the storage, or whose device is another kind; a tensor without a storage.
    pub fn view_with(&self, spec: TensorSpec) -> Result<Self> {
        let array = Array::new(spec, self.array()?.storage().clone())?;
        Ok(Self::with_content(self.unmarked_keys(), Content::Array(array)))
    }

    #[inline]
    fn record(&self) -> &Record {
        // SAFETY: the handle's data is a `Record`: the field is private to this module, where only `new` fills it, with a new
        // record; others come through `TensorType`, whose `accepts` asked.
        unsafe { self.0.data_unchecked() }
    }
}

/// # Sizes, dtype and device
impl Tensor {
    /// The keys that this tensor brings into a call.
    #[inline]
    pub fn keys(&self) -> DispatchKeySet {
        self.0.keys()
    }

    /// Whether both are one tensor, not only equal or on the same memory.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    /// Whether there is a tensor at all.
    #[inline]
    pub fn is_defined(&self) -> bool {
        !matches!(self.record().content, Content::Undefined)
    }

    /// What this tensor is like, if it has elements and is no number in a tensor's place.
    #[inline]
    pub fn array_spec(&self) -> Option<&TensorSpec> {
        let record = self.record();
        matches!(record.content, Content::Array(_)).then(|| record.spec())
    }

    /// The array that this tensor was made of, if it was and no other one has taken its place: so are most.
    #[inline]
    pub(crate) fn first_array(&self) -> Option<&Array> {
        match &self.record().content {
            Content::Array(array) if self.record().is_first() => Some(array),
            _ => None,
        }
    }

    /// Whether this is a number in a tensor's place.
    #[inline]
    pub fn is_number(&self) -> bool {
        matches!(self.record().content, Content::Number(_))
    }

    /// The value of a number that has no array yet. Once it has one, that may be written, and only it counts.
    #[inline]
    pub fn bare_number(&self) -> Option<&Scalar> {
        match &self.record().content {
            Content::Number(value) if self.record().later().is_none() => Some(value),
            _ => None,
        }
    }

    /// Spec and memory.
    ///
    /// # Errors
    ///
    /// An undefined tensor; a number that no array can hold.
    #[inline]
    pub fn array(&self) -> Result<&Array> {
        self.record().array()
    }

    /// Sizes, strides, dtype and device.
    ///
    /// # Errors
    ///
    /// An undefined tensor.
    #[inline]
    pub fn spec(&self) -> Result<&TensorSpec> {
        if self.is_defined() { Ok(self.record().spec()) } else { Err(undefined()) }
    }

    /// Returns the spec without checking that the tensor is defined; an undefined tensor has the spec of sizes `[0]`.
    #[inline]
    pub fn known_spec(&self) -> &TensorSpec {
        self.record().spec()
    }

    /// The map from indices to elements; that of sizes `[0]` for an undefined tensor.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        self.record().spec().geometry()
    }

    /// The size of each dimension; `[0]` for an undefined tensor.
    #[inline]
    pub fn sizes(&self) -> &[i64] {
        self.record().spec().sizes()
    }

    /// The size of each dimension as Rust counts: [`sizes`](Self::sizes) as `usize`.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::prelude::*;
    ///
    /// let x = Tensor::zeros((2, 3), DType::F32, Device::CPU)?;
    /// let rows: usize = x.shape()[0];
    /// assert_eq!(rows, 2);
    /// # Ok::<(), opgrid::Error>(())
    /// ```
    #[cfg(target_pointer_width = "64")]
    #[inline]
    pub fn shape(&self) -> &[usize] {
        let sizes = self.sizes();
        // SAFETY: on this target `usize` has the size and the alignment of `i64`, and both take every pattern of bits; the slice
        // is borrowed as before.
        unsafe { std::slice::from_raw_parts(sizes.as_ptr().cast(), sizes.len()) }
    }

    /// The distance between neighbours in each dimension, in elements.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        self.record().spec().strides()
    }

    /// The number of dimensions.
    #[inline]
    pub fn dim(&self) -> usize {
        self.sizes().len()
    }

    /// The sizes of a vector; `dims2` to `dims5` are those of tensors of more dimensions.
    ///
    /// # Errors
    ///
    /// Another number of dimensions.
    pub fn dims1(&self) -> Result<i64> {
        self.dims().map(|[a]| a)
    }

    /// The sizes of a matrix.
    ///
    /// # Errors
    ///
    /// Another number of dimensions.
    pub fn dims2(&self) -> Result<(i64, i64)> {
        self.dims().map(|[a, b]| (a, b))
    }

    /// The sizes of a tensor of three dimensions.
    ///
    /// # Errors
    ///
    /// Another number of dimensions.
    pub fn dims3(&self) -> Result<(i64, i64, i64)> {
        self.dims().map(|[a, b, c]| (a, b, c))
    }

    /// The sizes of a tensor of four dimensions, such as a batch of images.
    ///
    /// # Errors
    ///
    /// Another number of dimensions.
    pub fn dims4(&self) -> Result<(i64, i64, i64, i64)> {
        self.dims().map(|[a, b, c, d]| (a, b, c, d))
    }

    /// The sizes of a tensor of five dimensions, such as a batch of volumes.
    ///
    /// # Errors
    ///
    /// Another number of dimensions.
    pub fn dims5(&self) -> Result<(i64, i64, i64, i64, i64)> {
        self.dims().map(|[a, b, c, d, e]| (a, b, c, d, e))
    }

    fn dims<const N: usize>(&self) -> Result<[i64; N]> {
        let sizes = self.sizes();
        sizes.try_into().map_err(|_| {
            argument(format!(
                "found a tensor of {} dimensions with sizes {sizes:?}, expected {N}",
                sizes.len()
            ))
        })
    }

    /// The number of elements.
    #[inline]
    pub fn numel(&self) -> i64 {
        self.record().spec().numel()
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.record().spec().dtype()
    }

    /// Where the elements are.
    #[inline]
    pub fn device(&self) -> Device {
        self.record().spec().device()
    }

    /// Whether elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.geometry().is_contiguous()
    }
}

/// # Elements
impl Tensor {
    /// All elements in row-major order.
    ///
    /// # Errors
    ///
    /// As [`Array::to_vec`]; an undefined tensor.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.array()?.to_vec()
    }

    /// All elements, borrowed, where they lie in row-major order in memory of the CPU. Nobody can write the storage
    /// until the borrow ends.
    ///
    /// # Errors
    ///
    /// As [`Array::elements`]; an undefined tensor.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::from_slice(&[3.0f32, 4.0], &[2])?;
    /// let norm: f32 = x.elements::<f32>()?.iter().map(|x| x * x).sum();
    /// assert_eq!(norm, 25.0);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn elements<T: Element>(&self) -> Result<Elements<'_, T>> {
        self.array()?.elements()
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl From<Scalar> for Tensor {
    /// A [number](Tensor::number) in a tensor's place.
    #[inline]
    fn from(value: Scalar) -> Self {
        Self::number(value)
    }
}

impl From<Tensor> for AnyTensor {
    fn from(tensor: Tensor) -> Self {
        tensor.0
    }
}

impl From<Tensor> for opgrid_core::Value {
    fn from(tensor: Tensor) -> Self {
        tensor.0.into()
    }
}

impl From<&Tensor> for opgrid_core::Value {
    fn from(tensor: &Tensor) -> Self {
        tensor.0.clone().into()
    }
}

impl TryFrom<opgrid_core::Value> for Tensor {
    type Error = opgrid_core::Error;

    /// # Errors
    ///
    /// [`ErrorKind::Value`](opgrid_core::ErrorKind::Value) where the value is no tensor of this crate.
    fn try_from(value: opgrid_core::Value) -> Result<Self> {
        <Self as opgrid_core::ValueType>::take(value)
    }
}

impl TryFrom<AnyTensor> for Tensor {
    type Error = opgrid_core::Error;

    fn try_from(tensor: AnyTensor) -> Result<Self> {
        Self::from_any(tensor).map_err(|other| {
            argument(format!("found a tensor of another library ({other}), expected a dense one"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_ordinary_tensors_are_those_that_are_computed() {
        assert_eq!(CPU, tensor_key_set(DispatchKey::Cpu));
        assert_eq!(CPU_INFERENCE, inference_tensor_key_set(DispatchKey::Cpu));
    }

    #[test]
    fn the_word_of_a_binding_belongs_to_the_tensor() {
        let x = Tensor::from_slice(&[1.0f32], &[1]).unwrap();
        assert!(x.binding_object().load(Ordering::Relaxed).is_null());
        let mut object = ();
        x.clone().binding_object().store(&raw mut object, Ordering::Relaxed);
        assert_eq!(x.binding_object().load(Ordering::Relaxed), &raw mut object);
        let view = x.view_as(x.geometry().clone()).unwrap();
        assert!(view.binding_object().load(Ordering::Relaxed).is_null());
    }

    #[test]
    fn sizes_change_to_and_fro_without_more_memory() {
        let x = Tensor::from_slice(&[1i64, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
        let before = x.sizes();
        for _ in 0..101 {
            let exchanged = x.geometry().transpose(0, 1).unwrap();
            x.become_array(x.array().unwrap().view(exchanged).unwrap()).unwrap();
        }
        assert_eq!((before, x.sizes()), ([2, 3].as_slice(), [3, 2].as_slice()));
        let kept = x.record().more().unwrap().kept.lock().unwrap();
        assert_eq!(kept.as_ref().map(|kept| kept.len()), Some(2));
    }

    #[test]
    fn a_tensor_keeps_its_dtype() {
        let (x, y) =
            (Tensor::from_slice(&[1i64], &[1]).unwrap(), Tensor::from_slice(&[1.0f32], &[1]).unwrap());
        assert!(x.become_array(y.array().unwrap().clone()).is_err());
        let number = Tensor::number(3);
        number
            .become_array(number.array().unwrap().view(Geometry::contiguous(&[1, 1]).unwrap()).unwrap())
            .unwrap();
        assert_eq!((number.sizes(), number.to_vec::<i64>().unwrap()), ([1, 1].as_slice(), vec![3]));
    }

    #[test]
    fn a_record_is_three_cache_lines() {
        assert_eq!(size_of::<TensorSpec>(), 120);
        assert_eq!(size_of::<Content>(), 128);
        assert!(size_of::<Record>() + 32 <= 192, "with the head of the core's record");
    }
}
