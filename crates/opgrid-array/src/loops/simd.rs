//! Compiles a loop twice, for any x86-64 processor and for those with AVX2, and picks one at run time; loops that gain by
//! it a third time, for AVX-512.
//!
//! Loops are plain Rust that the compiler turns into vector code.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::slice;

use opgrid_core::DType;

#[cfg(target_arch = "x86_64")]
use crate::loops::isa::{Isa, isa};
use crate::{Element, Math};

/// A loop that is compiled for the vector instructions that the processor has.
///
/// The compiler puts the code of a method into the object file of the type that it is for, of tuples into that of their
/// first part. So a loop that is a tuple with an operator's closure in front is compiled again when the operator's file
/// changes, and those of other operators are not.
pub trait VectorLoop: Sized {
    /// What the loop gives.
    type Output;

    /// Whether it is compiled for AVX-512, too.
    const IS_WIDE: bool = false;

    /// Runs. Says `#[inline(always)]`, and so do all functions that it calls: what is not inlined here is compiled for any
    /// processor. Of closures the compiler inlines short ones only.
    fn run(self) -> Self::Output;

    /// Runs with the vector instructions that the processor has.
    #[inline(always)]
    fn vectorised(self) -> Self::Output {
        // Decided before there is code, so that only loops that gain by it are compiled for it.
        #[cfg(target_arch = "x86_64")]
        if const { Self::IS_WIDE } && has_v4() {
            // SAFETY: the processor has the instructions, as was just asked.
            return unsafe { self.run_v4() };
        }
        #[cfg(target_arch = "x86_64")]
        if has_v3() {
            // SAFETY: the processor has the instructions, as was just asked.
            return unsafe { self.run_v3() };
        }
        self.run_unfused()
    }

    /// As [`run`](Self::run), for processors that have no instruction for a product and a sum at once: the compiler makes a
    /// call of the C library of each, which takes ten times as long as both.
    #[inline(always)]
    fn run_unfused(self) -> Self::Output {
        self.run()
    }

    /// # Safety
    ///
    /// `has_v4` says yes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(
        enable = "avx,avx2,avx512bw,avx512cd,avx512dq,avx512f,avx512vl,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt"
    )]
    unsafe fn run_v4(self) -> Self::Output {
        self.run()
    }

    /// # Safety
    ///
    /// `has_v3` says yes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx,avx2,bmi1,bmi2,f16c,fma,lzcnt,movbe,popcnt")]
    unsafe fn run_v3(self) -> Self::Output {
        self.run()
    }
}

/// A short loop.
impl<F: FnOnce() -> R, R> VectorLoop for (F,) {
    type Output = R;

    #[inline(always)]
    fn run(self) -> R {
        self.0()
    }
}

/// Runs a short loop with the vector instructions that the processor has.
#[inline(always)]
pub fn vectorised<R>(body: impl FnOnce() -> R) -> R {
    (body,).vectorised()
}

/// Whether the instructions of x86-64-v3 are used, which the processor has then.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_v3() -> bool {
    isa() >= Isa::V3
}

/// Whether the instructions of x86-64-v4 are used, which the processor has then.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_v4() -> bool {
    isa() >= Isa::V4
}

/// Widens elements into room for all of them, float16 by the processor's instruction where it has one.
///
/// # Panics
///
/// There is less room.
#[inline(always)]
pub fn widened<'r, T: Element>(room: &'r mut [MaybeUninit<Math<T>>], from: &[T]) -> &'r mut [Math<T>] {
    let room = &mut room[..from.len()];
    let mut done = 0;
    // Decided before there is code.
    if const { matches!(T::DTYPE, DType::F16) } {
        // SAFETY: the dtype is that of `f16`, which has the size and alignment of `u16` and is computed in `f32`.
        let (singles, halves) = unsafe {
            (
                slice::from_raw_parts_mut(room.as_mut_ptr().cast(), room.len()),
                slice::from_raw_parts(from.as_ptr().cast(), from.len()),
            )
        };
        done = widen_from_f16(singles, halves);
    }
    for (to, from) in room[done..].iter_mut().zip(&from[done..]) {
        to.write(from.widen());
    }
    // SAFETY: every place was written.
    unsafe { room.assume_init_mut() }
}

