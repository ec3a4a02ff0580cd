//! Divides elements to whole numbers, towards zero or downwards.

use opgrid_core::{DType, Result};

use crate::choice;
use opgrid_array::error::argument;
use opgrid_array::loops::Source;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::elementwise;
use opgrid_array::loops::function::Function;
use opgrid_array::{Array, Bool, TensorSpec};

/// Where a quotient is rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Towards zero.
    Trunc,
    /// Downwards.
    Floor,
}

impl Rounding {
    /// The rounding that a `rounding_mode` names; `None` keeps fractions.
    ///
    /// # Errors
    ///
    /// Another name.
    pub fn named(mode: Option<&str>) -> Result<Option<Self>> {
        match mode {
            None => Ok(None),
            Some("trunc") => Ok(Some(Self::Trunc)),
            Some("floor") => Ok(Some(Self::Floor)),
            Some(other) => {
                let message =
                    format!("argument `rounding_mode` is '{other}', expected None, 'trunc' or 'floor'");
                Err(argument(message))
            }
        }
    }
}

/// A type whose quotients can be rounded. A zero divisor gives 0 for integers: operators refuse it before.
pub trait Division: Arithmetic {
    /// The quotient, rounded towards zero.
    fn truncated(self, other: Self) -> Self;

    /// The quotient, rounded downwards.
    fn floored(self, other: Self) -> Self;

    /// What the quotient that is rounded towards zero leaves; it has the sign of the dividend.
    fn left(self, other: Self) -> Self;

    /// What is left, as a number of the divisor's sign.
    #[inline(always)]
    fn with_sign_of(self, other: Self) -> Self
    where
        Self: PartialOrd,
    {
        let is_other_side = self != Self::ZERO && (self < Self::ZERO) != (other < Self::ZERO);
        if is_other_side { self.plus(other) } else { self }
    }

    /// Whether there are pairs that [`left_near`](Self::left_near) is not for.
    const IS_PARTIAL: bool = false;

    /// Whether [`left_near`](Self::left_near) is for these numbers.
    #[inline(always)]
    fn is_near(self, _other: Self) -> bool {
        true
    }

    /// As [`left`](Self::left), of numbers that are near each other.
    #[inline(always)]
    fn left_near(self, other: Self) -> Self {
        self.left(other)
    }
}

/// What division leaves: with the sign of the divisor where the quotient is rounded downwards, else with that of the
/// dividend.
#[derive(Clone, Copy)]
pub struct Left<const DOWNWARDS: bool>;

impl<T: Division + PartialOrd, const DOWNWARDS: bool> Function<(T, T)> for Left<DOWNWARDS> {
    type Output = T;
    const IS_PARTIAL: bool = T::IS_PARTIAL;

    #[inline(always)]
    fn call(self, (dividend, divisor): (T, T)) -> T {
        let left = dividend.left_near(divisor);
        if DOWNWARDS { left.with_sign_of(divisor) } else { left }
    }

    #[inline(always)]
    fn distance(self, (dividend, divisor): (T, T)) -> u32 {
        u32::from(!dividend.is_near(divisor))
    }

    #[inline(always)]
    fn call_any(self, (dividend, divisor): (T, T)) -> T {
        let left = dividend.left(divisor);
        if DOWNWARDS { left.with_sign_of(divisor) } else { left }
    }
}

/// Divides elements, rounding downwards or towards zero.
#[derive(Clone, Copy)]
pub struct Divide<const DOWNWARDS: bool>;

impl<T: Division, const DOWNWARDS: bool> Function<(T, T)> for Divide<DOWNWARDS> {
    type Output = T;

    #[inline(always)]
    fn call(self, (dividend, divisor): (T, T)) -> T {
        if DOWNWARDS { dividend.floored(divisor) } else { dividend.truncated(divisor) }
    }
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl Division for $type {
            #[inline(always)]
            fn truncated(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }

            #[inline(always)]
            #[allow(unused_comparisons, reason = "the same body for signed and unsigned types")]
            fn floored(self, other: Self) -> Self {
                let quotient = self.truncated(other);
                let inexact = quotient.wrapping_mul(other) != self;
                if inexact && (self < 0) != (other < 0) { quotient.wrapping_sub(1) } else { quotient }
            }

            #[inline(always)]
            fn left(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
        })*
    };
}

integers!(u8, i8, i16, i32, i64, u64);

macro_rules! floats {
    ($($type:ty, $remainder:ident below $quotient:literal;)*) => {
        $(impl Division for $type {
            #[inline(always)]
            fn truncated(self, other: Self) -> Self {
                (self / other).trunc()
            }

            /// By way of the remainder, so that a quotient just below a whole number is not rounded up to it first.
            #[inline(always)]
            fn floored(self, other: Self) -> Self {
                let remainder = $remainder(self, other);
                let mut quotient = (self - remainder) / other;
                quotient -= if remainder != 0.0 && (other < 0.0) != (remainder < 0.0) { 1.0 } else { 0.0 };
                let whole = quotient.floor();
                let whole = if quotient - whole > 0.5 { whole + 1.0 } else { whole };
                let signed = if quotient == 0.0 { (0.0 as $type).copysign(self / other) } else { whole };
                if other == 0.0 { self / other } else { signed }
            }

            #[inline]
            fn left(self, other: Self) -> Self {
                self % other
            }

            const IS_PARTIAL: bool = true;

            /// NaN is not near, nor is anything to zero or infinity to anything.
            #[inline(always)]
            fn is_near(self, other: Self) -> bool {
                self.abs() < other.abs() * $quotient
            }

            #[inline(always)]
            fn left_near(self, other: Self) -> Self {
                $remainder(self, other).copysign(self)
            }
        })*
    };
}

