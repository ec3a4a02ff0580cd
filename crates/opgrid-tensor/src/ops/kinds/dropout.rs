//! Drops random elements and scales the others, as `dropout` does while training.

use opgrid_core::{DType, Result};

use crate::error::argument;
use crate::ops::{DivScalar, MaskedFillScalar, Rand};
use crate::tensor::Tensor;

/// Zeros for elements that are dropped with probability `p`, or where `mask` says so, and the others divided by `1 - p`.
///
/// # Errors
///
/// A mask that does not broadcast to the tensor; without one, a number that is no probability.
pub(crate) fn dropped(tensor: &Tensor, p: f64, mask: Option<&Tensor>) -> Result<Tensor> {
    let drawn = match mask {
        Some(_) => None,
        None => {
            if !(0.0..=1.0).contains(&p) {
                return Err(argument(format!("elements are dropped by {p}, expected a probability, 0 to 1")));
            }
            // The others, of which there are none, would be divided by zero.
            if p == 1.0 {
                return tensor.mul_scalar(0.0);
            }
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
