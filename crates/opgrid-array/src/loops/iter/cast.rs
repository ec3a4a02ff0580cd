//! Converts blocks of elements between dtypes: one function for each pair, picked from a table.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use opgrid_core::{DType, Result};

use crate::Element;
use crate::choose::{STORED, unsupported};
use crate::loops::simd::{VectorLoop, narrow_to_f16};
use crate::with_dtype;

/// Converts `n` elements, `stride` bytes apart, to neighbours.
///
/// # Safety
///
/// The elements are initialised and in readable memory; there is room for the results, apart from the elements; both
/// are aligned.
pub(super) type Cast = unsafe fn(to: *mut u8, from: *const u8, stride: usize, n: usize);

/// How many dtypes there are functions for.
const DTYPES: usize = STORED.len();

/// The row and column of each dtype, by its number; `DTYPES` for those without data.
const INDEX: [u8; 64] = {
    let (mut index, mut at) = ([DTYPES as u8; 64], 0);
    while at < DTYPES {
        index[STORED[at] as usize] = at as u8;
        at += 1;
    }
    index
};

/// The function that converts from one dtype to another.
///
/// # Errors
///
/// A dtype without data.
pub(super) fn cast(from: DType, to: DType) -> Result<Cast> {
    let [row, column] = [from, to].map(|dtype| usize::from(INDEX[dtype as usize]));
    let row = TABLE.get(row).ok_or_else(|| unsupported(from, "another dtype"))?;
    row.get(column).copied().ok_or_else(|| unsupported(to, "another dtype"))
}

/// A list of what a macro makes of the types of all dtypes with data, in the order of [`STORED`].
macro_rules! of_each {
    (($row:ident) $(($variant:ident, $type:ty))*) => {
        [$($row::<$type>()),*]
    };
    (($run:ident $from:ident) $(($variant:ident, $type:ty))*) => {
        [$($run::<$from, $type>),*]
    };
}

const TABLE: [[Cast; DTYPES]; DTYPES] =
    with_dtype!(@rows [bool integer float complex unsigned float8] [] of_each (row));

const fn row<A: Element>() -> [Cast; DTYPES] {
    with_dtype!(@rows [bool integer float complex unsigned float8] [] of_each (run A))
}

/// # Safety
///
/// As [`Cast`].
unsafe fn run<A: Element, O: Element>(to: *mut u8, from: *const u8, stride: usize, n: usize) {
    let to = to.cast::<O>();
    if stride != size_of::<A>() {
        for i in 0..n {
            // SAFETY: the caller's promise, element by element.
            unsafe { to.add(i).write(from.add(i * stride).cast::<A>().read().cast()) };
        }
        return;
    }
    // SAFETY: neighbours are a slice; places are `MaybeUninit`s, and apart from the elements.
    let (to, from) = unsafe { (super::places(to, n), std::slice::from_raw_parts(from.cast::<A>(), n)) };
    if (A::DTYPE, O::DTYPE) == (DType::F32, DType::F16) {
        // SAFETY: these dtypes are of `f32` and of what has the size and alignment of `u16`.
        let (halves, singles) = unsafe {
            (
                super::places(to.as_mut_ptr().cast::<u16>(), n),
                std::slice::from_raw_parts(from.as_ptr().cast(), n),
            )
        };
        let done = narrow_to_f16(halves, singles);
        return each(&mut to[done..], &from[done..]);
    }
    if O::DTYPE == DType::I64 && matches!(A::DTYPE, DType::F32 | DType::F64) {
        // SAFETY: the dtype is that of `i64`.
        let to = unsafe { super::places(to.as_mut_ptr().cast::<i64>(), n) };
        return Truncate { to, from }.vectorised();
    }
    each(to, from);
}

/// Floats as 64-bit integers, as a loop: there are vector instructions for it in AVX-512 only, and none for what is beyond
/// the range.
struct Truncate<'a, A> {
    to: &'a mut [MaybeUninit<i64>],
    from: &'a [A],
}

