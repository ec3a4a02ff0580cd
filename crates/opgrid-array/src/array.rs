//! The data half of a tensor: a spec and the storage it addresses.
#![allow(unsafe_code)]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use opgrid_core::{DType, Device, DeviceType, Result, Scalar};

use super::element::{Bool, Element};
use super::geometry::Geometry;
use super::spec::TensorSpec;
use super::storage::{ReadGuard, Storage, fake};
use crate::error::argument;

/// Sizes, strides, dtype, device and memory. Clones and views share the memory.
///
/// Invariant: the storage holds every element that the spec addresses, and has memory unless the device is meta.
///
/// # Examples
///
/// ```
/// use opgrid_array::Array;
///
/// let array = Array::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// assert_eq!(array.view(array.geometry().transpose(0, 1)?)?.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
/// assert_eq!(array.to_string(), "tensor([[1., 2.],\n        [3., 4.]])");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Array {
    spec: TensorSpec,
    storage: Storage,
}

impl Array {
    /// The array of one element, without dimensions, that a number stands for: int64, uint64, float64, bool or
    /// complex128.
    ///
    /// # Errors
    ///
    /// No memory; a number that no array can hold.
    pub fn from_number(value: Scalar) -> Result<Self> {
        match value {
            Scalar::Int(value) => Self::from_slice(&[value], &[]),
            Scalar::UInt(value) => Self::from_slice(&[value], &[]),
            Scalar::Float(value) => Self::from_slice(&[value], &[]),
            Scalar::Bool(value) => Self::from_slice(&[Bool::from(value)], &[]),
            Scalar::Complex(value) => Self::from_slice(&[value], &[]),
        }
    }

    /// The elements of `storage` that `spec` addresses.
    ///
    /// # Errors
    ///
    /// A storage that is too small, or at an address that does not suit the dtype; a storage with data for device meta, or
    /// without for another.
    pub fn new(spec: TensorSpec, storage: Storage) -> Result<Self> {
        spec.check_storage(storage.bytes())?;
        let alignment = spec.dtype().alignment();
        let start = storage.address().filter(|_| spec.numel() > 0);
        if start.is_some_and(|start| !start.addr().get().is_multiple_of(alignment)) {
            return Err(argument(format!(
                "found memory at an address that is not a multiple of {alignment}, as elements of {} need it; copy it first",
                spec.dtype()
            )));
        }
        let device = spec.device();
        if storage.has_data() == (device.kind() == DeviceType::Meta) {
            let found = if storage.has_data() { "with" } else { "without" };
            return Err(argument(format!("a storage {found} data does not fit device {device}")));
        }
        Ok(Self { spec, storage })
    }

    /// A new tensor, which reads as zero until it is written.
    ///
    /// # Errors
    ///
    /// No memory; a device other than CPU and meta.
    #[inline]
    pub fn empty(spec: TensorSpec) -> Result<Self> {
        let storage = new_storage(&spec)?;
        Ok(Self { spec, storage })
    }

    /// An array in a storage that was allocated for it, without the checks of [`new`](Self::new).
    ///
    /// # Safety
    ///
    /// The storage has every byte that the spec addresses, at an address that suits the dtype, as [`new_storage`] gives it for
    /// the spec.
    #[inline]
    pub unsafe fn allocated(spec: TensorSpec, storage: Storage) -> Self {
        Self { spec, storage }
    }

    /// Gives an array of one element row-major sizes.
    ///
    /// # Errors
    ///
    /// As [`Geometry::contiguous`].
    ///
    /// # Safety
    ///
    /// The storage has room for all elements of those sizes.
    #[inline]
    pub unsafe fn become_contiguous(&mut self, sizes: &[i64]) -> Result<()> {
        self.spec.become_contiguous(sizes)
    }

    /// A new row-major CPU tensor of these elements.
    ///
    /// # Errors
    ///
    /// Sizes that ask for another number of elements; no memory.
    pub fn from_slice<T: Element>(elements: &[T], sizes: &[i64]) -> Result<Self> {
        let array = Self::empty(TensorSpec::contiguous(sizes, T::DTYPE, Device::CPU)?)?;
        if array.spec.numel() != elements.len() as i64 {
            let (found, expected) = (elements.len(), array.spec.numel());
            let message = format!("sizes {sizes:?} need {expected} elements, found {found}");
            return Err(argument(message));
        }
        array.storage.write()?.slice::<T>()?.copy_from_slice(elements);
        Ok(array)
    }

