//! The dtype in which an operator computes on inputs of several dtypes.
//!
//! A dtype of a higher kind (bool, integer, floating-point, complex) wins over one of a lower kind always; within a
//! kind, tensors with dimensions win over tensors without, and those over numbers in a tensor's place.
//!
//! Source: torch.result_type, torch.promote_types and torch.can_cast, PyTorch 2.15.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use opgrid_core::{DType, Result};

use super::handle::Tensor;
use super::spec::TensorSpec;
use crate::error::argument;

/// The kinds of dtypes, each holding the values of those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bool,
    Integer,
    Float,
    Complex,
}

#[inline]
fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::Bool => Kind::Bool,
        _ if dtype.is_floating_point() => Kind::Float,
        _ if dtype.is_complex() => Kind::Complex,
        _ => Kind::Integer,
    }
}

/// The smallest dtype that holds what both hold.
///
/// # Errors
///
/// Two different dtypes of which one is quantised or a float of 8 bits; an unsigned integer of more than 8 bits beside
/// what is no float of 16 bits or more.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_tensor::tensor::promote_types;
///
/// assert_eq!(promote_types(DType::I64, DType::F32)?, DType::F32);
/// assert_eq!(promote_types(DType::U8, DType::I8)?, DType::I16);
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
    if [one, other].iter().any(|dtype| dtype.is_wide_unsigned() || dtype.is_float8()) {
        return beside_stored(one, other);
    }
    let (low, high) = if kind(one) <= kind(other) { (one, other) } else { (other, one) };
    if kind(low) == kind(high) {
        return Ok(widest(one, other));
    }
    Ok(match (low, high) {
        // The real parts of a complex number have the precision of the float.
        (DType::F64, DType::Complex64) => DType::Complex128,
        _ => high,
    })
}

/// [`promote_types`] where one of two different dtypes is one that is stored but not computed with.
#[cold]
fn beside_stored(one: DType, other: DType) -> Result<DType> {
    let is_float = |dtype: DType| dtype.is_floating_point() && !dtype.is_float8();
    match (one, other) {
        (integer, float) | (float, integer) if integer.is_wide_unsigned() && is_float(float) => Ok(float),
        _ => Err(argument(format!(
            "{one} and {other} are not promoted to a common dtype; convert one of them by `to`"
        ))),
    }
}

/// The wider one of two different dtypes of one kind, or the next that holds both.
fn widest(one: DType, other: DType) -> DType {
    match (one, other) {
        (DType::F16, DType::BF16) | (DType::BF16, DType::F16) => DType::F32,
        (DType::U8, DType::I8) | (DType::I8, DType::U8) => DType::I16,
        _ if one.size_in_bytes() >= other.size_in_bytes() => one,
        _ => other,
    }
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
/// use opgrid_tensor::tensor::part_of;
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

/// The dtype in which an operator computes on these inputs.
///
/// # Errors
///
/// An undefined tensor; dtypes that do not promote.
#[inline(always)]
pub fn result_type(inputs: &[&Tensor]) -> Result<DType> {
    // Tensors of one dtype need no rules.
    let dtype_of = |input: &Tensor| input.array_spec().map(TensorSpec::dtype);
    if let Some((first, rest)) = inputs.split_first()
        && let Some(dtype) = dtype_of(first)
        && rest.iter().all(|other| dtype_of(other) == Some(dtype))
    {
        return Ok(dtype);
    }
    beside_numbers(inputs)
}

#[inline(never)]
fn beside_numbers(inputs: &[&Tensor]) -> Result<DType> {
    // Nor do numbers beside a tensor of the same or a higher kind.
    if let Some((first, rest)) = inputs.split_first()
        && let Some(spec) = first.array_spec()
    {
        let dtype = spec.dtype();
        let plain = |other: &&Tensor| match other.array_spec() {
            Some(other) => other.dtype() == dtype,
            None => other.is_number() && spec.geometry().dims() > 0 && kind(other.dtype()) <= kind(dtype),
        };
        if rest.iter().all(plain) {
            return Ok(dtype);
        }
    }
    promoted(inputs)
}

#[inline(never)]
fn promoted(inputs: &[&Tensor]) -> Result<DType> {
    let (mut tensors, mut scalars, mut numbers) = (None, None, None);
    for input in inputs {
        let mut dtype = input.spec()?.dtype();
        let place = if input.dim() > 0 {
            &mut tensors
        } else if input.is_number() {
            dtype = of_number(dtype);
            &mut numbers
        } else {
            &mut scalars
        };
        *place = Some(place.map_or(Ok(dtype), |known| promote_types(known, dtype))?);
    }
    let dtype = outweigh(tensors, outweigh(scalars, numbers)?)?;
    dtype.ok_or_else(|| argument("expected at least one tensor to take the dtype from"))
}

/// The dtype a number counts with: the default one of its kind.
fn of_number(dtype: DType) -> DType {
    match kind(dtype) {
        Kind::Bool => DType::Bool,
        Kind::Integer => DType::I64,
        Kind::Float => default_dtype(),
        Kind::Complex => complex_of(default_dtype()),
    }
}

/// `first`, unless `second` is of a higher kind.
fn outweigh(first: Option<DType>, second: Option<DType>) -> Result<Option<DType>> {
    Ok(match (first, second) {
        // The float decides on the precision, as within its kind.
        (Some(first), Some(second)) if kind(first) == Kind::Float && second.is_complex() => {
            Some(complex_of(first))
        }
        (Some(first), Some(second)) if kind(second) > kind(first) => Some(promote_types(first, second)?),
        _ => first.or(second),
    })
}
