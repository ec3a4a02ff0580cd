//! Copies elements between geometries and dtypes.

use opgrid_core::Result;

use super::elementwise;
use crate::{Array, TensorSpec};

/// Writes `input`, stretched and converted, to `out`.
///
/// Conversions are those of [`Element::from_number`](crate::Element::from_number). Copying a tensor to itself does
/// nothing.
///
/// # Errors
///
/// As [`elementwise::unary`]; a dtype without data.
pub fn copy(out: &Array, input: &Array) -> Result<()> {
    elementwise::copy(out, input)
}

/// A new row-major tensor with the elements of `input`.
///
/// # Errors
///
/// As [`copy`]; no memory.
pub fn contiguous(input: &Array) -> Result<Array> {
    let out = Array::empty(TensorSpec::contiguous(input.sizes(), input.dtype(), input.device())?)?;
    if input.storage().has_data() {
        copy(&out, input)?;
    }
    Ok(out)
}

/// Returns the elements in row-major order: the array itself if it is row-major, otherwise a copy.
///
/// # Errors
///
/// As [`contiguous`].
pub fn rows(input: &Array) -> Result<Array> {
    if input.geometry().is_contiguous() { Ok(input.clone()) } else { contiguous(input) }
}

/// The values, or a copy of them where they lie in the memory that is written: guards are for whole storages.
///
/// # Errors
///
/// As [`contiguous`].
pub fn apart_from(out: &Array, values: &Array) -> Result<Array> {
    if values.storage().is_same(out.storage()) { contiguous(values) } else { Ok(values.clone()) }
}
