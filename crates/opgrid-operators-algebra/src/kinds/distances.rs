//! What distances share: their gradients.

use opgrid_core::Result;

use opgrid_tensor::tensor::Tensor;

/// The gradient of the differences `apart` that distances of order `p` are made of. The gradient of the distances and these
/// themselves broadcast to the differences. It is zero where a distance is.
///
/// # Errors
///
/// Those of the operators that it is made of.
pub(crate) fn by_difference(grad: &Tensor, apart: &Tensor, distances: &Tensor, p: f64) -> Result<Tensor> {
    if p == 0.0 {
        return apart.mul(0)?.mul(grad);
    }
    let direction = if apart.dtype().is_complex() { apart.sgn()? } else { apart.sign()? };
    if p == 1.0 {
        return direction.mul(grad);
    }
    if p.is_infinite() {
        let is_largest = apart.abs()?.eq(distances)?;
        return direction.mul(grad)?.mul(&is_largest.to_dtype(grad.dtype())?);
    }
    let is_zero = distances.eq(0)?;
    let length = distances.masked_fill(&is_zero, 1)?;
    if p == 2.0 {
        return apart.mul(&grad.div(&length)?.masked_fill(&is_zero, 0)?);
    }
    let share = grad.div(&length.pow(p - 1.0)?)?.masked_fill(&is_zero, 0)?;
    let size = apart.abs()?;
    let size = size.masked_fill(&size.eq(0)?, 1)?.pow(p - 1.0)?;
    direction.mul(&size)?.mul(&share)
}
