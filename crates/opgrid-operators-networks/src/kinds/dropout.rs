//! Drops random elements and scales the others, as `dropout` does while training.

use opgrid_core::Result;

use opgrid_tensor::ops::{DivScalar, Dropout, MaskedFillScalar};
use opgrid_tensor::tensor::Tensor;

/// Zeros for elements that are dropped with probability `p`, or where `mask` says so, and the others divided by `1 - p`.
///
/// # Errors
///
/// A mask that does not broadcast to the tensor; without one, a number that is no probability.
pub(crate) fn dropped(tensor: &Tensor, p: f64, mask: Option<&Tensor>) -> Result<Tensor> {
    match mask {
        Some(mask) => DivScalar.call(&MaskedFillScalar.call(tensor, mask, 0.into())?, (1.0 - p).into()),
        None => Dropout.call(tensor, p, true),
    }
}