    /// All elements, borrowed, where they lie in row-major order in memory of the CPU. Nobody can write the storage until
    /// the borrow ends.
    ///
    /// # Errors
    ///
    /// Another dtype, no data, memory of a device, elements in another order or with gaps, somebody is writing.
    pub fn elements<T: Element>(&self) -> Result<Elements<'_, T>> {
        self.expect_dtype(T::DTYPE)?;
        let geometry = self.geometry();
        if !geometry.is_contiguous() {
            let (sizes, strides) = (geometry.sizes(), geometry.strides());
            let message = format!(
                "elements of sizes {sizes:?} with strides {strides:?} are not in row-major order; call \
                 contiguous() or to_vec()"
            );
            return Err(argument(message));
        }
        let guard = self.storage.read()?;
        let start = geometry.start();
        let range = start..start + geometry.numel() as usize;
        guard.slice::<T>()?;
        Ok(Elements { guard, range, element: PhantomData })
    }

    /// All elements in row-major order.
    ///
    /// # Errors
    ///
    /// Another dtype, no data, somebody is writing; more elements than memory holds, as after `expand`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.expect_dtype(T::DTYPE)?;
        let storage = self.storage.on_cpu()?;
        let guard = storage.read()?;
        let elements = guard.slice::<T>()?;
        let mut result = Vec::new();
        result.try_reserve_exact(self.spec.numel() as usize).map_err(|error| {
            argument(format!("no memory for a list of {} elements", self.spec.numel())).caused_by(error)
        })?;
        if self.spec.numel() > 0 && self.geometry().is_contiguous() {
            let start = self.geometry().offset() as usize;
            result.extend_from_slice(&elements[start..start + self.spec.numel() as usize]);
        } else {
            for at in positions(self.geometry()) {
                result.push(elements[at]);
            }
        }
        Ok(result)
    }

    /// Another view of the same memory.
    ///
    /// # Errors
    ///
    /// A geometry that leads beyond the storage.
    pub fn view(&self, geometry: Geometry) -> Result<Self> {
        Self::new(self.spec.with_geometry(geometry), self.storage.clone())
    }

    /// Sizes, strides, dtype and device.
    #[inline]
    pub fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    /// The map from indices to elements.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        self.spec.geometry()
    }

    /// The size of each dimension.
    #[inline]
    pub fn sizes(&self) -> &[i64] {
        self.spec.sizes()
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.spec.dtype()
    }

    /// Where the elements are.
    #[inline]
    pub fn device(&self) -> Device {
        self.spec.device()
    }

    /// The memory.
    #[inline]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Spec and memory apart.
    pub fn into_parts(self) -> (TensorSpec, Storage) {
        (self.spec, self.storage)
    }

    /// Checks that the elements have a dtype.
    ///
    /// # Errors
    ///
    /// The dtype is another one.
    #[inline]
    pub fn expect_dtype(&self, expected: DType) -> Result<()> {
        if self.dtype() == expected {
            return Ok(());
        }
        Err(argument(format!("expected a tensor of dtype {expected}, found {}", self.dtype())))
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in {:?}", self.spec, self.storage)
    }
}

/// Memory for what `spec` addresses.
#[inline]
pub fn new_storage(spec: &TensorSpec) -> Result<Storage> {
    let bytes = spec.bytes()?;
    match spec.device().kind() {
        DeviceType::Cpu => Storage::cpu(bytes),
        DeviceType::Meta if spec.device().is_fake() => fake::storage(spec.device(), bytes),
        DeviceType::Meta => Storage::meta(bytes),
        other => Err(argument(format!("device {other} has no memory here, expected cpu or meta"))),
    }
}

/// The positions of all elements in row-major order of indices.
///
/// For reading out and printing; loops over elements are in [`loops`](crate::loops).
pub fn positions(geometry: &Geometry) -> Positions<'_> {
    positions_from(geometry, 0)
}

/// Iterates over the positions of a geometry's elements, from element number `first` on.
pub fn positions_from(geometry: &Geometry, first: usize) -> Positions<'_> {
    let mut index = super::Dims::from_elem(0, geometry.dims());
    let (mut at, mut rest) = (geometry.offset(), first as i64);
    if first > 0 {
        for dim in (0..index.len()).rev() {
            // There is an element, so that no size is 0.
            let size = geometry.sizes()[dim].max(1);
            index[dim] = rest % size;
            rest /= size;
            at = at.wrapping_add(geometry.strides()[dim].wrapping_mul(index[dim]));
        }
    }
    Positions { geometry, index, at, left: (geometry.numel() as usize).saturating_sub(first) }
}

/// Gives the positions of [`positions`].
pub struct Positions<'a> {
    geometry: &'a Geometry,
    index: super::Dims,
    at: i64,
    left: usize,
}

impl Iterator for Positions<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let (current, geometry) = (self.at as usize, self.geometry);
        for dim in (0..self.index.len()).rev() {
            self.index[dim] += 1;
            // A stride that is never used, of a dimension of size 1, may be anything: wrap, and wrap back.
            self.at = self.at.wrapping_add(geometry.strides()[dim]);
            if self.index[dim] < geometry.sizes()[dim] {
                break;
            }
            self.at = self.at.wrapping_sub(geometry.strides()[dim].wrapping_mul(self.index[dim]));
            self.index[dim] = 0;
        }
        Some(current)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The elements of an array, [borrowed](Array::elements).
#[derive(Debug)]
pub struct Elements<'a, T> {
    guard: ReadGuard<'a>,
    range: Range<usize>,
    element: PhantomData<T>,
}

impl<T: Element> Deref for Elements<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let all = self.guard.slice::<T>().expect("`elements` has asked for the slice");
        &all[self.range.clone()]
    }
}
