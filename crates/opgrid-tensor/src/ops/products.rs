//! What products of matrices share: the checks of their arguments.

use opgrid_core::{DType, Result};

use super::pointwise;
use crate::error::argument;
use crate::tensor::TensorSpec;

/// # Errors
///
/// Factors of different dtypes or devices, or of bools, which have no product: also where there is nothing to multiply.
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
    pointwise::check_numbers(a.dtype())
}

/// Whether sizes are right for a sample: bools are refused only where something is multiplied.
pub(super) fn is_sample(dtype: DType, sizes: &[i64]) -> bool {
    dtype != DType::Bool || !sizes.contains(&0)
}
