//! Moves elements between strided memory and blocks without gaps; only their size matters.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr;

use crate::loops::simd::{VectorLoop, vectorised};

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
/// As `gather`.
pub unsafe fn transpose(
    to: *mut u8,
    from: *const u8,
    stride: usize,
    rows: usize,
    columns: usize,
    size: usize,
) {
    #[cfg(target_arch = "x86_64")]
    match size {
        // SAFETY: passed on.
        4 => unsafe {
            return squares::transpose::<u32, 4>(to.cast(), from, stride, [rows, columns], squares::of_four);
        },
        // SAFETY: passed on.
        8 => unsafe {
            return squares::transpose::<u64, 2>(to.cast(), from, stride, [rows, columns], squares::of_two);
        },
        _ => {}
    }
    // SAFETY: passed on.
    with_size!(size, T => unsafe { transpose_part::<T>(to.cast(), from, stride, columns, 0..rows, 0..columns) });
}

/// Some rows of some columns of a tile, which has as many columns as `width` says.
///
/// # Safety
///
/// As [`transpose`].
unsafe fn transpose_part<T: Copy>(
    to: *mut T,
    from: *const u8,
    stride: usize,
    width: usize,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    for column in columns {
        // SAFETY: the caller's promise, element by element.
        unsafe {
            let from = from.add(column * stride).cast::<T>();
            for row in rows.clone() {
                to.add(row * width + column).write_unaligned(from.add(row).read_unaligned());
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod squares {
    //! Tiles in squares that fill registers of 128 bits, which every x86-64 processor has: a quarter of the time.

    use std::arch::x86_64::{
        _mm_loadu_pd, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_pd, _mm_storeu_ps,
        _mm_unpackhi_pd, _mm_unpackhi_ps, _mm_unpacklo_pd, _mm_unpacklo_ps,
    };

    use super::transpose_part;

    /// [`transpose`](super::transpose) square by square, and what is left of it element by element.
    ///
    /// # Safety
    ///
    /// As `transpose`; `square` transposes so many rows and columns as `SIDE` says.
    #[inline(always)]
    pub(super) unsafe fn transpose<T: Copy, const SIDE: usize>(
        to: *mut T,
        from: *const u8,
        stride: usize,
        [rows, columns]: [usize; 2],
        square: unsafe fn(*mut T, usize, *const u8, usize),
    ) {
        let [whole_rows, whole_columns] = [rows, columns].map(|size| size - size % SIDE);
        for column in (0..whole_columns).step_by(SIDE) {
            for row in (0..whole_rows).step_by(SIDE) {
                let start = from.wrapping_add(column * stride + row * size_of::<T>());
                // SAFETY: a square of `SIDE` rows and columns, of which `row + SIDE <= rows` and `column + SIDE <= columns`: the
                // caller's promise is for all of them.
                unsafe { square(to.wrapping_add(row * columns + column), columns, start, stride) };
            }
        }
        // SAFETY: passed on.
        unsafe {
            transpose_part(to, from, stride, columns, whole_rows..rows, 0..whole_columns);
            transpose_part(to, from, stride, columns, 0..rows, whole_columns..columns);
        }
    }

    /// Four rows and columns of four bytes: rows of `to` are `width` elements apart, columns of `from` `stride` bytes.
    ///
    /// # Safety
    ///
    /// All of them may be read and written; nothing needs to be aligned.
    #[inline(always)]
    pub(super) unsafe fn of_four(to: *mut u32, width: usize, from: *const u8, stride: usize) {
        let column = |number: usize| from.wrapping_add(number * stride).cast::<f32>();
        let row = |number: usize| to.wrapping_add(number * width).cast::<f32>();
        // SAFETY: the caller's promise; moved as floats, elements keep their bits.
        unsafe {
            let (a, b) = (_mm_loadu_ps(column(0)), _mm_loadu_ps(column(1)));
            let (c, d) = (_mm_loadu_ps(column(2)), _mm_loadu_ps(column(3)));
            let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
            _mm_storeu_ps(row(0), _mm_movelh_ps(ab, cd));
            _mm_storeu_ps(row(1), _mm_movehl_ps(cd, ab));
            let (ab, cd) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
            _mm_storeu_ps(row(2), _mm_movelh_ps(ab, cd));
            _mm_storeu_ps(row(3), _mm_movehl_ps(cd, ab));
        }
    }

    /// Transposes a square of two rows and columns of eight bytes.
    ///
    /// # Safety
    ///
    /// As [`of_four`].
    #[inline(always)]
    pub(super) unsafe fn of_two(to: *mut u64, width: usize, from: *const u8, stride: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (_mm_loadu_pd(from.cast()), _mm_loadu_pd(from.wrapping_add(stride).cast()));
            _mm_storeu_pd(to.cast(), _mm_unpacklo_pd(a, b));
            _mm_storeu_pd(to.wrapping_add(width).cast(), _mm_unpackhi_pd(a, b));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_all_sizes_are_transposed() {
        fn check<T: Copy + PartialEq + std::fmt::Debug + Default>(element: impl Fn(usize) -> T) {
            for (rows, columns) in [(1, 1), (4, 4), (5, 7), (8, 3), (2, 9), (16, 16), (31, 30)] {
                let stride = rows + 3;
                let from: Vec<T> = (0..stride * columns).map(&element).collect();
                let mut to = vec![T::default(); rows * columns + 1];
                let size = size_of::<T>();
                // SAFETY: both have as many elements.
                unsafe {
                    transpose(
                        to.as_mut_ptr().cast(),
                        from.as_ptr().cast(),
                        stride * size,
                        rows,
                        columns,
                        size,
                    )
                };
                for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                    assert_eq!(to[row * columns + column], from[column * stride + row], "{rows} x {columns}");
                }
                assert_eq!(to[rows * columns], T::default(), "{rows} x {columns}");
            }
        }
        check(|number| number as u8);
        check(|number| number as u16 + 1);
        // Bits of signalling NaN among them.
        check(|number| 0x7fa0_0000 + number as u32);
        check(|number| 0x7ff4_0000_0000_0000 + number as u64);
        check(|number| [number as u64, 7]);
    }
}