/// Widens elements into initialized memory.
#[inline(always)]
pub fn widen_over<T: Element>(to: &mut [Math<T>], from: &[T]) {
    // SAFETY: `widened` writes numbers only, so that they stay initialised.
    widened::<T>(unsafe { slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) }, from);
}

/// Narrows as many results as there are of both, to float16 by the processor's instruction where it has one: eight at a
/// time, because what was just written by vectors of eight cannot be read by longer ones without waiting.
#[inline(always)]
pub(crate) fn narrow_row<T: Element>(to: &mut [MaybeUninit<T>], from: &[Math<T>]) {
    let mut done = 0;
    // Decided before there is code.
    if const { matches!(T::DTYPE, DType::F16) } {
        // SAFETY: the dtype is that of `f16`, which has the size and alignment of `u16` and is computed in `f32`; the
        // places stay places.
        let (halves, singles) = unsafe {
            (
                slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()),
                slice::from_raw_parts(from.as_ptr().cast(), from.len()),
            )
        };
        done = by_eight(halves, singles);
    }
    for (to, from) in to[done..].iter_mut().zip(&from[done..]) {
        to.write(T::narrow(*from));
    }
}

/// Narrows elements into initialized memory.
#[inline(always)]
pub fn narrow_over<T: Element>(to: &mut [T], from: &[Math<T>]) {
    // SAFETY: `narrow_row` writes elements only, so that they stay initialised.
    narrow_row::<T>(unsafe { slice::from_raw_parts_mut(to.as_mut_ptr().cast(), to.len()) }, from);
}

/// Converts the bits of 16-bit floats to single-precision numbers, eight at a time. Where the processor cannot, nothing is
/// done.
///
/// Returns how many were converted, from the first on.
#[inline]
fn widen_from_f16(to: &mut [MaybeUninit<f32>], from: &[u16]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_v3() {
        // SAFETY: the processor has the instructions, as was just asked.
        return unsafe { from_f16c(to, from) };
    }
    let _ = (to, from);
    0
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
fn from_f16c(to: &mut [MaybeUninit<f32>], from: &[u16]) -> usize {
    use std::arch::x86_64::{_mm_loadu_si128, _mm256_cvtph_ps, _mm256_storeu_ps};
    let (groups, _) = from.as_chunks::<8>();
    let (places, _) = to.as_chunks_mut::<8>();
    for (group, place) in groups.iter().zip(&mut *places) {
        // SAFETY: eight neighbours are read; they need not be aligned.
        let halves = unsafe { _mm_loadu_si128(group.as_ptr().cast()) };
        // SAFETY: eight places are written.
        unsafe { _mm256_storeu_ps(place.as_mut_ptr().cast(), _mm256_cvtph_ps(halves)) };
    }
    groups.len().min(places.len()) * 8
}

/// Converts single-precision numbers to the bits of 16-bit floats, eight or sixteen at a time. Where the processor cannot,
/// nothing is done.
///
/// Returns how many were converted, from the first on.
#[inline]
pub(crate) fn narrow_to_f16(to: &mut [MaybeUninit<u16>], from: &[f32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_v4() {
        // SAFETY: the processor has the instructions, as was just asked.
        return unsafe { to_f16_by_sixteen(to, from) };
    }
    by_eight(to, from)
}

/// Converts floats to 16 bits, eight at a time.
#[inline]
fn by_eight(to: &mut [MaybeUninit<u16>], from: &[f32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_v3() {
        // SAFETY: the processor has the instructions, as was just asked.
        return unsafe { f16c(to, from) };
    }
    let _ = (to, from);
    0
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx,f16c")]
fn f16c(to: &mut [MaybeUninit<u16>], from: &[f32]) -> usize {
    use std::arch::x86_64::{_MM_FROUND_TO_NEAREST_INT, _mm_storeu_si128, _mm256_cvtps_ph, _mm256_loadu_ps};
    let (groups, _) = from.as_chunks::<8>();
    let (places, _) = to.as_chunks_mut::<8>();
    for (group, place) in groups.iter().zip(&mut *places) {
        // SAFETY: eight neighbours are read; they need not be aligned.
        let values = unsafe { _mm256_loadu_ps(group.as_ptr()) };
        let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(values);
        // SAFETY: eight places of two bytes each are written.
        unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), halves) };
    }
    groups.len().min(places.len()) * 8
}

/// As `f16c`, which takes twice the time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn to_f16_by_sixteen(to: &mut [MaybeUninit<u16>], from: &[f32]) -> usize {
    use std::arch::x86_64::{
        _MM_FROUND_TO_NEAREST_INT, _mm256_storeu_si256, _mm512_cvtps_ph, _mm512_loadu_ps,
    };
    let (groups, _) = from.as_chunks::<16>();
    let (places, _) = to.as_chunks_mut::<16>();
    for (group, place) in groups.iter().zip(&mut *places) {
        // SAFETY: sixteen neighbours are read; they need not be aligned.
        let values = unsafe { _mm512_loadu_ps(group.as_ptr()) };
        let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(values);
        // SAFETY: sixteen places of two bytes each are written.
        unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), halves) };
    }
    groups.len().min(places.len()) * 16
}

