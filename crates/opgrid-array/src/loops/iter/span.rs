//! Turns a geometry into an address: the only place where loops get pointers to elements from.
//!
//! A [`Span`] is an array's elements where a guard holds their memory. It is made of an [`Array`], which addresses
//! elements of its storage only, together with a guard of that very storage; or of a slice that the geometry was
//! compared with. A [`Target`] is a span that may be written: no two of its indices lead to one element, so that threads
//! with different indices write different elements.
//!
//! A geometry without elements may have any offset and any strides. A span of it begins at an address that is no memory and
//! moves nowhere, so that no address is reckoned from numbers that nobody has looked at; and nothing may be read there.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr::NonNull;

use opgrid_core::{DType, Error, ErrorKind, Result};

use super::walk::Overlap;
use super::{Constant, ONE};
use crate::error::argument;
use crate::loops::access::{Distinct, check_written};
use crate::{Array, Element, Geometry, ReadGuard, Storage, WriteGuard};

/// Where elements begin that are none: aligned for every dtype, and never read.
const NOWHERE: NonNull<u8> = NonNull::<Aligned>::dangling().cast();

#[repr(align(64))]
struct Aligned;

/// Elements in memory.
///
/// Invariants, which the constructors establish:
///
/// - `first` is aligned for `dtype`.
/// - While `'a` lasts, every position of `geometry`, counted so that the first one is `first`, is an element of `dtype`
///   in memory that may be read, and nobody writes it but through a [`Target`] made together with this span.
/// - The elements are initialised, unless the span is that of a [`Target`].
#[derive(Clone, Copy)]
pub struct Span<'a> {
    first: NonNull<u8>,
    geometry: &'a Geometry,
    dtype: DType,
    memory: PhantomData<&'a u8>,
}

impl<'a> Span<'a> {
    /// The elements of an array whose storage is being read.
    #[inline]
    pub(crate) fn read(guard: &'a ReadGuard<'_>, array: &'a Array) -> Self {
        Self::from_storage(guard.start(), guard.storage(), array)
    }

    /// The elements of an array in a storage that is being written: for loops that handle an input beside their output.
    #[inline]
    pub(crate) fn beside(guard: &'a WriteGuard<'_>, array: &'a Array) -> Self {
        guard.clear_unwritten();
        Self::from_storage(guard.start(), guard.storage(), array)
    }

    /// A number.
    pub(super) fn number(number: &'a Constant, dtype: DType) -> Self {
        Self { first: number.start(), geometry: &ONE, dtype, memory: PhantomData }
    }

    #[inline(always)]
    fn from_storage(start: NonNull<u8>, storage: &Storage, array: &'a Array) -> Self {
        assert!(storage.is_same(array.storage()), "a guard is asked for arrays on its own storage");
        let (geometry, dtype) = (array.geometry(), array.dtype());
        let first = match geometry.numel() {
            0 => NOWHERE,
            // SAFETY:
            // - `Array` has private fields and addresses elements within its storage only, at an address that suits the
            //   dtype: `Array::new` compares, and `Array::allocated` asks its callers for it. A storage
            //   never changes its size.
            // - the guard is one of that storage, as asserted above, so that the memory is there.
            _ => unsafe { start.add(geometry.start() * dtype.size_in_bytes()) },
        };
        Self { first, geometry, dtype, memory: PhantomData }
    }

    /// The elements of a slice that `geometry` addresses.
    ///
    /// # Errors
    ///
    /// A geometry that leads beyond the slice.
    fn of_slice<T: Element>(start: NonNull<T>, len: usize, geometry: &'a Geometry) -> Result<Self> {
        if geometry.end() as usize > len {
            let message = format!("{geometry:?} reaches beyond the {len} elements of the storage");
            return Err(argument(message));
        }
        // SAFETY: `end`, which was compared above, lies behind the first element; where there is none, `start` is 0.
        let first = unsafe { start.add(geometry.start()) }.cast();
        Ok(Self { first, geometry, dtype: T::DTYPE, memory: PhantomData })
    }

    /// The address of the first element; aligned, and not to be read where there is no element.
    #[inline]
    pub fn first(&self) -> *mut u8 {
        self.first.as_ptr()
    }

    /// Sizes and strides.
    #[inline]
    pub fn geometry(&self) -> &'a Geometry {
        self.geometry
    }

    /// The type of the elements.
    #[inline]
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }
}

/// Elements that are written.
///
/// Invariants, which the constructors establish:
///
/// - `span`, whose elements may be uninitialised; and while `'a` lasts nobody uses them but [`Span`]s made together
///   with this target.
/// - No two indices lead to one element.
/// - With an unwritten `guard`, the elements are all bytes of its storage.
pub struct Target<'a> {
    span: Span<'a>,
    guard: Option<&'a WriteGuard<'a>>,
}

impl<'a> Target<'a> {
    /// An output whose storage is being written. Memory that was never written is cleared, unless all of it will be
    /// written and, as `overlap` says, nothing of it is read.
    ///
    /// It has the guard to itself, so that no two outputs of one storage are there at a time:
    ///
    /// ```compile_fail,E0499
    /// use opgrid_array::Array;
    /// use opgrid_array::loops::access::Distinct;
    /// use opgrid_array::loops::iter::{Target, walk::Overlap};
    ///
    /// let x = Array::from_slice(&[1.0f32], &[1]).unwrap();
    /// let mut guard = x.storage().write().unwrap();
    /// let one = Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart);
    /// let other = Target::new(&mut guard, Distinct::new(&x).unwrap(), Overlap::Apart);
    /// drop(one);
    /// ```
    #[inline(always)]
    pub fn new(guard: &'a mut WriteGuard<'_>, out: Distinct<'a>, overlap: Overlap) -> Self {
        Self::shared(guard, out, overlap)
    }

