//! The limits of dtypes: range and precision.

use half::{bf16, f16};
use opgrid_core::{DType, Result};

use super::element::Element;
use crate::error::argument;

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
/// use opgrid_tensor::tensor::finfo;
///
/// assert_eq!(finfo(DType::F16)?.max, 65504.0);
/// assert_eq!(finfo(DType::Complex64)?.dtype, DType::F32);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn finfo(dtype: DType) -> Result<FloatLimits> {
    let (dtype, eps, max, smallest_normal) = match dtype {
        DType::F16 => (dtype, of(f16::EPSILON), of(f16::MAX), of(f16::MIN_POSITIVE)),
        DType::BF16 => (dtype, of(bf16::EPSILON), of(bf16::MAX), of(bf16::MIN_POSITIVE)),
        DType::F32 | DType::Complex64 => (DType::F32, of(f32::EPSILON), of(f32::MAX), of(f32::MIN_POSITIVE)),
        DType::F8E5M2 => (dtype, 0.25, 57344.0, 2f64.powi(-14)),
        DType::F8E4M3 => (dtype, 0.125, 448.0, 2f64.powi(-6)),
        DType::F64 | DType::Complex128 => (DType::F64, f64::EPSILON, f64::MAX, f64::MIN_POSITIVE),
        other => {
            let message =
                format!("finfo: found dtype {other}, expected a floating-point one; integers have iinfo");
            return Err(argument(message));
        }
    };
    // The number of decimal digits that any number keeps.
    let digits = (-eps.log10()).floor() as i32;
    let resolution = 10f64.powi(-digits);
    let bits = dtype.size_in_bytes() as u32 * 8;
    Ok(FloatLimits { dtype, bits, eps, max, min: -max, smallest_normal, resolution })
}

fn of(value: impl Element) -> f64 {
    value.cast()
}

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
/// use opgrid_tensor::tensor::iinfo;
///
/// assert_eq!((iinfo(DType::U8)?.min, iinfo(DType::U8)?.max), (0, 255));
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn iinfo(dtype: DType) -> Result<IntegerLimits> {
    let (min, max) = match dtype {
        DType::U8 => (0, u8::MAX.into()),
        DType::U16 => (0, u16::MAX.into()),
        DType::U32 => (0, u32::MAX.into()),
        DType::U64 => (0, u64::MAX),
        DType::I8 => (i8::MIN.into(), i8::MAX as u64),
        DType::I16 => (i16::MIN.into(), i16::MAX as u64),
        DType::I32 => (i32::MIN.into(), i32::MAX as u64),
        DType::I64 => (i64::MIN, i64::MAX as u64),
        other => {
            let message = format!("iinfo: found dtype {other}, expected an integer one; floats have finfo");
            return Err(argument(message));
        }
    };
    Ok(IntegerLimits { dtype, bits: dtype.size_in_bytes() as u32 * 8, max, min })
}
