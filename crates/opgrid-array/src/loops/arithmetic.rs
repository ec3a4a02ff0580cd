//! The arithmetic of elements: integers wrap around, bools are added by "or" and multiplied by "and".
//!
//! The traits are for what kernels compute in ([`Element::Math`]), so the 16-bit floats have none.

use num_complex::Complex;
use opgrid_core::{DType, Result, Scalar};

use crate::error::argument;
use crate::{Bool, Element, Number, iinfo, with_dtype};

/// A type that can be added, multiplied and negated.
pub trait Arithmetic: Element<Math = Self> {
    /// Nothing.
    const ZERO: Self;
    /// The unit.
    const ONE: Self;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The difference; of bools, whether they differ.
    fn minus(self, other: Self) -> Self;

    /// The product.
    fn times(self, other: Self) -> Self;

    /// The negative; a bool stays what it is.
    fn negated(self) -> Self;
}

/// A type whose values have an order. NaN counts as larger and smaller than all: it wins wherever it takes part.
pub trait Ordered: Element<Math = Self> {
    /// Whether the value is NaN.
    fn is_nan(self) -> bool;

    /// Whether this is smaller.
    fn is_below(self, other: Self) -> bool;

    /// Whether this is smaller or equal.
    #[inline(always)]
    fn is_at_most(self, other: Self) -> bool {
        self.is_below(other) | (self == other)
    }

    /// The larger one, or NaN.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if other.is_below(self) || self.is_nan() { self } else { other }
    }

    /// The smaller one, or NaN.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if self.is_below(other) || self.is_nan() { self } else { other }
    }

    /// The larger one; NaN only of two NaN.
    #[inline(always)]
    fn larger_number(self, other: Self) -> Self {
        if other.is_below(self) || other.is_nan() { self } else { other }
    }

    /// The smaller one; NaN only of two NaN.
    #[inline(always)]
    fn smaller_number(self, other: Self) -> Self {
        if self.is_below(other) || other.is_nan() { self } else { other }
    }
}

macro_rules! with_operators {
    ($($type:ty, $zero:expr, $one:expr;)*) => {
        $(impl Arithmetic for $type {
            const ZERO: Self = $zero;
            const ONE: Self = $one;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }
        })*
    };
}

with_operators! {
    f32, 0.0, 1.0;
    f64, 0.0, 1.0;
    Complex<f32>, Complex::new(0.0, 0.0), Complex::new(1.0, 0.0);
    Complex<f64>, Complex::new(0.0, 0.0), Complex::new(1.0, 0.0);
}

macro_rules! wrapping {
    ($($type:ty),*) => {
        $(impl Arithmetic for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
        }

        impl Ordered for $type {
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }

            #[inline(always)]
            fn is_below(self, other: Self) -> bool {
                self < other
            }
        })*
    };
}

wrapping!(u8, i8, i16, i32, i64, u16, u32, u64);

macro_rules! ordered_float {
    ($($type:ty),*) => {
        $(impl Ordered for $type {
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }

            #[inline(always)]
            fn is_below(self, other: Self) -> bool {
                self < other
            }
        })*
    };
}

ordered_float!(f32, f64);

impl Arithmetic for Bool {
    const ZERO: Self = Bool::FALSE;
    const ONE: Self = Bool::TRUE;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self::from(self.is_true() | other.is_true())
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self::from(self.is_true() ^ other.is_true())
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        Self::from(self.is_true() & other.is_true())
    }

    #[inline(always)]
    fn negated(self) -> Self {
        self
    }
}

impl Ordered for Bool {
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }

    #[inline(always)]
    fn is_below(self, other: Self) -> bool {
        !self.is_true() & other.is_true()
    }
}

/// The number behind a scalar.
pub(crate) fn number(value: Scalar) -> Number {
    match value {
        Scalar::Int(value) => Number::I64(value),
        Scalar::UInt(value) => Number::U64(value),
        Scalar::Float(value) => Number::F64(value),
        Scalar::Bool(value) => Number::Bool(value),
        Scalar::Complex(value) => Number::Complex128(value),
    }
}

/// The element that a scalar argument converts to; fractions are cut off on the way to an integer and unsigned
/// integers take negative integers modulo their range, as in torch.
///
/// # Errors
///
/// A complex scalar with an imaginary part for a real dtype; a number beyond the range of the dtype.
#[inline(always)]
pub fn element<T: Element>(value: Scalar) -> Result<T> {
    // Most numbers are small ones, and fit every dtype.
    let small = matches!(value, Scalar::Int(0..=127));
    if !small && !fits(value, T::DTYPE) {
        return Err(misfit(value, T::DTYPE));
    }
    Ok(T::from_number(number(value)))
}