/// Writes the square roots of single-precision numbers, correctly rounded, sixteen at a time. Where the processor cannot,
/// nothing is done.
///
/// Returns how many were computed, from the first on.
#[inline]
pub(crate) fn square_roots(to: &mut [MaybeUninit<f32>], from: &[f32]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if has_v4() {
        // SAFETY: the processor has the instructions, as was just asked.
        return unsafe { roots_by_sixteen(to, from) };
    }
    let _ = (to, from);
    0
}

/// From an estimate, which takes six tenths of the time of the instruction for square roots on an Intel processor. A step of
/// Newton's method makes the root nearly exact, and the last step, by what its square lacks, rounds it.
///
/// Estimates are not the same on all processors; they are within `2^-14` of the exact value. The roots do not depend on which one
/// it is: a program has multiplied the estimate of each number from 1 to 4 by each of `1 + k 2^-24` up to `2^-13` away from one,
/// and all roots were those of the instruction. Other numbers are these times a power of four.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn roots_by_sixteen(to: &mut [MaybeUninit<f32>], from: &[f32]) -> usize {
    use std::arch::x86_64::*;
    /// The bits of the smallest number whose root's square is computed with an error that is a normal number, or none.
    const SMALL: u32 = 0x2000_0000;
    const INFINITY: u32 = f32::INFINITY.to_bits();
    let (groups, _) = from.as_chunks::<16>();
    let (places, _) = to.as_chunks_mut::<16>();
    let half = _mm512_set1_ps(0.5);
    for (group, place) in groups.iter().zip(&mut *places) {
        // SAFETY: sixteen neighbours are read; they need not be aligned.
        let x = unsafe { _mm512_loadu_ps(group.as_ptr()) };
        let estimate = _mm512_rsqrt14_ps(x);
        let (root, slope) = (_mm512_mul_ps(x, estimate), _mm512_mul_ps(estimate, half));
        let lacks = _mm512_fnmadd_ps(root, slope, half);
        let (root, slope) = (_mm512_fmadd_ps(root, lacks, root), _mm512_fmadd_ps(slope, lacks, slope));
        let lacks = _mm512_fnmadd_ps(root, root, x);
        let root = _mm512_fmadd_ps(lacks, slope, root);
        // Zeros are their roots.
        let zeros = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(x, _mm512_setzero_ps());
        let mut root = _mm512_mask_mov_ps(root, zeros, x);
        let above = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(SMALL as i32));
        let others = _mm512_cmpge_epu32_mask(above, _mm512_set1_epi32((INFINITY - SMALL) as i32));
        if others & !zeros != 0 {
            root = _mm512_sqrt_ps(x);
        }
        // SAFETY: sixteen places of four bytes each are written.
        unsafe { _mm512_storeu_ps(place.as_mut_ptr().cast(), root) };
    }
    groups.len().min(places.len()) * 16
}

