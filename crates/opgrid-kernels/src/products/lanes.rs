//! The registers that products are summed in, for each kind of processor.
//!
//! [`Avx512`], [`Avx2`], [`Sse2`] and [`Portable`] say how a register of sums is loaded, stored and added to. The table of a
//! processor has one line per type of sum; the loop over registers is written once, in `tile`.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use opgrid_array::loops::arithmetic::Arithmetic;

/// How a register of sums is used.
///
/// # Safety
///
/// The functions may be called only on a processor that has the instructions of the implementation, with addresses of
/// as many numbers as a register holds: `COUNT` sums, `COUNT * DEPTH` factors; [`same`](Self::same) reads `DEPTH`.
pub(super) unsafe trait Lanes {
    /// What is multiplied.
    type Factor: Copy;
    /// What products are summed in.
    type Number: Copy;
    /// A register of factors.
    type Factors: Copy;
    /// A register of sums.
    type Sums: Copy;
    /// Sums in a register.
    const COUNT: usize;
    /// Factors for each sum in a register.
    const DEPTH: usize;

    unsafe fn factors(at: *const Self::Factor) -> Self::Factors;

    /// The factors of one sum, repeated for all of them.
    unsafe fn same(at: *const Self::Factor) -> Self::Factors;

    unsafe fn all(number: Self::Number) -> Self::Sums;

    unsafe fn sums(at: *const Self::Number) -> Self::Sums;

    unsafe fn store(sums: Self::Sums, at: *mut Self::Number);

    /// `sum + a * b`.
    unsafe fn add_product(sum: Self::Sums, a: Self::Factors, b: Self::Factors) -> Self::Sums;

    /// `sum + scale * other`.
    unsafe fn add_scaled(sum: Self::Sums, scale: Self::Sums, other: Self::Sums) -> Self::Sums;
}

/// Registers of any processor, as far as the compiler finds them.
pub(super) struct Portable<T>(PhantomData<T>);

// SAFETY: plain Rust, within the promised numbers.
unsafe impl<T: Arithmetic> Lanes for Portable<T> {
    type Factor = T;
    type Number = T;
    type Factors = [T; 4];
    type Sums = [T; 4];
    const COUNT: usize = 4;
    const DEPTH: usize = 1;

