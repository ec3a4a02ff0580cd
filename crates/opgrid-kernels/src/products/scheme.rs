//! Says how elements of each dtype are multiplied: what they become in panels, and what their products are summed in.
//!
//! | elements | in panels | sums |
//! |---|---|---|
//! | `f32`, `f64`, `i16`, `i32`, `i64` | themselves | themselves |
//! | `f16`, `bf16` | `f32` | `f32` |
//! | `bf16`, where the processor multiplies pairs of them | pairs | `f32` |
//! | `u8`, `i8` | `i16` | `i16`, whose lower half is right whatever the upper one is |
//! | complex | themselves: two rows of numbers on the left, two columns on the right | two by two numbers |

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use half::{bf16, f16};
use num_complex::Complex;

use super::tile::{Kernel, Summed};
use opgrid_array::Element;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::simd::VectorLoop;
use opgrid_array::loops::simd::widen_over;

/// Elements of a block, which becomes a vector or two.
pub(super) const BLOCK: usize = 8;

/// How elements of one dtype are multiplied.
pub(super) trait Scheme: Copy + Sync + 'static {
    /// What the matrices hold.
    type Element: Element;
    /// What an element becomes: `PARTS` factors beside each other.
    type Packed: Element;
    /// What the kernel multiplies.
    type Factor;
    /// What the kernel sums in.
    type Number: Arithmetic;
    /// The sum of products: a number, or `PARTS` of them.
    type Sum: Element<Math = Self::Sum> + Arithmetic;
    /// Numbers of an element.
    const PARTS: usize;
    /// Whether elements are packed as they are.
    const SAME: bool;

    fn kernel(self) -> &'static Kernel<Self::Factor, Self::Number>;

    fn pack(element: Self::Element) -> Self::Packed;

    /// Packs elements that lie in one piece.
    #[inline(always)]
    fn pack_row(to: &mut [Self::Packed], from: &[Self::Element]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = Self::pack(*from);
        }
    }

    /// Packs a block of elements: all are read before any is written, so that the compiler need not know that they lie apart.
    #[inline(always)]
    fn pack_block(to: &mut [Self::Packed; BLOCK], from: &[Self::Element; BLOCK]) {
        *to = from.map(Self::pack);
    }

    /// What a vector becomes whose products with rows give this part of the sums.
    fn part(packed: Self::Packed, part: usize) -> Self::Packed;

    /// The sum that has these parts.
    fn joined(part: impl Fn(usize) -> Self::Number) -> Self::Sum;

    /// The sum in a tile, each of whose rows and columns are `PARTS` ones of numbers.
    fn sum(number: impl Fn(usize, usize) -> Self::Number, row: usize, column: usize) -> Self::Sum;

    /// The factor for the kernel's sums; what is left of it is multiplied by [`scaled`](Self::scaled).
    fn scale(scale: Self::Sum) -> Self::Number;

    fn scaled(sum: Self::Sum, scale: Self::Sum) -> Self::Sum;
}

/// The parts of a scheme whose sums are numbers.
macro_rules! of_one_part {
    ($sum:ty) => {
        type Number = $sum;
        type Sum = $sum;
        const PARTS: usize = 1;

        #[inline(always)]
        fn part(packed: Self::Packed, _part: usize) -> Self::Packed {
            packed
        }

        #[inline(always)]
        fn joined(part: impl Fn(usize) -> $sum) -> $sum {
            part(0)
        }

        #[inline(always)]
        fn sum(number: impl Fn(usize, usize) -> $sum, row: usize, column: usize) -> $sum {
            number(row, column)
        }

        #[inline(always)]
        fn scale(scale: $sum) -> $sum {
            scale
        }

        #[inline(always)]
        fn scaled(sum: $sum, _scale: $sum) -> $sum {
            sum
        }
    };
}

/// Elements that are multiplied and summed as they are, by this kernel.
pub(super) struct Plain<T: 'static>(pub &'static Kernel<T, T>);

impl<T> Clone for Plain<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Plain<T> {}

impl<T: Summed> Plain<T> {
    /// By the fastest kernel for all elements.
    pub(super) fn new() -> Self {
        Self(T::kernel())
    }
}

macro_rules! plain {
    ($($type:ty),*) => {
        $(impl Scheme for Plain<$type> {
            type Element = $type;
            type Packed = $type;
            type Factor = $type;
            const SAME: bool = true;
            of_one_part!($type);

            #[inline(always)]
            fn kernel(self) -> &'static Kernel<$type, $type> {
                self.0
            }

            #[inline(always)]
            fn pack(element: $type) -> $type {
                element
            }
        })*
    };
}

