//! The arrays of a running loop: the only place where a loop gets addresses of elements from.
//!
//! An [`Operand`] is made of an [`Input`] or [`Output`] of `opgrid_array`, which hold that every position of the geometry is an
//! element of the storage, and of the layout of that very geometry in a loop. So an element whose number is below the loop's is an
//! element of the storage, and that is what is checked before it is read or written.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use opgrid_array::loops::access::Distinct;
use opgrid_array::loops::iter::walk::Overlap;
use opgrid_array::loops::iter::{Input, Output, Target};
use opgrid_array::{Array, Element, ReadGuard, WriteGuard};
use opgrid_core::Result;

use crate::element::{BLOCK, Block, Lane, with_lane};
use crate::expression::Access;
use crate::layout::{Layout, Loops};

/// An array that is to be written, of any dtype.
pub(crate) trait Written {
    /// The address of the first element, and the bytes of an element.
    fn elements(&self) -> (*mut u8, usize);

    /// Notes that every element was written.
    ///
    /// # Safety
    ///
    /// The caller has written every one.
    unsafe fn complete(&self);
}

impl<T: Element> Written for Output<'_, T> {
    fn elements(&self) -> (*mut u8, usize) {
        (self.span().first(), size_of::<T>())
    }

    unsafe fn complete(&self) {
        // SAFETY: passed on.
        unsafe { Output::complete(self) };
    }
}

/// The elements of an array that shares its storage with no other operand.
///
/// # Errors
///
/// Several indices lead to one element.
pub(crate) fn target<'a>(guard: &'a mut WriteGuard<'_>, array: &'a Array) -> Result<Box<dyn Written + 'a>> {
    let target = Target::new(guard, Distinct::new(array)?, Overlap::Apart);
    with_lane!(array.dtype(), T => Ok(Box::new(Output::<T>::from_target(target)?)))
}

/// An array in a loop.
///
/// Invariants, which the constructors establish:
///
/// - While `'a` lasts, every element whose number is below the loop's is an element of `size` bytes in memory that may be read, and
///   if `is_written`, written.
/// - Of the operands of one loop, those that are written share no element with another.
pub(crate) struct Operand<'a> {
    start: *mut u8,
    size: usize,
    layout: &'a Layout,
    loops: &'a Loops,
    is_written: bool,
    memory: PhantomData<&'a mut u8>,
}

// SAFETY: threads compute different elements, as `write` asks of its callers, and inputs are not written, by the second invariant.
unsafe impl Sync for Operand<'_> {}

impl<'a> Operand<'a> {
    /// An array that is read, whose layout in the loop is that of its geometry.
    ///
    /// # Errors
    ///
    /// Memory that is not aligned for the dtype.
    pub(crate) fn read(
        reader: &'a ReadGuard<'_>,
        array: &'a Array,
        layout: &'a Layout,
        loops: &'a Loops,
    ) -> Result<Self> {
        with_lane!(array.dtype(), T => {
            let span = Input::<T>::new(reader.slice()?, array.geometry())?.span();
            Ok(Self { start: span.first(), size: size_of::<T>(), layout, loops, is_written: false, memory: PhantomData })
        })
    }

    /// An array that is written, whose layout in the loop is that of its geometry.
    pub(crate) fn write(target: &'a dyn Written, layout: &'a Layout, loops: &'a Loops) -> Self {
        let (start, size) = target.elements();
        Self { start, size, layout, loops, is_written: true, memory: PhantomData }
    }

    /// The address of element `first` for code that computes `n` elements, if it can read and write them where they lie: next to each
    /// other, and a multiple of what code computes at a time if `is_whole`; or the only element, for code that reads just that.
    pub(crate) fn code_address(
        &self,
        access: Access,
        first: usize,
        n: usize,
        is_whole: bool,
    ) -> Option<*mut u8> {
        self.check(first, n);
        match (access, self.layout) {
            // One element is there, as there are elements: `Program::run` has checked that the array has no other.
            (Access::Scalar, _) => Some(self.start),
            (Access::Elements, Layout::Flat) if is_whole => {
                // SAFETY: the element is one of the loop, as was just checked, and so, by the first invariant, one of the storage.
                Some(unsafe { self.start.add(first * self.size) })
            }
            (Access::Elements, _) => None,
        }
    }

    /// Copies `n` elements from element `first` on to a block.
    pub(crate) fn fetch<T: Lane>(&self, block: &mut Block, first: usize, n: usize) {
        self.check(first, n);
        assert!(size_of::<T>() == self.size, "a block has the dtype of its array");
        let to = &mut T::elements_mut(block)[..n];
        let from = self.start.cast::<T>();
        match self.layout {
            // SAFETY: the first element is there, as there are elements.
            Layout::Scalar => to.fill(unsafe { from.read() }),
            // SAFETY: elements of the loop, as was checked, which are elements of the storage and aligned.
            Layout::Flat => to.copy_from_slice(unsafe { std::slice::from_raw_parts(from.add(first), n) }),
            Layout::Strided(strides) => self.loops.pieces(strides, first, n, |at, done, step, len| {
                for (i, to) in to[done..done + len].iter_mut().enumerate() {
                    // SAFETY: `pieces` gives positions of elements of the loop, which are elements of the storage.
                    *to = unsafe { from.add(at + i * step).read() };
                }
            }),
        }
    }

    /// Writes the first `n` elements of a block to element `first` and those behind it.
    ///
    /// # Safety
    ///
    /// No other thread computes these elements.
    pub(crate) unsafe fn store<T: Lane>(&self, block: &Block, first: usize, n: usize) {
        self.check(first, n);
        assert!(self.is_written, "inputs are not written");
        assert!(size_of::<T>() == self.size, "a block has the dtype of its array");
        let from = &T::elements(block)[..n];
        let to = self.start.cast::<T>();
        match self.layout {
            Layout::Scalar => unreachable!("no two indices of an output lead to one element"),
            Layout::Flat => {
                // SAFETY: elements of the loop, as was checked, which are elements of the storage; a block lies apart from it.
                unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.add(first), n) };
            }
            Layout::Strided(strides) => self.loops.pieces(strides, first, n, |at, done, step, len| {
                for (i, from) in from[done..done + len].iter().enumerate() {
                    // SAFETY: `pieces` gives positions of elements of the loop, which are elements of the storage.
                    unsafe { to.add(at + i * step).write(*from) };
                }
            }),
        }
    }

    /// Checks that elements are elements of the loop.
    fn check(&self, first: usize, n: usize) {
        assert!(n <= BLOCK && n > 0, "a block has {BLOCK} elements at most");
        assert!(
            first.checked_add(n).is_some_and(|end| end <= self.loops.numel),
            "elements are those of the loop"
        );
    }
}