impl<A: Element> Truncate<'_, A> {
    /// By `convert` in parts whose numbers are all nearer to zero than `limit`, which it may assume.
    #[inline(always)]
    fn below(self, limit: f64, convert: impl Fn(f64) -> i64) {
        /// Elements that are looked at together.
        const PART: usize = 64;
        let (parts, rest) = self.to.as_chunks_mut::<PART>();
        let (from_parts, from_rest) = self.from.as_chunks::<PART>();
        for (to, from) in parts.iter_mut().zip(from_parts) {
            let mut numbers = [0.0f64; PART];
            for i in 0..PART {
                numbers[i] = from[i].cast();
            }
            if (0..PART).fold(true, |near, i| near & (numbers[i].abs() < limit)) {
                for i in 0..PART {
                    to[i].write(convert(numbers[i]));
                }
            } else {
                Each { to, from }.run();
            }
        }
        Each { to: rest, from: from_rest }.run();
    }
}

impl<A: Element> VectorLoop for Truncate<'_, A> {
    type Output = ();
    const IS_WIDE: bool = true;

    /// By steps of float arithmetic.
    #[inline(always)]
    fn run(self) {
        /// Added to an integer that is nearer to zero than a third of it, it leaves it in the lowest bits.
        const SHIFT: f64 = 1.5 * (1u64 << 52) as f64;
        self.below(SHIFT / 3.0, |number| {
            let nearest = (number + SHIFT) - SHIFT;
            let beyond = if nearest.abs() > number.abs() { 1.0f64.copysign(nearest) } else { 0.0 };
            let shifted = (nearest - beyond) + SHIFT;
            shifted.to_bits().wrapping_sub(SHIFT.to_bits()) as i64
        });
    }

    /// By an instruction for each number, which takes less than those steps for two numbers.
    #[inline(always)]
    fn run_unfused(self) {
        const LIMIT: f64 = -(i64::MIN as f64);
        // SAFETY: `below` hands on finite numbers whose integer part is in the range.
        self.below(LIMIT, |number| unsafe { number.to_int_unchecked() });
    }
}

/// Converts element by element.
#[inline]
fn each<A: Element, O: Element>(to: &mut [MaybeUninit<O>], from: &[A]) {
    // Dtypes that are only stored do not need a copy of the loop for each processor.
    let is_only_stored = |dtype: DType| dtype.is_wide_unsigned() || dtype.is_float8();
    let convert = Each { to, from };
    if is_only_stored(A::DTYPE) || is_only_stored(O::DTYPE) { convert.run() } else { convert.vectorised() }
}

/// What [`each`] is called with, as a loop.
struct Each<'a, A, O> {
    to: &'a mut [MaybeUninit<O>],
    from: &'a [A],
}

impl<A: Element, O: Element> VectorLoop for Each<'_, A, O> {
    type Output = ();
    /// AVX2 has no instruction that narrows many integers, or takes those of 64 bits.
    const IS_WIDE: bool = matches!(
        (A::DTYPE, O::DTYPE),
        (DType::F32, DType::BF16) | (DType::I64, DType::F32) | (DType::I64, DType::F64)
    );

    #[inline(always)]
    fn run(self) {
        for (to, from) in self.to.iter_mut().zip(self.from) {
            to.write(from.cast());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_the_integers_towards_zero() {
        let ends =
            [0.0, -0.0, 0.5, -0.5, 0.999, 1.0, -1.5, 2.5, 3.5, 1e9, -7.6e14, (1u64 << 51) as f64 - 0.5];
        for far in [None, Some(f64::NAN), Some(1e300), Some(-9.3e18), Some((1u64 << 52) as f64 + 1.0)] {
            let mut numbers: Vec<f64> =
                ends.into_iter().chain((0..200).map(|i| f64::from(i - 100) * 0.37)).collect();
            numbers.extend(far);
            let mut integers = vec![0i64; numbers.len()];
            let singles: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
            // SAFETY: there are as many places as elements.
            unsafe {
                run::<f64, i64>(integers.as_mut_ptr().cast(), numbers.as_ptr().cast(), 8, numbers.len())
            };
            assert_eq!(integers, numbers.iter().map(|number| *number as i64).collect::<Vec<_>>());
            // SAFETY: there are as many places as elements.
            unsafe {
                run::<f32, i64>(integers.as_mut_ptr().cast(), singles.as_ptr().cast(), 4, numbers.len())
            };
            assert_eq!(integers, singles.iter().map(|number| *number as i64).collect::<Vec<_>>());
        }
    }
}
