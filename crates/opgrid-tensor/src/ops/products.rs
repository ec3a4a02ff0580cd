//! What products of matrices share: the checks of their arguments.

use opgrid_core::{DType, Result};

use super::pointwise;
use crate::error::argument;
use crate::tensor::TensorSpec;

/// # Errors
///
/// Factors of different dtypes or devices.
pub(super) fn check_factors(factors: &[(&str, &TensorSpec)]) -> Result<()> {
    let Some(((first, a), rest)) = factors.split_first() else { return Ok(()) };
    if let Some((name, b)) = rest.iter().find(|(_, b)| (a.dtype(), a.device()) != (b.dtype(), b.device())) {
        let message = format!(
            "argument `{name}` is {} on {}, expected {} on {} as `{first}`; convert one of them",
            b.dtype(),
            b.device(),
            a.dtype(),
            a.device()
        );
        return Err(argument(message));
    }
    Ok(())
}

/// Whether there is a product of elements at all.
pub(super) fn multiplies(a: &TensorSpec, b: &TensorSpec) -> bool {
    a.numel() != 0 && b.numel() != 0
}

/// # Errors
///
/// Bools, which have no product. As in torch, they are not looked at where nothing is multiplied.
pub(super) fn check_numbers(a: &TensorSpec, b: &TensorSpec) -> Result<()> {
    match multiplies(a, b) {
        true => pointwise::check_numbers(a.dtype()),
        false => Ok(()),
    }
}

/// Whether sizes are right for a sample: bools are refused only where something is multiplied.
pub(super) fn is_sample(dtype: DType, sizes: &[i64]) -> bool {
    dtype != DType::Bool || !sizes.contains(&0)
}