    #[inline(always)]
    unsafe fn factors(at: *const T) -> [T; 4] {
        // SAFETY: the caller promises the numbers; arrays are as aligned as their elements.
        unsafe { at.cast::<[T; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn same(at: *const T) -> [T; 4] {
        // SAFETY: the caller promises the number.
        [unsafe { at.read() }; 4]
    }

    #[inline(always)]
    unsafe fn all(number: T) -> [T; 4] {
        [number; 4]
    }

    #[inline(always)]
    unsafe fn sums(at: *const T) -> [T; 4] {
        // SAFETY: the caller promises the sums; arrays are as aligned as their elements.
        unsafe { at.cast::<[T; 4]>().read() }
    }

    #[inline(always)]
    unsafe fn store(sums: [T; 4], at: *mut T) {
        // SAFETY: the caller promises that the sums may be written there; arrays are as aligned as their elements.
        unsafe { at.cast::<[T; 4]>().write(sums) }
    }

    #[inline(always)]
    unsafe fn add_product(sum: [T; 4], a: [T; 4], b: [T; 4]) -> [T; 4] {
        std::array::from_fn(|lane| sum[lane].plus(a[lane].times(b[lane])))
    }

    #[inline(always)]
    unsafe fn add_scaled(sum: [T; 4], scale: [T; 4], other: [T; 4]) -> [T; 4] {
        // SAFETY: there is no condition.
        unsafe { Self::add_product(sum, scale, other) }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512, Short, Sse2};

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! The intrinsics.

    use std::arch::x86_64::*;
    use std::marker::PhantomData;

    use half::bf16;

    use super::Lanes;

    /// Registers of 512 bits.
    pub struct Avx512<T>(PhantomData<T>);
    /// Registers of 256 bits.
    pub struct Avx2<T>(PhantomData<T>);
    /// Registers of 128 bits, which every processor has.
    pub struct Sse2<T>(PhantomData<T>);

    /// Implements [`Lanes`] where factors and sums are of one type.
    macro_rules! lanes {
        ($($name:ident<$number:ty>: $register:ty, $count:literal,
            $all:ident, $load:ident $(as $cast:ty)?, $store:ident,
            |$sum:ident, $a:ident, $b:ident| $add_product:expr;)*) => {
            $(
                // SAFETY: the instructions are those of the name, and read and write one register.
                unsafe impl Lanes for $name<$number> {
                    type Factor = $number;
                    type Number = $number;
                    type Factors = $register;
                    type Sums = $register;
                    const COUNT: usize = $count;
                    const DEPTH: usize = 1;

                    #[inline(always)]
                    unsafe fn factors(at: *const $number) -> $register {
                        // SAFETY: the trait's conditions.
                        unsafe { $load(at$(.cast::<$cast>())?) }
                    }

                    #[inline(always)]
                    unsafe fn same(at: *const $number) -> $register {
                        // SAFETY: the trait's conditions.
                        unsafe { $all(at.read()) }
                    }

                    #[inline(always)]
                    unsafe fn all(number: $number) -> $register {
                        // SAFETY: the trait's conditions.
                        unsafe { $all(number) }
                    }

                    #[inline(always)]
                    unsafe fn sums(at: *const $number) -> $register {
                        // SAFETY: the trait's conditions.
                        unsafe { $load(at$(.cast::<$cast>())?) }
                    }

                    #[inline(always)]
                    unsafe fn store(sums: $register, at: *mut $number) {
                        // SAFETY: the trait's conditions.
                        unsafe { $store(at$(.cast::<$cast>())?, sums) }
                    }

                    #[inline(always)]
                    unsafe fn add_product($sum: $register, $a: $register, $b: $register) -> $register {
                        // SAFETY: the trait's conditions.
                        unsafe { $add_product }
                    }

                    #[inline(always)]
                    unsafe fn add_scaled(sum: $register, scale: $register, other: $register) -> $register {
                        // SAFETY: the trait's conditions.
                        unsafe { Self::add_product(sum, scale, other) }
                    }
                }
            )*
        };
    }

    lanes! {
        Avx512<f32>: __m512, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps,
            |sum, a, b| _mm512_fmadd_ps(a, b, sum);
        Avx512<f64>: __m512d, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd,
            |sum, a, b| _mm512_fmadd_pd(a, b, sum);
        Avx512<i16>: __m512i, 32, _mm512_set1_epi16, _mm512_loadu_epi16, _mm512_storeu_epi16,
            |sum, a, b| _mm512_add_epi16(_mm512_mullo_epi16(a, b), sum);
        Avx512<i32>: __m512i, 16, _mm512_set1_epi32, _mm512_loadu_epi32, _mm512_storeu_epi32,
            |sum, a, b| _mm512_add_epi32(_mm512_mullo_epi32(a, b), sum);
        Avx512<i64>: __m512i, 8, _mm512_set1_epi64, _mm512_loadu_epi64, _mm512_storeu_epi64,
            |sum, a, b| _mm512_add_epi64(_mm512_mullo_epi64(a, b), sum);
        Avx2<f32>: __m256, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps,
            |sum, a, b| _mm256_fmadd_ps(a, b, sum);
        Avx2<f64>: __m256d, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd,
            |sum, a, b| _mm256_fmadd_pd(a, b, sum);
        Avx2<i16>: __m256i, 16, _mm256_set1_epi16, _mm256_loadu_si256 as __m256i, _mm256_storeu_si256,
            |sum, a, b| _mm256_add_epi16(_mm256_mullo_epi16(a, b), sum);
        Avx2<i32>: __m256i, 8, _mm256_set1_epi32, _mm256_loadu_si256 as __m256i, _mm256_storeu_si256,
            |sum, a, b| _mm256_add_epi32(_mm256_mullo_epi32(a, b), sum);
        Avx2<i64>: __m256i, 4, _mm256_set1_epi64x, _mm256_loadu_si256 as __m256i, _mm256_storeu_si256,
            |sum, a, b| _mm256_add_epi64(times_64(a, b), sum);
        Sse2<f32>: __m128, 4, _mm_set1_ps, _mm_loadu_ps, _mm_storeu_ps,
            |sum, a, b| _mm_add_ps(_mm_mul_ps(a, b), sum);
        Sse2<f64>: __m128d, 2, _mm_set1_pd, _mm_loadu_pd, _mm_storeu_pd,
            |sum, a, b| _mm_add_pd(_mm_mul_pd(a, b), sum);
    }

    /// Numbers of 64 bits whose factors have 32: [`Lanes::add_product`] looks at the lower halves only.
    pub struct Short;

    // SAFETY: the instructions are those of AVX2, and read and write one register.
    unsafe impl Lanes for Avx2<Short> {
        type Factor = i64;
        type Number = i64;
        type Factors = __m256i;
        type Sums = __m256i;
        const COUNT: usize = 4;
        const DEPTH: usize = 1;

        #[inline(always)]
        unsafe fn factors(at: *const i64) -> __m256i {
            // SAFETY: the trait's conditions.
            unsafe { Avx2::<i64>::factors(at) }
        }

        #[inline(always)]
        unsafe fn same(at: *const i64) -> __m256i {
            // SAFETY: the trait's conditions.
            unsafe { Avx2::<i64>::same(at) }
        }

        #[inline(always)]
        unsafe fn all(number: i64) -> __m256i {
            // SAFETY: the trait's conditions.
            unsafe { Avx2::<i64>::all(number) }
        }

        #[inline(always)]
        unsafe fn sums(at: *const i64) -> __m256i {
            // SAFETY: the trait's conditions.
            unsafe { Avx2::<i64>::sums(at) }
        }

        #[inline(always)]
        unsafe fn store(sums: __m256i, at: *mut i64) {
            // SAFETY: the trait's conditions.
            unsafe { Avx2::<i64>::store(sums, at) }
        }

        #[inline(always)]
        unsafe fn add_product(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
            // SAFETY: the trait's conditions.
            unsafe { _mm256_add_epi64(_mm256_mul_epi32(a, b), sum) }
        }

        /// Sums and their factor have 64 bits.
        #[inline(always)]
        unsafe fn add_scaled(sum: __m256i, scale: __m256i, other: __m256i) -> __m256i {
            // SAFETY: the trait's conditions.
            unsafe { Avx2::<i64>::add_scaled(sum, scale, other) }
        }
    }

    /// The lower halves of 64-bit products, of 32-bit ones: without AVX-512 there is no instruction for them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn times_64(a: __m256i, b: __m256i) -> __m256i {
        let low = _mm256_mul_epu32(a, b);
        let crossed = _mm256_mullo_epi32(a, _mm256_shuffle_epi32::<0b10_11_00_01>(b));
        let upper = _mm256_add_epi32(_mm256_slli_epi64::<32>(crossed), crossed);
        let mask = _mm256_set1_epi64x(!0xffff_ffff);
        _mm256_add_epi64(low, _mm256_and_si256(upper, mask))
    }

    // SAFETY: the instructions are those of AVX-512 and its extension for bfloat16, and read and write one register.
    unsafe impl Lanes for Avx512<bf16> {
        type Factor = bf16;
        type Number = f32;
        type Factors = __m512bh;
        type Sums = __m512;
        const COUNT: usize = 16;
        const DEPTH: usize = 2;

        #[inline(always)]
        unsafe fn factors(at: *const bf16) -> __m512bh {
            // SAFETY: the trait's conditions.
            let bits = unsafe { _mm512_loadu_epi16(at.cast()) };
            // SAFETY: both are a register of 512 bits.
            unsafe { std::mem::transmute::<__m512i, __m512bh>(bits) }
        }

        #[inline(always)]
        unsafe fn same(at: *const bf16) -> __m512bh {
            // SAFETY: two numbers of 16 bits may be read, aligned or not.
            let pair = unsafe { at.cast::<i32>().read_unaligned() };
            // SAFETY: the trait's conditions.
            let bits = unsafe { _mm512_set1_epi32(pair) };
            // SAFETY: both are a register of 512 bits.
            unsafe { std::mem::transmute::<__m512i, __m512bh>(bits) }
        }

        #[inline(always)]
        unsafe fn all(number: f32) -> __m512 {
            // SAFETY: the trait's conditions.
            unsafe { _mm512_set1_ps(number) }
        }

        #[inline(always)]
        unsafe fn sums(at: *const f32) -> __m512 {
            // SAFETY: the trait's conditions.
            unsafe { _mm512_loadu_ps(at) }
        }

        #[inline(always)]
        unsafe fn store(sums: __m512, at: *mut f32) {
            // SAFETY: the trait's conditions.
            unsafe { _mm512_storeu_ps(at, sums) }
        }

        #[inline(always)]
        unsafe fn add_product(sum: __m512, a: __m512bh, b: __m512bh) -> __m512 {
            // SAFETY: the trait's conditions.
            unsafe { _mm512_dpbf16_ps(sum, a, b) }
        }

        #[inline(always)]
        unsafe fn add_scaled(sum: __m512, scale: __m512, other: __m512) -> __m512 {
            // SAFETY: the trait's conditions.
            unsafe { _mm512_fmadd_ps(scale, other, sum) }
        }
    }
}