plain!(f32, f64, i16, i32, i64);

/// Elements that are multiplied and summed in a wider type.
#[derive(Clone, Copy)]
pub(super) struct Widened<T>(pub PhantomData<T>);

macro_rules! widened {
    ($($type:ty as $sum:ty, $pack:expr $(, $pack_row:expr)?;)*) => {
        $(impl Scheme for Widened<$type> {
            type Element = $type;
            type Packed = $sum;
            type Factor = $sum;
            const SAME: bool = false;
            of_one_part!($sum);

            #[inline(always)]
            fn kernel(self) -> &'static Kernel<$sum, $sum> {
                <$sum>::kernel()
            }

            #[inline(always)]
            fn pack(element: $type) -> $sum {
                $pack(element)
            }

            $(
                #[inline(always)]
                fn pack_row(to: &mut [$sum], from: &[$type]) {
                    $pack_row(to, from)
                }

                #[inline(always)]
                fn pack_block(to: &mut [$sum; BLOCK], from: &[$type; BLOCK]) {
                    $pack_row(to, from)
                }
            )?
        })*
    };
}

widened! {
    f16 as f32, Element::widen, widen_over;
    bf16 as f32, Element::widen;
    u8 as i16, i16::from;
    i8 as i16, i16::from;
}

/// Pairs of bfloat16, by the kernel that takes them.
#[derive(Clone, Copy)]
pub(super) struct Pairs(pub &'static Kernel<bf16, f32>);

impl Scheme for Pairs {
    type Element = bf16;
    type Packed = bf16;
    type Factor = bf16;
    const SAME: bool = true;
    of_one_part!(f32);

    #[inline(always)]
    fn kernel(self) -> &'static Kernel<bf16, f32> {
        self.0
    }

    #[inline(always)]
    fn pack(element: bf16) -> bf16 {
        element
    }
}

/// Complex elements of two numbers each.
///
/// A row of complex numbers on the left is two rows of numbers, real and imaginary parts, and a column on the right
/// two columns. Of their four sums of products two give the real part and two the imaginary one.
#[derive(Clone, Copy)]
pub(super) struct Parts<T>(pub PhantomData<T>);

impl<T> Scheme for Parts<T>
where
    T: Summed + std::ops::Neg<Output = T>,
    Complex<T>: Element<Math = Complex<T>> + Arithmetic,
{
    type Element = Complex<T>;
    type Packed = Complex<T>;
    type Factor = T;
    type Number = T;
    type Sum = Complex<T>;
    const PARTS: usize = 2;
    const SAME: bool = true;

    #[inline(always)]
    fn kernel(self) -> &'static Kernel<T, T> {
        T::kernel()
    }

    #[inline(always)]
    fn pack(element: Complex<T>) -> Complex<T> {
        element
    }

    #[inline(always)]
    fn part(Complex { re, im }: Complex<T>, part: usize) -> Complex<T> {
        if part == 0 { Complex { re, im: -im } } else { Complex { re: im, im: re } }
    }

    #[inline(always)]
    fn joined(part: impl Fn(usize) -> T) -> Complex<T> {
        Complex { re: part(0), im: part(1) }
    }

    #[inline(always)]
    fn sum(number: impl Fn(usize, usize) -> T, row: usize, column: usize) -> Complex<T> {
        let [real, imaginary] = [2 * row, 2 * row + 1];
        let [first, second] = [2 * column, 2 * column + 1];
        Complex {
            re: number(real, first).minus(number(imaginary, second)),
            im: number(real, second).plus(number(imaginary, first)),
        }
    }

    #[inline(always)]
    fn scale(_scale: Complex<T>) -> T {
        T::ONE
    }

    #[inline(always)]
    fn scaled(sum: Complex<T>, scale: Complex<T>) -> Complex<T> {
        // Multiplied by one, an infinite part would make the other one NaN.
        if scale == Complex::<T>::ONE { sum } else { scale.times(sum) }
    }
}

/// Narrows sums to elements: by which function, the sums, and where the elements go.
pub(super) struct Narrow<'a, F, A, T>(pub F, pub &'a [A], pub &'a mut [MaybeUninit<T>]);

impl<F: Fn(A) -> T, A: Copy, T> VectorLoop for Narrow<'_, F, A, T> {
    type Output = ();
    // 16-bit floats take half of the time.
    const IS_WIDE: bool = size_of::<T>() == 2;

    #[inline(always)]
    fn run(self) {
        let Self(narrow, sums, places) = self;
        for (place, sum) in places.iter_mut().zip(sums) {
            place.write(narrow(*sum));
        }
    }
}
