//! Divides elements to whole numbers, towards zero or downwards.

use opgrid_core::Result;

use super::arithmetic::Arithmetic;
use super::choice;
use crate::error::argument;
use crate::tensor::{Array, Bool, Tensor, TensorSpec};

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
        })*
    };
}

integers!(u8, i8, i16, i32, i64);

macro_rules! floats {
    ($($type:ty),*) => {
        $(impl Division for $type {
            #[inline(always)]
            fn truncated(self, other: Self) -> Self {
                (self / other).trunc()
            }

            /// By way of the remainder, so that a quotient just below a whole number is not rounded up to it first.
            #[inline(always)]
            fn floored(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                let remainder = self % other;
                let mut quotient = (self - remainder) / other;
                if remainder != 0.0 && (other < 0.0) != (remainder < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return (0.0 as $type).copysign(self / other);
                }
                let whole = quotient.floor();
                if quotient - whole > 0.5 { whole + 1.0 } else { whole }
            }
        })*
    };
}

floats!(f32, f64);

/// # Errors
///
/// A divisor of zero among integers.
pub(crate) fn check_no_zero(divisor: &Tensor) -> Result<()> {
    let spec = divisor.spec()?;
    let all = Array::empty(TensorSpec::contiguous(&[], opgrid_core::DType::Bool, spec.device())?)?;
    choice::all(&all, divisor, &[])?;
    match all.to_vec::<Bool>()?.as_slice() {
        [found] if found.is_true() => Ok(()),
        _ => Err(argument("argument `other` has a zero, by which integers cannot be divided; divide floats")),
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
        assert_eq!(1.0f32.floored(0.0), f32::INFINITY);
    }

    #[test]
    fn unknown_modes_are_refused() {
        let error = Rounding::named(Some("up")).unwrap_err().to_string();
        assert_eq!(error, "argument `rounding_mode` is 'up', expected None, 'trunc' or 'floor'");
    }
}
