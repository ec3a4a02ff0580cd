//! Runs kernels for single-precision numbers over 16-bit floats: elements are widened into blocks, and results narrowed.
//!
//! Long functions have no loops of their own for 16-bit floats, which would be another copy of their code for each dtype.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::slice;

use half::{bf16, f16};
use opgrid_core::DType;

use super::places;
use super::plan::OPERANDS;
use super::walk::{Block, Rows};
use crate::loops::simd::{VectorLoop, narrow_row, widened};
use crate::{Element, Math};

/// Elements of a block.
const BLOCK: usize = 512;

/// Whether elements are widened on the way.
pub(super) const fn is_narrow<T: Element>() -> bool {
    is_widened_dtype(T::DTYPE)
}

const fn is_widened_dtype(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// Whether what comes to the kernel is what it computes in.
pub(super) const fn is_widened<T: Element>() -> bool {
    is_narrow::<T>() || size_of::<T>() == size_of::<T::Math>()
}

/// A block of an operand.
#[repr(align(64))]
struct Wide([MaybeUninit<f32>; BLOCK]);

/// Runs `kernel` over rows of elements of `dtypes`, the output's first.
///
/// # Safety
///
/// - The rows are as [`Block::run`] asks, for these dtypes instead of the kernel's; the output's is narrow.
/// - The kernel takes as many operands, with `f32` in the place of every narrow dtype.
pub(super) unsafe fn run(kernel: &dyn Block, dtypes: &[DType], rows: &Rows) {
    let Rows { out, inputs, down, n, count } = *rows;
    let mut blocks = [const { Wide([const { MaybeUninit::uninit() }; BLOCK]) }; OPERANDS];
    if n == 0 {
        return;
    }
    // Several short rows, or a part of a long one.
    let length = n.min(BLOCK);
    for first in (0..n).step_by(length) {
        let part = length.min(n - first);
        let together = (BLOCK / part).min(count);
        for row in (0..count).step_by(together.max(1)) {
            let taken = together.min(count - row);
            let [result, others @ ..] = &mut blocks;
            let mut wide = Rows { out: result.0.as_mut_ptr().cast(), inputs, down, n: part, count: taken };
            wide.down[0] = part * size_of::<f32>();
            for (k, (dtype, block)) in dtypes[1..].iter().zip(others).enumerate() {
                let from = inputs[k].wrapping_add(row * down[k + 1] + first * dtype.size_in_bytes());
                wide.inputs[k] = from;
                if is_widened_dtype(*dtype) {
                    // SAFETY: the caller's promise: so many rows of initialised elements; a block has room for them.
                    unsafe { widen(*dtype, block, (from, down[k + 1]), part, taken) };
                    wide.inputs[k] = block.0.as_ptr().cast();
                    wide.down[k + 1] = part * size_of::<f32>();
                }
            }
            // SAFETY:
            // - the rows of narrow operands are those of blocks, which are apart from each other and were written above; others are
            //   parts of the caller's.
            // - the kernel takes `f32` for them, as the caller promises.
            unsafe { kernel.run(&wide) };
            let to = out.wrapping_add(row * down[0] + first * dtypes[0].size_in_bytes());
            // SAFETY: the kernel has written so many rows; the caller's promise: so many rows of places.
            unsafe { narrow(dtypes[0], (to, down[0]), result, part, taken) };
        }
    }
}

/// Widens `count` rows of `n` elements, `down` bytes apart, to rows beside each other.
///
/// # Safety
///
/// The elements are initialised and of the dtype, which is narrow; there is room for all of them.
unsafe fn widen(dtype: DType, to: &mut Wide, (from, down): (*const u8, usize), n: usize, count: usize) {
    let to = &mut to.0[..n * count];
    // SAFETY: passed on.
    unsafe {
        match dtype {
            DType::F16 => widen_rows::<f16>(to, from, down, n),
            _ => widen_rows::<bf16>(to, from, down, n),
        }
    }
}

/// # Safety
///
/// As [`widen`], for `T`.
unsafe fn widen_rows<T: Element<Math = f32>>(
    to: &mut [MaybeUninit<f32>],
    from: *const u8,
    down: usize,
    n: usize,
) {
    let n = if down == n * size_of::<T>() { to.len() } else { n };
    for (row, to) in to.chunks_exact_mut(n).enumerate() {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let from = unsafe { slice::from_raw_parts(from.wrapping_add(row * down).cast::<T>(), n) };
        Widen { to, from }.vectorised();
    }
}

/// Narrows rows beside each other to `count` rows of `n` places, `down` bytes apart.
///
/// # Safety
///
/// The places are those of the dtype, which is narrow; so many numbers are initialised.
unsafe fn narrow(dtype: DType, (to, down): (*mut u8, usize), from: &Wide, n: usize, count: usize) {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let from = unsafe { from.0[..n * count].assume_init_ref() };
    // SAFETY: passed on.
    unsafe {
        match dtype {
            DType::F16 => narrow_rows::<f16>(to, down, from, n),
            _ => narrow_rows::<bf16>(to, down, from, n),
        }
    }
}

/// # Safety
///
/// As [`narrow`], for `T`.
unsafe fn narrow_rows<T: Element<Math = f32>>(to: *mut u8, down: usize, from: &[f32], n: usize) {
    let n = if down == n * size_of::<T>() { from.len() } else { n };
    for (row, from) in from.chunks_exact(n).enumerate() {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let to = unsafe { places(to.wrapping_add(row * down).cast::<T>(), n) };
        Narrow { to, from }.vectorised();
    }
}

/// [`widened`] as a loop.
struct Widen<'a, T: Element> {
    to: &'a mut [MaybeUninit<Math<T>>],
    from: &'a [T],
}

impl<T: Element> VectorLoop for Widen<'_, T> {
    type Output = ();
    const IS_WIDE: bool = matches!(T::DTYPE, DType::BF16);

    #[inline(always)]
    fn run(self) {
        widened::<T>(self.to, self.from);
    }
}

/// [`narrow_row`] as a loop.
struct Narrow<'a, T: Element> {
    to: &'a mut [MaybeUninit<T>],
    from: &'a [Math<T>],
}

impl<T: Element> VectorLoop for Narrow<'_, T> {
    type Output = ();
    const IS_WIDE: bool = matches!(T::DTYPE, DType::BF16);

    #[inline(always)]
    fn run(self) {
        narrow_row::<T>(self.to, self.from);
    }
}