/// As [`element`], of `dtype` as a kernel computes it in `T`: the range is that of `T` but for unsigned integers that
/// [`with_dtype!`](crate::with_dtype) chooses another type for.
///
/// # Errors
///
/// As [`element`].
#[inline(always)]
pub fn element_for<T: Element>(value: Scalar, dtype: DType) -> Result<T> {
    if !dtype.is_wide_unsigned() {
        return element(value);
    }
    unsigned(value, dtype).map(T::from_number)
}

/// The element of an unsigned dtype that a scalar argument converts to.
#[cold]
#[inline(never)]
fn unsigned(value: Scalar, dtype: DType) -> Result<Number> {
    with_dtype!(dtype, T: Integer by itself => element::<T>(value).map(|element| element.number()))
}

#[cold]
fn misfit(value: Scalar, dtype: DType) -> opgrid_core::Error {
    argument(format!(
        "value {value} cannot be converted to {} ({dtype}) without overflow",
        dtype.torch_name()
    ))
}

/// Whether a number is in the range of a dtype.
fn fits(value: Scalar, dtype: DType) -> bool {
    let value = match value {
        Scalar::Bool(_) => return true,
        Scalar::Complex(value) if dtype.is_complex() => {
            return [value.re, value.im].into_iter().all(|part| fits(Scalar::Float(part), dtype));
        }
        Scalar::Complex(value) if value.im != 0.0 && dtype != DType::Bool => return false,
        Scalar::Complex(value) => Scalar::Float(value.re),
        real => real,
    };
    match (value, dtype) {
        (_, DType::Bool | DType::F64 | DType::Complex128) | (Scalar::Int(_), DType::I64) => true,
        (Scalar::Float(value), DType::F32 | DType::Complex64) => within(value, f64::from(f32::MAX)),
        (Scalar::Float(value), DType::F16) => within(value, 65504.0),
        (Scalar::Float(value), DType::BF16) => within(value, half::bf16::MAX.to_f64()),
        (Scalar::Int(value), DType::F16) => value.unsigned_abs() <= 65504,
        (Scalar::UInt(_), DType::F16) => false,
        (Scalar::Float(value), DType::I64) => (-(2f64.powi(63))..2f64.powi(63)).contains(&value),
        (value, dtype) => {
            iinfo(dtype).is_ok_and(|limits| {
                // Unsigned integers take negative ones.
                let (least, most) = (i128::from(limits.min), i128::from(limits.max));
                let least = if least == 0 { -most } else { least };
                match value {
                    Scalar::Int(value) => (least..=most).contains(&value.into()),
                    Scalar::UInt(value) => i128::from(value) <= most,
                    Scalar::Float(value) => (limits.min as f64..=limits.max as f64).contains(&value),
                    _ => true,
                }
            }) || !dtype.is_integral()
        }
    }
}

fn within(value: f64, limit: f64) -> bool {
    !value.is_finite() || value.abs() <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_wins() {
        assert!(f32::NAN.larger(1.0).is_nan() && 1.0f32.larger(f32::NAN).is_nan());
        assert!(f64::NAN.smaller(1.0).is_nan() && 1.0f64.smaller(f64::NAN).is_nan());
        assert_eq!((2i8.larger(3), 2i8.smaller(3)), (3, 2));
        assert_eq!(Bool::TRUE.larger(Bool::FALSE), Bool::TRUE);
    }

    #[test]
    fn scalars_are_checked_as_in_torch() {
        assert_eq!(element::<u8>(Scalar::Int(-1)).unwrap(), 255);
        assert!(element::<u8>(Scalar::Float(-1.5)).is_err());
        assert!(element::<u8>(Scalar::Int(-256)).is_err());
        assert!(element::<i8>(Scalar::Int(128)).is_err());
        assert_eq!(element::<i32>(Scalar::Float(2.9)).unwrap(), 2);
        assert!(element::<i32>(Scalar::Float(3e9)).is_err());
        assert!(element::<i64>(Scalar::Float(f64::NAN)).is_err());
        let error = element::<half::f16>(Scalar::Float(1e6)).unwrap_err().to_string();
        assert!(error.contains("to Half (float16) without overflow"), "{error}");
        assert!(element::<half::bf16>(Scalar::Int(i64::MAX)).is_ok());
        assert!(element::<f32>(Scalar::Float(f64::INFINITY)).unwrap().is_infinite());
        let i = Scalar::Complex(Complex::new(0.0, 1.0));
        assert!(element::<f32>(i).is_err());
        assert_eq!(element::<Bool>(i).unwrap(), Bool::TRUE);
        assert_eq!(element::<Complex<f32>>(i).unwrap(), Complex::new(0.0, 1.0));
        assert_eq!(element::<i64>(Scalar::Complex(Complex::new(2.0, 0.0))).unwrap(), 2);
    }
}
