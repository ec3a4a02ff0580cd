//! The arithmetic of elements: integers wrap around, bools are added by "or" and multiplied by "and".

use opgrid_core::{Result, Scalar};

use crate::error::argument;
use crate::tensor::{Bool, Element, Number};

/// An element type that can be added, multiplied and negated.
pub trait Arithmetic: Element {
    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The product.
    fn times(self, other: Self) -> Self;

    /// The negative; a bool stays what it is.
    fn negated(self) -> Self;
}

macro_rules! float {
    ($($type:ty),*) => {
        $(impl Arithmetic for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
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

float!(f32, f64);

impl Arithmetic for i64 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
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

impl Arithmetic for Bool {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self::from(self.is_true() | other.is_true())
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

/// The number behind a scalar.
///
/// # Errors
///
/// A complex scalar.
pub(crate) fn number(value: Scalar) -> Result<Number> {
    match value {
        Scalar::Int(value) => Ok(Number::I64(value)),
        Scalar::Float(value) => Ok(Number::F64(value)),
        Scalar::Bool(value) => Ok(Number::Bool(value)),
        Scalar::Complex(_) => Err(argument(format!("value {value} is complex, expected a real number"))),
    }
}

/// The element that a scalar argument converts to; fractions are cut off on the way to an integer, as in torch.
///
/// # Errors
///
/// A complex scalar; a number beyond the range of the dtype.
pub fn element<T: Element>(value: Scalar) -> Result<T> {
    let fits = match (value, T::DTYPE) {
        (Scalar::Float(value), opgrid_core::DType::I64) => (-(2f64.powi(63))..2f64.powi(63)).contains(&value),
        (Scalar::Float(value), opgrid_core::DType::F32) => {
            !value.is_finite() || value.abs() <= f64::from(f32::MAX)
        }
        _ => true,
    };
    if !fits {
        let message = format!("value {value} cannot be converted to {} without overflow", T::DTYPE);
        return Err(argument(message));
    }
    Ok(T::from_number(number(value)?))
}
