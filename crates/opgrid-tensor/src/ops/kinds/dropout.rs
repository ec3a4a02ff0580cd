//! Drops random elements and scales the others, as `dropout` does while training.

use opgrid_core::{DType, Result};

use crate::ops::{DivScalar, MaskedFillScalar, Rand};
use crate::tensor::Tensor;

/// Zeros for elements that are dropped with probability `p`, or where `mask` says so, and the others divided by `1 - p`.
///
/// # Errors
///
/// A mask that does not broadcast to the tensor.
pub(crate) fn dropped(tensor: &Tensor, p: f64, mask: Option<&Tensor>) -> Result<Tensor> {
    let drawn = match mask {
        Some(_) => None,
        None => {
            let device = Some(tensor.device());
            let numbers = Rand.call(tensor.sizes(), Some(DType::F32), None, device, None)?;
            Some(numbers.ge_scalar(p)?.logical_not()?)
        }
    };
    match mask.or(drawn.as_ref()) {
        Some(mask) => DivScalar.call(&MaskedFillScalar.call(tensor, mask, 0.into())?, (1.0 - p).into()),
        None => Ok(tensor.clone()),
    }
}
