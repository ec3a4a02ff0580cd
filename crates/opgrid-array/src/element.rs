//! Connects Rust types to the dtypes that have data.

use std::cmp::Ordering;
use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;
use opgrid_core::DType;

use super::float8::{F8E4M3, F8E5M2, e4m3_to_f32, e5m2_to_f32, f32_to_e4m3, f32_to_e5m2};
use super::half_bits::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that is stored as the elements of one dtype.
///
/// Sealed, because storage hands out typed slices of raw bytes. Invariant: every pattern of `size_of::<T>()`
/// initialised bytes is a valid value, and `T` has no padding.
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The dtype whose elements this type holds.
    const DTYPE: DType;

    /// What kernels compute in: `f32` for the floats of 16 and 8 bits, the type itself for others.
    type Math: Element<Math = Self::Math>;

    /// This element as kernels compute with it.
    fn widen(self) -> Self::Math;

    /// The element next to what a kernel has computed.
    fn narrow(value: Self::Math) -> Self;

    /// This element as one of the types that every dtype converts from.
    fn number(self) -> Number;

    /// The element of this type that `number` converts to, by torch's rules: a float is truncated towards zero on
    /// its way to an integer, an integer keeps its lowest bits, a complex number loses its imaginary part, and
    /// anything but zero is true.
    ///
    /// A float beyond an integer type becomes the nearest end of its range, and NaN becomes 0, where torch leaves the
    /// result to the processor.
    fn from_number(number: Number) -> Self;

    /// This element converted to `U`.
    #[inline(always)]
    fn cast<U: Element>(self) -> U {
        U::from_number(self.number())
    }
}

/// What kernels compute in for elements of type `T`.
pub type Math<T> = <T as Element>::Math;

/// An element of any dtype, without a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// From `float32` and narrower floats.
    F32(f32),
    /// From `float64`.
    F64(f64),
    /// From every integer but `uint64`.
    I64(i64),
    /// From `uint64`.
    U64(u64),
    /// From `bool`.
    Bool(bool),
    /// From `complex64`.
    Complex64(Complex<f32>),
    /// From `complex128`.
    Complex128(Complex<f64>),
}

impl Number {
    /// The number of an integer dtype.
    pub fn as_integer(self) -> Option<i128> {
        match self {
            Self::I64(value) => Some(value.into()),
            Self::U64(value) => Some(value.into()),
            _ => None,
        }
    }
}

/// An element of a `bool` tensor: a byte that is true unless it is zero.
///
/// Memory that others have written may hold any byte where 0 or 1 is meant; a Rust `bool` must not be made from it.
///
/// # Examples
///
/// ```
/// use opgrid_array::Bool;
///
/// assert!(Bool::from(true).is_true());
/// assert_eq!(Bool::from(false), Bool::default());
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// The byte 0.
    pub const FALSE: Self = Self(0);
    /// The byte 1.
    pub const TRUE: Self = Self(1);

    /// Whether the byte is not zero.
    #[inline(always)]
    pub fn is_true(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline(always)]
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl From<Bool> for bool {
    #[inline(always)]
    fn from(value: Bool) -> Self {
        value.is_true()
    }
}

impl PartialEq for Bool {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.is_true() == other.is_true()
    }
}

impl PartialOrd for Bool {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.is_true().partial_cmp(&other.is_true())
    }
}

impl fmt::Debug for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.is_true())
    }
}

/// Implements [`Element`]'s half that says what kernels compute in.
macro_rules! computes {
    (itself) => {
        type Math = Self;

        #[inline(always)]
        fn widen(self) -> Self {
            self
        }

        #[inline(always)]
        fn narrow(value: Self) -> Self {
            value
        }
    };
    ($widen:ident, $narrow:ident) => {
        type Math = f32;

        #[inline(always)]
        fn widen(self) -> f32 {
            $widen(self.to_bits())
        }

        #[inline(always)]
        fn narrow(value: f32) -> Self {
            Self::from_bits($narrow(value))
        }
    };
}

/// Implements [`Element`] for integers, which keep the lowest bits of wider ones.
macro_rules! integer {
    ($($type:ty, $dtype:ident, $variant:ident;)*) => {
        $(impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            computes!(itself);

            #[inline(always)]
            fn number(self) -> Number {
                Number::$variant(self.into())
            }

            #[inline(always)]
            fn from_number(number: Number) -> Self {
                match number {
                    Number::F32(value) => value as Self,
                    Number::F64(value) => value as Self,
                    Number::I64(value) => value as Self,
                    Number::U64(value) => value as Self,
                    Number::Bool(value) => Self::from(value),
                    Number::Complex64(value) => value.re as Self,
                    Number::Complex128(value) => value.re as Self,
                }
            }
        })*
    };
}

integer! {
    u8, U8, I64;
    i8, I8, I64;
    i16, I16, I64;
    i32, I32, I64;
    i64, I64, I64;
    u16, U16, I64;
    u32, U32, I64;
    u64, U64, U64;
}

