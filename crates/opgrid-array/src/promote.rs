//! The dtype that holds what two dtypes hold, and the default dtype.
//!
//! A dtype of a higher kind (bool, integer, floating-point, complex) wins over one of a lower kind always.
//!
//! Source: torch.result_type, torch.promote_types and torch.can_cast, PyTorch 2.15.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use opgrid_core::{DType, Error, Result};

use crate::error::argument;

/// The kinds of dtypes, each holding the values of those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Truth values.
    Bool,
    /// Integers of any width.
    Integer,
    /// Floating-point numbers.
    Float,
    /// Complex numbers.
    Complex,
}

/// The kind of a dtype.
#[inline]
pub fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::Bool => Kind::Bool,
        _ if dtype.is_floating_point() => Kind::Float,
        _ if dtype.is_complex() => Kind::Complex,
        _ => Kind::Integer,
    }
}

/// The smallest dtype that holds what both hold.
///
/// Torch has no common dtype for an unsigned integer of more than 8 bits and a bool, another integer or a complex number. Here
/// they have that of the array API standard (2025.12).
///
/// # Errors
///
/// Two different dtypes of which one is quantised or a float of 8 bits; uint64 beside a signed integer, because no integer
/// holds both.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_array::promote_types;
///
/// assert_eq!(promote_types(DType::I64, DType::F32)?, DType::F32);
/// assert_eq!(promote_types(DType::U8, DType::I8)?, DType::I16);
/// assert_eq!(promote_types(DType::U32, DType::I8)?, DType::I64);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn promote_types(one: DType, other: DType) -> Result<DType> {
    if one == other {
        return Ok(one);
    }
    if one.is_quantized() || other.is_quantized() {
        let message = format!("no dtype holds {one} and {other}; dequantise the tensor first");
        return Err(argument(message));
    }
    if one.is_float8() || other.is_float8() {
        return Err(without_common(one, other));
    }
    let (low, high) = if kind(one) <= kind(other) { (one, other) } else { (other, one) };
    Ok(match (kind(low), kind(high)) {
        (Kind::Integer, Kind::Integer) => common_integer(one, other)?,
        (Kind::Float, Kind::Float) if one.size_in_bytes() == other.size_in_bytes() => DType::F32,
        (one_kind, other_kind) if one_kind == other_kind => wider(one, other),
        // The real parts of a complex number have the precision of the float.
        (Kind::Float, Kind::Complex) if low == DType::F64 => DType::Complex128,
        _ => high,
    })
}

#[cold]
fn without_common(one: DType, other: DType) -> Error {
    argument(format!("{one} and {other} are not promoted to a common dtype; convert one of them by `to`"))
}

/// The integer dtype that holds two different ones.
///
/// # Errors
///
/// There is none.
fn common_integer(one: DType, other: DType) -> Result<DType> {
    let (unsigned, signed) = match (one.is_signed(), other.is_signed()) {
        (false, true) => (one, other),
        (true, false) => (other, one),
        _ => return Ok(wider(one, other)),
    };
    let holds_unsigned = match unsigned {
        DType::U8 => DType::I16,
        DType::U16 => DType::I32,
        DType::U32 => DType::I64,
        _ => return Err(without_common(one, other)),
    };
    Ok(wider(holds_unsigned, signed))
}

fn wider(one: DType, other: DType) -> DType {
    if one.size_in_bytes() >= other.size_in_bytes() { one } else { other }
}

/// Whether results of dtype `from` may be written to a tensor of dtype `to`: to the same or a higher kind.
pub fn can_cast(from: DType, to: DType) -> bool {
    kind(from) <= kind(to)
}

/// The dtype of floats that nobody has given one, as a number.
static DEFAULT: AtomicI64 = AtomicI64::new(DType::F32 as i64);

/// The dtype of new tensors of floats and of floats in a tensor's place: float32 unless it was set.
#[inline]
pub fn default_dtype() -> DType {
    match DEFAULT.load(Relaxed) {
        F32 => DType::F32,
        other => DType::from_number(other).unwrap_or(DType::F32),
    }
}

const F32: i64 = DType::F32 as i64;

/// Sets [`default_dtype`] for all threads.
///
/// # Errors
///
/// A dtype that is not a floating-point one.
pub fn set_default_dtype(dtype: DType) -> Result<()> {
    if !dtype.is_floating_point() {
        let message = format!("only floating-point types are supported as the default type, found {dtype}");
        return Err(argument(message));
    }
    DEFAULT.store(dtype.number(), Relaxed);
    Ok(())
}

/// The complex dtype whose parts have at least the precision of `dtype`.
/// Torch has complex dtypes of two 16-bit floats; here the next wider one stands for them.
pub fn complex_of(dtype: DType) -> DType {
    match dtype {
        DType::F64 | DType::Complex128 => DType::Complex128,
        _ => DType::Complex64,
    }
}

/// The dtype of the parts of complex numbers; another one is its own.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_array::part_of;
///
/// assert_eq!(part_of(DType::Complex64), DType::F32);
/// assert_eq!(part_of(DType::I8), DType::I8);
/// ```
pub fn part_of(dtype: DType) -> DType {
    match dtype {
        DType::Complex64 => DType::F32,
        DType::Complex128 => DType::F64,
        other => other,
    }
}

/// The floating-point dtype in which functions such as `exp` give results for inputs of `dtype`: itself, or the
/// default one for integers and bools.
pub fn inexact(dtype: DType) -> DType {
    if kind(dtype) >= Kind::Float { dtype } else { default_dtype() }
}
