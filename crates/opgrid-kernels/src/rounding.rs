//! Rounds elements to whole numbers. Integers are whole.

use opgrid_array::loops::arithmetic::Arithmetic;

/// A type of integers or floats.
pub trait Whole: Arithmetic {
    /// The next whole number that is not smaller.
    fn ceil(self) -> Self;

    /// The next whole number that is not larger.
    fn floor(self) -> Self;

    /// The whole number towards zero.
    fn trunc(self) -> Self;

    /// The nearest whole number; the even one of two.
    fn round(self) -> Self;
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Whole for $type {
            #[inline(always)]
            fn ceil(self) -> Self {
                self
            }

            #[inline(always)]
            fn floor(self) -> Self {
                self
            }

            #[inline(always)]
            fn trunc(self) -> Self {
                self
            }

            #[inline(always)]
            fn round(self) -> Self {
                self
            }
        })*
    };
}

integers!(u8, i8, i16, i32, i64);

macro_rules! floats {
    ($($type:ident),*) => {
        $(impl Whole for $type {
            #[inline(always)]
            fn ceil(self) -> Self {
                <$type>::ceil(self)
            }

            #[inline(always)]
            fn floor(self) -> Self {
                <$type>::floor(self)
            }

            #[inline(always)]
            fn trunc(self) -> Self {
                <$type>::trunc(self)
            }

            #[inline(always)]
            fn round(self) -> Self {
                <$type>::round_ties_even(self)
            }
        })*
    };
}

floats!(f32, f64);