/// Implements [`Element`] for floats.
macro_rules! float {
    ($($type:ident, $dtype:ident, $variant:ident;)*) => {
        $(impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            computes!(itself);

            #[inline(always)]
            fn number(self) -> Number {
                Number::$variant(self)
            }

            #[inline(always)]
            fn from_number(number: Number) -> Self {
                match number {
                    Number::F32(value) => value as Self,
                    Number::F64(value) => value as Self,
                    Number::I64(value) => value as Self,
                    Number::U64(value) => value as Self,
                    Number::Bool(value) => Self::from(u8::from(value)),
                    Number::Complex64(value) => value.re as Self,
                    Number::Complex128(value) => value.re as Self,
                }
            }
        })*
    };
}

float! {
    f32, F32, F32;
    f64, F64, F64;
}

/// Implements [`Element`] for floats of 16 and 8 bits, which convert by way of `f32` as in torch.
macro_rules! narrow_float {
    ($($type:ident, $dtype:ident, $widen:ident, $narrow:ident;)*) => {
        $(impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

            computes!($widen, $narrow);

            #[inline(always)]
            fn number(self) -> Number {
                Number::F32(self.widen())
            }

            #[inline(always)]
            fn from_number(number: Number) -> Self {
                Self::narrow(f32::from_number(number))
            }
        })*
    };
}

narrow_float! {
    f16, F16, f16_to_f32, f32_to_f16;
    bf16, BF16, bf16_to_f32, f32_to_bf16;
    F8E5M2, F8E5M2, e5m2_to_f32, f32_to_e5m2;
    F8E4M3, F8E4M3, e4m3_to_f32, f32_to_e4m3;
}

/// Implements [`Element`] for complex numbers: a real number has no imaginary part.
macro_rules! complex {
    ($($part:ident, $dtype:ident;)*) => {
        $(impl sealed::Sealed for Complex<$part> {}

        impl Element for Complex<$part> {
            const DTYPE: DType = DType::$dtype;

            computes!(itself);

            #[inline(always)]
            fn number(self) -> Number {
                Number::$dtype(self)
            }

            #[inline(always)]
            fn from_number(number: Number) -> Self {
                match number {
                    Number::Complex64(value) => Self::new(value.re as $part, value.im as $part),
                    Number::Complex128(value) => Self::new(value.re as $part, value.im as $part),
                    real => Self::new($part::from_number(real), 0.0),
                }
            }
        })*
    };
}

complex! {
    f32, Complex64;
    f64, Complex128;
}

impl sealed::Sealed for Bool {}

impl Element for Bool {
    const DTYPE: DType = DType::Bool;

    computes!(itself);

    #[inline(always)]
    fn number(self) -> Number {
        Number::Bool(self.is_true())
    }

    #[inline(always)]
    fn from_number(number: Number) -> Self {
        Self::from(match number {
            Number::F32(value) => value != 0.0,
            Number::F64(value) => value != 0.0,
            Number::I64(value) => value != 0,
            Number::U64(value) => value != 0,
            Number::Bool(value) => value,
            Number::Complex64(value) => value != Complex::ZERO,
            Number::Complex128(value) => value != Complex::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_follow_torch() {
        assert_eq!((-2.7f32).cast::<i64>(), -2);
        assert_eq!(f64::NAN.cast::<i64>(), 0);
        assert_eq!((1e30f64.cast::<i64>(), 1e30f64.cast::<i8>()), (i64::MAX, i8::MAX));
        assert_eq!(((-1.0f32).cast::<u8>(), 300.0f32.cast::<u8>(), (-1i64).cast::<u8>()), (0, 255, 255));
        assert_eq!((300i64.cast::<u8>(), 40_000i64.cast::<i16>()), (44, -25_536));
        assert_eq!(Complex::new(2.5f32, 1.0).cast::<i32>(), 2);
        assert_eq!(Complex::new(0.0f32, 1.0).cast::<Bool>(), Bool::from(true));
        assert_eq!(1i64.cast::<Complex<f64>>(), Complex::new(1.0, 0.0));
        assert_eq!(65520.0f32.cast::<f16>(), f16::INFINITY);
        assert_eq!(f16::from_f32(0.1).cast::<bf16>(), bf16::from_f32(0.1));
        assert_eq!(f64::NAN.cast::<Bool>(), Bool::from(true));
        assert_eq!((-0.0f64).cast::<Bool>(), Bool::from(false));
        assert_eq!(Bool::from(true).cast::<f32>(), 1.0);
        // Straight to single precision, not by way of double, which would round twice.
        assert_eq!(((1i64 << 24) + 1 + (1 << 54)).cast::<f32>(), ((1i64 << 24) + 1 + (1 << 54)) as f32);
    }

    #[test]
    fn a_byte_other_than_one_is_true() {
        assert_eq!(Bool(2), Bool(1));
        assert_eq!(Bool(255).cast::<i64>(), 1);
    }
}
