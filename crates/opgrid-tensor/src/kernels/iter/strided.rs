//! Moves elements between strided memory and blocks without gaps; only their size matters.
#![allow(unsafe_code)]

use std::ptr;

use crate::kernels::simd::{VectorLoop, vectorised};

/// Calls a generic function with the unsigned integer, or pair of them, that has `size` bytes.
macro_rules! with_size {
    ($size:expr, $T:ident => $body:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => {
                type $T = [u64; 2];
                $body
            }
        }
    };
}

/// Reads `n` elements of `size` bytes, `stride` bytes apart, to `to`.
///
/// # Safety
///
/// The elements are initialised and lie in readable memory; `to` has room for them and is apart from them. Without
/// elements nothing is read, wherever `from` leads. Nothing needs to be aligned: a complex number is less aligned than
/// an integer of its size.
//
// Never inlined: for the few elements of a small loop the call is shorter than what the compiler makes of it in place.
#[inline(never)]
pub(super) unsafe fn gather(to: *mut u8, from: *const u8, stride: usize, n: usize, size: usize) {
    // SAFETY: passed on.
    unsafe {
        if stride == size {
            return ptr::copy_nonoverlapping(from, to, n * size);
        }
        with_size!(size, T => gather_as::<T>(to.cast(), from, stride, n));
    }
}

/// # Safety
///
/// As [`gather`].
unsafe fn gather_as<T: Copy>(to: *mut T, from: *const u8, stride: usize, n: usize) {
    if stride == 0 && n > 0 {
        // SAFETY: the caller's promise for the first element, which there is: `n` was compared above.
        let value = unsafe { from.cast::<T>().read_unaligned() };
        return vectorised(move || {
            for i in 0..n {
                // SAFETY: one of the `n` places that the caller promises.
                unsafe { to.add(i).write_unaligned(value) };
            }
        });
    }
    for i in 0..n {
        // SAFETY: the caller's promise, element by element.
        unsafe { to.add(i).write_unaligned(from.add(i * stride).cast::<T>().read_unaligned()) };
    }
}

/// Bytes behind the last element that [`repeat`] may write to.
pub(super) const SLACK: usize = 16 * GROUP;

/// Elements that [`repeat`] writes at a time.
const GROUP: usize = 16;

/// Writes each of `rows` elements of `size` bytes, `stride` bytes apart, `n` times, one row behind the other.
///
/// # Safety
///
/// As [`gather`]; there is room for [`SLACK`] bytes more than all elements have.
pub(super) unsafe fn repeat(to: *mut u8, from: *const u8, stride: usize, [rows, n]: [usize; 2], size: usize) {
    with_size!(size, T => Repeat::<T> { to: to.cast(), from, stride, rows, n }.vectorised());
}

/// What [`repeat`] is called with, as a loop.
///
/// Invariant: as `repeat` asks.
struct Repeat<T> {
    to: *mut T,
    from: *const u8,
    stride: usize,
    rows: usize,
    n: usize,
}

impl<T: Copy> VectorLoop for Repeat<T> {
    type Output = ();

    /// Whole groups are written, and what is too much of them is overwritten by the next row.
    #[inline(always)]
    fn run(self) {
        let Self { mut to, mut from, stride, rows, n } = self;
        for _ in 0..rows {
            // SAFETY: the invariant: one element.
            let value = unsafe { from.cast::<T>().read_unaligned() };
            let mut done = 0;
            while done < n {
                // SAFETY: the invariant: there is room for a row, and for a group more.
                unsafe { to.wrapping_add(done).cast::<[T; GROUP]>().write_unaligned([value; GROUP]) };
                done += GROUP;
            }
            from = from.wrapping_add(stride);
            to = to.wrapping_add(n);
        }
    }
}

/// Writes `n` elements of `size` bytes from `from` to places `stride` bytes apart.
///
/// # Safety
///
/// As [`gather`], with the roles exchanged.
#[inline]
pub(super) unsafe fn scatter(to: *mut u8, stride: usize, from: *const u8, n: usize, size: usize) {
    // SAFETY: passed on.
    unsafe {
        if stride == size {
            return ptr::copy_nonoverlapping(from, to, n * size);
        }
        with_size!(size, T => for i in 0..n {
            to.add(i * stride).cast::<T>().write_unaligned(from.cast::<T>().add(i).read_unaligned());
        });
    }
}

/// Reads a tile of `rows` times `columns` elements to `to`, row by row, where elements of a column are neighbours in
/// memory and columns are `stride` bytes apart.
///
/// # Safety
///
/// As [`gather`].
pub(super) unsafe fn transpose(
    to: *mut u8,
    from: *const u8,
    stride: usize,
    rows: usize,
    columns: usize,
    size: usize,
) {
    // SAFETY: passed on.
    with_size!(size, T => unsafe { transpose_as::<T>(to.cast(), from, stride, rows, columns) });
}

/// # Safety
///
/// As [`transpose`].
unsafe fn transpose_as<T: Copy>(to: *mut T, from: *const u8, stride: usize, rows: usize, columns: usize) {
    for column in 0..columns {
        // SAFETY: the caller's promise, element by element.
        unsafe {
            let from = from.add(column * stride).cast::<T>();
            for row in 0..rows {
                to.add(row * columns + column).write_unaligned(from.add(row).read_unaligned());
            }
        }
    }
}
