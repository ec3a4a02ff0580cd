//! The dtype in which an operator computes on inputs of several dtypes.
//!
//! A dtype of a higher kind (bool, integer, floating-point, complex) wins over one of a lower kind always; within a
//! kind, tensors with dimensions win over tensors without, and those over numbers in a tensor's place.
//!
//! Source: torch.result_type, PyTorch 2.15.

use opgrid_array::promote::{Kind, kind};
use opgrid_array::{TensorSpec, complex_of, default_dtype, promote_types};
use opgrid_core::{DType, Result};

use super::handle::Tensor;
use crate::error::argument;

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