    /// Creates a target from a guard that inputs of the same loop also use: nobody creates another target with it
    /// during `'a`.
    #[inline(always)]
    pub(crate) fn shared(guard: &'a WriteGuard<'_>, out: Distinct<'a>, overlap: Overlap) -> Self {
        let out = out.array();
        if !guard.is_written() {
            let geometry = out.geometry();
            let bytes = (geometry.numel() as usize).checked_mul(out.dtype().size_in_bytes());
            let whole =
                geometry.offset() == 0 && geometry.is_dense() && bytes == Some(guard.storage().bytes());
            if !whole || overlap != Overlap::Apart {
                guard.clear_unwritten();
            }
        }
        Self { span: Span::from_storage(guard.start(), guard.storage(), out), guard: Some(guard) }
    }

    /// Its elements.
    #[inline]
    pub(crate) fn span(&self) -> Span<'a> {
        self.span
    }

    /// Notes that every element was written.
    ///
    /// # Safety
    ///
    /// The caller has written every one.
    #[inline]
    pub(crate) unsafe fn complete(&self) {
        if let Some(guard) = self.guard.filter(|guard| !guard.is_written()) {
            // SAFETY: by the invariant, the elements are all bytes of an unwritten storage, and the caller has written
            // every one.
            unsafe { guard.assume_written() };
        }
    }
}

/// An operand of type `T` that is read.
#[derive(Clone, Copy)]
pub struct Input<'a, T> {
    /// Invariant: of dtype `T::DTYPE`, or of unsigned integers whose [bits](DType::of_bits) it holds.
    span: Span<'a>,
    elements: PhantomData<&'a T>,
}

/// An operand of type `T` that is written.
pub struct Output<'a, T> {
    /// Invariant: of elements with the size and alignment of `T`.
    target: Target<'a>,
    elements: PhantomData<&'a mut T>,
}

impl<'a, T: Element> Input<'a, T> {
    /// The elements of a slice that `geometry` addresses.
    ///
    /// # Errors
    ///
    /// A geometry that leads beyond the slice.
    pub fn new(elements: &'a [T], geometry: &'a Geometry) -> Result<Self> {
        let span = Span::of_slice(NonNull::from(elements).cast::<T>(), elements.len(), geometry)?;
        Ok(Self { span, elements: PhantomData })
    }

    /// Converts a span to an input of dtype `T`.
    ///
    /// # Errors
    ///
    /// Another dtype.
    pub(crate) fn from_span(span: Span<'a>) -> Result<Self> {
        expect_dtype::<T>(span)?;
        Ok(Self { span, elements: PhantomData })
    }

    /// Where the elements are.
    pub fn span(&self) -> Span<'a> {
        self.span
    }
}

impl<'a, T: Element> Output<'a, T> {
    /// The elements of a slice that `geometry` addresses.
    ///
    /// # Errors
    ///
    /// A geometry that leads beyond the slice, or with several indices to one element.
    pub fn new(elements: &'a mut [T], geometry: &'a Geometry) -> Result<Self> {
        check_written(geometry)?;
        let span = Span::of_slice(NonNull::from(&mut *elements).cast::<T>(), elements.len(), geometry)?;
        Ok(Self { target: Target { span, guard: None }, elements: PhantomData })
    }

    /// Converts a target to an output of dtype `T`.
    ///
    /// # Errors
    ///
    /// Another dtype.
    pub fn from_target(target: Target<'a>) -> Result<Self> {
        expect_dtype::<T>(target.span)?;
        Ok(Self { target, elements: PhantomData })
    }

    /// Converts a target to an output of `T`, which has the size and alignment of its elements: any bytes are a valid
    /// `T`.
    ///
    /// # Errors
    ///
    /// Elements of another size, or that are less aligned.
    pub fn of_size(target: Target<'a>) -> Result<Self> {
        let Span { first, dtype, .. } = target.span;
        if size_of::<T>() != dtype.size_in_bytes() || !first.cast::<T>().is_aligned() {
            return Err(of_other_size(dtype, T::DTYPE));
        }
        Ok(Self { target, elements: PhantomData })
    }

    /// Where the elements are.
    pub fn span(&self) -> Span<'a> {
        self.target.span
    }

    /// Clears memory that was never written, so that results can be added to what is there.
    pub fn make_readable(&self) {
        if let Some(guard) = self.target.guard {
            guard.clear_unwritten();
        }
    }

    /// Notes that every element was written.
    ///
    /// # Safety
    ///
    /// The caller has written every one.
    pub unsafe fn complete(&self) {
        // SAFETY: passed on.
        unsafe { self.target.complete() };
    }
}

/// # Errors
///
/// The elements are of another dtype than `T`, other than unsigned integers that are taken as signed ones.
fn expect_dtype<T: Element>(span: Span<'_>) -> Result<()> {
    if span.dtype == T::DTYPE || span.dtype.of_bits() == T::DTYPE {
        return Ok(());
    }
    Err(unexpected(T::DTYPE, span.dtype))
}

#[cold]
#[inline(never)]
fn unexpected(expected: DType, found: DType) -> Error {
    argument(format!("expected a tensor of dtype {expected}, found {found}"))
}

#[cold]
#[inline(never)]
fn of_other_size(found: DType, expected: DType) -> Error {
    Error::new(ErrorKind::Internal, format!("elements of dtype {found} cannot be moved as {expected}"))
}