/// Copies elements, as many as there are places, through vector registers.
///
/// The C library does so for short blocks only. For others it takes an instruction of the processor that AMD's take ten
/// times as long for where both places lie little apart in their pages, as in a roll (glibc bug 30994).
#[inline]
pub(crate) fn copy<T: Element>(to: &mut [MaybeUninit<T>], from: &[T]) {
    let bytes = size_of_val(from);
    assert!(size_of_val(to) == bytes, "as many elements as places");
    #[cfg(target_arch = "x86_64")]
    if bytes > SHORT_BYTES && has_v3() {
        // SAFETY:
        // - the processor has the instructions, as was just asked.
        // - both are as many bytes, as asserted above, and the places are borrowed mutably.
        // - an `Element` has no uninitialised bytes, and every pattern of bytes is one.
        unsafe { copy_vectors(to.as_mut_ptr().cast(), from.as_ptr().cast(), bytes) };
        return;
    }
    to.write_copy_of_slice(from);
}

/// What the C library copies through vector registers.
const SHORT_BYTES: usize = 2048;

/// # Safety
///
/// `bytes` bytes from `from` can be read and as many from `to` written, and they are apart.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
unsafe fn copy_vectors(to: *mut u8, from: *const u8, bytes: usize) {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};
    const BLOCK: usize = 4 * size_of::<__m256i>();
    let whole = bytes - bytes % BLOCK;
    let mut at = 0;
    while at < whole {
        // Four at a time, or the compiler makes a call of the C library of the loop.
        // SAFETY: a whole block lies before the end; vectors need not be aligned.
        unsafe {
            let (from, to) = (from.add(at).cast::<__m256i>(), to.add(at).cast::<__m256i>());
            let first = _mm256_loadu_si256(from);
            let second = _mm256_loadu_si256(from.add(1));
            let third = _mm256_loadu_si256(from.add(2));
            let fourth = _mm256_loadu_si256(from.add(3));
            _mm256_storeu_si256(to, first);
            _mm256_storeu_si256(to.add(1), second);
            _mm256_storeu_si256(to.add(2), third);
            _mm256_storeu_si256(to.add(3), fourth);
        }
        at += BLOCK;
    }
    // SAFETY: the bytes behind the blocks.
    unsafe { std::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), bytes - whole) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_runs_once_and_gives_its_result() {
        let mut runs = 0;
        let sum = vectorised(|| {
            runs += 1;
            (0..100u32).sum::<u32>()
        });
        assert_eq!((runs, sum), (1, 4950));
    }

    #[test]
    fn square_roots_are_those_of_the_processor() {
        // All numbers from 1 to 4, and the ends of the mantissas with every exponent and sign; others alone among ordinary ones.
        let mantissas = [0, 1, 2, 0x2a_aaaa, 0x35_04f3, 0x35_04f4, 0x7f_fffe, 0x7f_ffff];
        let bits = |high: u32| mantissas.map(|low| f32::from_bits(high << 23 | low));
        let mut numbers: Vec<f32> = (1f32.to_bits()..4f32.to_bits()).map(f32::from_bits).collect();
        numbers.extend((0..512).flat_map(bits));
        for special in [0.0, -0.0, -1.0, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE / 3.0] {
            numbers.extend((0..16).map(|i| if i == 5 { special } else { i as f32 + 0.3 }));
        }
        let mut roots = vec![MaybeUninit::new(7.0f32); numbers.len()];
        let done = square_roots(&mut roots, &numbers);
        assert!(done == 0 || done == numbers.len() - numbers.len() % 16);
        for (number, root) in numbers.iter().zip(&roots[..done]) {
            // SAFETY: all were given a value above.
            let root = unsafe { root.assume_init() };
            let expected = number.sqrt();
            assert!(root.to_bits() == expected.to_bits() || root.is_nan() && expected.is_nan(), "{number:e}");
        }
    }

    #[test]
    fn blocks_of_all_lengths_are_copied() {
        let from: Vec<u16> = (0..2000).collect();
        for (start, count) in [(0, 0), (1, 3), (3, 1024), (5, 1025), (0, 1088), (7, 1993)] {
            let mut to = vec![MaybeUninit::new(7u16); count + 1];
            copy(&mut to[..count], &from[start..start + count]);
            // SAFETY: all were given a value above.
            let to: Vec<u16> = to.iter().map(|element| unsafe { element.assume_init() }).collect();
            assert_eq!(to[..count], from[start..start + count]);
            assert_eq!(to[count], 7);
        }
    }
}
