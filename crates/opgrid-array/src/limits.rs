//! The limits of dtypes: range and precision.

use half::{bf16, f16};
use opgrid_core::{DType, Result};

use crate::error::argument;
use crate::with_dtype;

/// Range and precision of a floating-point dtype; of the parts of a complex one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatLimits {
    /// The floating-point dtype.
    pub dtype: DType,
    /// Bits of one number.
    pub bits: u32,
    /// The distance from 1 to the next number.
    pub eps: f64,
    /// The largest finite number.
    pub max: f64,
    /// The smallest finite number, below zero.
    pub min: f64,
    /// The smallest number above zero with full precision.
    pub smallest_normal: f64,
    /// The decimal step that every number near 1 tells apart.
    pub resolution: f64,
}

/// The range of an integer dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerLimits {
    /// The dtype.
    pub dtype: DType,
    /// Bits of one number.
    pub bits: u32,
    /// The largest number.
    pub max: u64,
    /// The smallest number.
    pub min: i64,
}

/// The limits of a floating-point dtype, or of the parts of a complex one.
///
/// # Errors
///
/// Another dtype.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_array::finfo;
///
/// assert_eq!(finfo(DType::F16)?.max, 65504.0);
/// assert_eq!(finfo(DType::Complex64)?.dtype, DType::F32);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn finfo(dtype: DType) -> Result<FloatLimits> {
    let dtype = match dtype {
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        other => other,
    };
    let [eps, max, smallest_normal] = with_dtype!(dtype, T: AnyFloat => Ok([<T as Precision>::EPS, <T as Precision>::MAX, T::SMALLEST_NORMAL]))
        .map_err(|_| {
            argument(format!("finfo: found dtype {dtype}, expected a floating-point one; integers have iinfo"))
        })?;
    // The number of decimal digits that any number keeps.
    let digits = (-eps.log10()).floor() as i32;
    let resolution = 10f64.powi(-digits);
    let bits = dtype.size_in_bytes() as u32 * 8;
    Ok(FloatLimits { dtype, bits, eps, max, min: -max, smallest_normal, resolution })
}

/// What [`finfo`] tells of a type.
pub(super) trait Precision {
    const EPS: f64;
    const MAX: f64;
    const SMALLEST_NORMAL: f64;
}

macro_rules! precision {
    ($($type:ident, $value:ident => $as_f64:expr;)*) => {
        $(impl Precision for $type {
            const EPS: f64 = { let $value = $type::EPSILON; $as_f64 };
            const MAX: f64 = { let $value = $type::MAX; $as_f64 };
            const SMALLEST_NORMAL: f64 = { let $value = $type::MIN_POSITIVE; $as_f64 };
        })*
    };
}

precision! {
    f16, value => value.to_f64_const();
    bf16, value => value.to_f64_const();
    f32, value => value as f64;
    f64, value => value;
}

/// What [`iinfo`] tells of a type.
trait Range {
    const MIN: i64;
    const MAX: u64;
}

macro_rules! range {
    ($($type:ident)*) => {
        $(impl Range for $type {
            const MIN: i64 = $type::MIN as i64;
            const MAX: u64 = $type::MAX as u64;
        })*
    };
}

range! { u8 i8 i16 i32 i64 u16 u32 u64 }

/// The limits of an integer dtype.
///
/// # Errors
///
/// Another dtype.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_array::iinfo;
///
/// assert_eq!((iinfo(DType::U8)?.min, iinfo(DType::U8)?.max), (0, 255));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn iinfo(dtype: DType) -> Result<IntegerLimits> {
    let (min, max) = with_dtype!(dtype, T: Integer by itself => Ok((<T as Range>::MIN, <T as Range>::MAX)))
        .map_err(|_| {
        argument(format!("iinfo: found dtype {dtype}, expected an integer one; floats have finfo"))
    })?;
    Ok(IntegerLimits { dtype, bits: dtype.size_in_bytes() as u32 * 8, max, min })
}
