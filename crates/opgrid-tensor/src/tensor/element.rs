//! Connects Rust types to the dtypes that have data, and picks the Rust type of a dtype at run time.

use std::fmt;

use opgrid_core::DType;

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

    /// This element as one of the types that every dtype converts from.
    fn number(self) -> Number;

    /// The element of this type that `number` converts to, by torch's rules: a float is truncated towards zero on
    /// its way to an integer, and anything but zero is true.
    ///
    /// A float beyond the integer's range becomes the nearest integer and NaN becomes 0, where torch leaves the
    /// result to the processor.
    fn from_number(number: Number) -> Self;

    /// This element converted to `U`.
    #[inline(always)]
    fn cast<U: Element>(self) -> U {
        U::from_number(self.number())
    }
}

/// An element of any dtype, without a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// From `float32`.
    F32(f32),
    /// From `float64`.
    F64(f64),
    /// From `int64`.
    I64(i64),
    /// From `bool`.
    Bool(bool),
}

/// An element of a `bool` tensor: a byte that is true unless it is zero.
///
/// Memory that others have written may hold any byte where 0 or 1 is meant; a Rust `bool` must not be made from it.
///
/// # Examples
///
/// ```
/// use opgrid_tensor::Bool;
///
/// assert!(Bool::from(true).is_true());
/// assert_eq!(Bool::from(false), Bool::default());
/// ```
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
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

impl fmt::Debug for Bool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.is_true())
    }
}

/// Implements [`Element`] for a number type: `as` between numbers, 0 or 1 from a bool.
macro_rules! number {
    ($type:ty, $dtype:ident, $variant:ident) => {
        impl sealed::Sealed for $type {}

        impl Element for $type {
            const DTYPE: DType = DType::$dtype;

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
                    Number::Bool(value) => u8::from(value) as Self,
                }
            }
        }
    };
}

number!(f32, F32, F32);
number!(f64, F64, F64);
number!(i64, I64, I64);

impl sealed::Sealed for Bool {}

impl Element for Bool {
    const DTYPE: DType = DType::Bool;

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
            Number::Bool(value) => value,
        })
    }
}

/// The error for a dtype that a kernel does not take; whoever knows the operator adds its name.
#[cold]
#[inline(never)]
pub fn unsupported(dtype: DType) -> opgrid_core::Error {
    let message = format!("not implemented for dtype {dtype}");
    opgrid_core::Error::new(opgrid_core::ErrorKind::NotImplemented, message)
}

/// Runs one generic body with the Rust type of a dtype that is known at run time only.
///
/// `with_dtype!(dtype, T: Number => body)` expands to
///
/// ```text
/// match dtype {
///     DType::F32 => { type T = f32; body }
///     DType::F64 => { type T = f64; body }
///     DType::I64 => { type T = i64; body }
///     other => Err(unsupported(other)),
/// }
/// ```
///
/// `T: Float` has the first two arms; plain `T` has a fourth, [`Bool`]. The body is a `Result`.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_tensor::{Element, with_dtype};
///
/// let size = with_dtype!(DType::F64, T => Ok::<_, opgrid_core::Error>(size_of::<T>()))?;
/// assert_eq!(size, 8);
/// let error = with_dtype!(DType::Bool, T: Number => Ok(T::DTYPE)).unwrap_err();
/// assert_eq!(error.to_string(), "not implemented for dtype bool");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body,
            [(F32, f32), (F64, f64), (I64, i64), (Bool, $crate::Bool)])
    };
    ($dtype:expr, $T:ident: Number => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, [(F32, f32), (F64, f64), (I64, i64)])
    };
    ($dtype:expr, $T:ident: Float => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, [(F32, f32), (F64, f64)])
    };
    (@arms $dtype:expr, $T:ident, $body:expr, [$(($variant:ident, $type:ty)),*]) => {
        match $dtype {
            $($crate::__private::DType::$variant => {
                type $T = $type;
                $body
            })*
            other => ::core::result::Result::Err($crate::tensor::element::unsupported(other)),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_follow_torch() {
        assert_eq!((-2.7f32).cast::<i64>(), -2);
        assert_eq!(f64::NAN.cast::<i64>(), 0);
        assert_eq!(1e30f64.cast::<i64>(), i64::MAX);
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
