//! What operators on images share: dtypes, sizes and formats.

use opgrid_core::{DType, MemoryFormat, Result};

use opgrid_array::error::argument;
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::{Dims, Geometry, TensorSpec};

/// The floats that kernels compute with.
pub const FLOATS: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64];

/// Checks that a dtype is floating-point.
///
/// # Errors
///
/// A dtype of none of the [`FLOATS`].
pub fn check_float(dtype: DType) -> Result<()> {
    if FLOATS.contains(&dtype) { Ok(()) } else { Err(unsupported(dtype, "a floating-point dtype")) }
}

/// A list with one number for all dimensions or one for each.
///
/// # Errors
///
/// Another number of them; one that is smaller than `least`.
pub fn numbers(name: &str, list: &[i64], dims: usize, least: i64) -> Result<Dims> {
    if let Some(found) = list.iter().find(|number| **number < least) {
        return Err(argument(format!(
            "argument `{name}` is {list:?}, expected numbers of at least {least}, found {found}"
        )));
    }
    match *list {
        [one] => Ok(Dims::from_elem(one, dims)),
        _ if list.len() == dims => Ok(Dims::from_slice(list)),
        _ => Err(argument(format!("argument `{name}` is {list:?}, expected one number or {dims}"))),
    }
}

/// A result with the dtype, the device and the format of `like`, if it is a batch of images with two dimensions, or
/// with three where `is_deep` says so.
///
/// # Errors
///
/// Sizes beyond 64 bits.
pub fn in_format_of(like: &TensorSpec, sizes: &[i64], is_deep: bool) -> Result<TensorSpec> {
    let format = match like.geometry().suggested_format() {
        MemoryFormat::ChannelsLast3d if !is_deep => MemoryFormat::Contiguous,
        format if sizes.len() == like.sizes().len() => format,
        _ => MemoryFormat::Contiguous,
    };
    Ok(TensorSpec::new(Geometry::in_format(sizes, format)?, like.dtype(), like.device()))
}
