//! What products of matrices share: the checks of their arguments.

use opgrid_core::{DType, Result};

use crate::error::argument;
use crate::tensor::TensorSpec;
use crate::tensor::choose::unsupported;

/// # Errors
///
/// Factors of different dtypes or devices; bools.
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
    if a.dtype() == DType::Bool {
        return Err(unsupported(a.dtype(), "a dtype of numbers"));
    }
    Ok(())
}
