//! The dtype in which an operator computes on inputs of several dtypes.
//!
//! A dtype of a higher kind (bool, integer, floating-point, complex) wins over one of a lower kind always; within a
//! kind, tensors with dimensions win over tensors without, and those over numbers in a tensor's place.
//!
//! Source: torch.result_type, torch.promote_types and torch.can_cast, PyTorch 2.15.

use opgrid_core::{DType, Result};

use super::handle::Tensor;
use crate::error::argument;

/// The kinds of dtypes, each holding the values of those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Bool,
    Integer,
    Float,
    Complex,
}

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
/// Two different dtypes of which one is quantised.
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

/// The dtype in which an operator computes on these inputs.
///
/// # Errors
///
/// An undefined tensor; dtypes that do not promote.
pub fn result_type(inputs: &[&Tensor]) -> Result<DType> {
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
        Kind::Float => DType::F32,
        Kind::Complex => DType::Complex64,
    }
}

/// `first`, unless `second` is of a higher kind.
fn outweigh(first: Option<DType>, second: Option<DType>) -> Result<Option<DType>> {
    Ok(match (first, second) {
        // The float decides on the precision, as within its kind.
        (Some(DType::F64), Some(second)) if second.is_complex() => Some(DType::Complex128),
        (Some(first), Some(second)) if first.is_floating_point() && second.is_complex() => {
            Some(DType::Complex64)
        }
        (Some(first), Some(second)) if kind(second) > kind(first) => Some(promote_types(first, second)?),
        _ => first.or(second),
    })
}