floats! {
    f32, remainder_f32 below 268_435_456.0;
    f64, remainder_f64 below 4_503_599_627_370_496.0;
}

/// What is left of a division towards zero, where the quotient is below 2^29; above, a number that is too small to
/// change it. Without a call, so that loops become vector code.
#[inline(always)]
fn remainder_f32(a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let quotient = (x / y).trunc();
    // Both are exact: the product has 29 and 24 bits, the difference is a multiple of the last bit of a factor.
    let left = x - quotient * y;
    let exact = quotient.abs() < (1u64 << 29) as f64;
    let finite = if exact { (left + correction(x, y, left)) as f32 } else { 0.0 };
    let result = if b.is_infinite() { a } else { finite };
    if a.is_infinite() { f32::NAN } else { result }
}

/// Returns the remainder for quotients below 2^53.
#[inline(always)]
fn remainder_f64(a: f64, b: f64) -> f64 {
    let quotient = (a / b).trunc();
    let left = quotient.mul_add(-b, a);
    let exact = quotient.abs() < (1u64 << 53) as f64;
    let finite = if exact { left + correction(a, b, left) } else { 0.0 };
    let result = if b.is_infinite() { a } else { finite };
    if a.is_infinite() { f64::NAN } else { result }
}

/// What makes up for a quotient that was rounded up: then what is left has the other sign than the dividend.
#[inline(always)]
fn correction(a: f64, b: f64, left: f64) -> f64 {
    if left != 0.0 && (left < 0.0) != (a < 0.0) { b.abs().copysign(a) } else { 0.0 }
}

/// Checks that integers are not divided by zero.
///
/// # Errors
///
/// A divisor that is zero, or is once it is converted to the integers that are divided.
pub fn check_no_zero(divisor: Source<'_>, spec: &TensorSpec, dtype: DType) -> Result<()> {
    let converted = if spec.dtype() == dtype {
        None
    } else {
        Some(Array::empty(TensorSpec::contiguous(spec.sizes(), dtype, spec.device())?)?)
    };
    let all = Array::empty(TensorSpec::contiguous(&[], DType::Bool, spec.device())?)?;
    match &converted {
        Some(converted) => {
            elementwise::copy(converted, &divisor)?;
            choice::all(&all, converted, &[])?;
        }
        None => choice::all(&all, &divisor, &[])?,
    }
    match all.to_vec::<Bool>()?.as_slice() {
        [found] if found.is_true() => Ok(()),
        _ => {
            let message = format!(
                "argument `other` has a zero as {dtype}, and integers cannot be divided by zero; \
                 divide floats"
            );
            Err(argument(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_to_the_named_side() {
        assert_eq!(((-7i64).truncated(2), (-7i64).floored(2), 7i64.floored(-2)), (-3, -4, -4));
        assert_eq!((7u8.floored(2), i32::MIN.floored(-1), i32::MIN.truncated(-1)), (3, i32::MIN, i32::MIN));
        assert_eq!(
            ((-7.5f64).truncated(2.0), (-7.5f64).floored(2.0), 1.0f64.floored(0.1)),
            (-3.0, -4.0, 9.0)
        );
        assert!(0.0f32.floored(-1.0).is_sign_negative());
        assert_eq!((5.0f32.floored(f32::INFINITY), (-5.0f64).floored(f64::INFINITY)), (0.0, -1.0));
        assert!(f32::INFINITY.floored(2.0).is_nan() && f64::NAN.floored(2.0).is_nan());
        assert_eq!(1.0f32.floored(0.0), f32::INFINITY);
    }

    #[test]
    fn remainders_are_those_of_the_standard_library() {
        let mut bits = 1u64;
        let mut next = || {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bits
        };
        for _ in 0..200_000 {
            let (a, b) = (f32::from_bits((next() >> 32) as u32), f32::from_bits((next() >> 32) as u32));
            if a.is_finite() && b.is_finite() && (a / b).abs() < 5e8 {
                assert_eq!(remainder_f32(a, b), a % b, "{a:e} % {b:e}");
            }
            let (a, b) = (next() as i64 as f64, (next() >> (next() % 50)) as f64 + 0.5);
            if (a / b).abs() < 9e15 {
                assert_eq!(remainder_f64(a, b), a % b, "{a:e} % {b:e}");
            }
        }
        assert_eq!((remainder_f32(6.0, 0.1), remainder_f64(6.0, 0.1)), (6.0 % 0.1, 6.0 % 0.1));
    }

    #[test]
    fn unknown_modes_are_refused() {
        let error = Rounding::named(Some("up")).unwrap_err().to_string();
        assert_eq!(error, "argument `rounding_mode` is 'up', expected None, 'trunc' or 'floor'");
    }
}
