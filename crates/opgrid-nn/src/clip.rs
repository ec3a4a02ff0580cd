//! Bounds on gradients.

use opgrid_core::{Result, Scalar};
use opgrid_tensor::layers::autograd::no_grad;
use opgrid_tensor::{Tensor, ops};

/// The norm of all elements of several tensors, as a tensor with one element; 0 of none.
///
/// # Errors
///
/// Those of `aten::linalg_vector_norm`, such as tensors of integers.
pub fn total_norm(tensors: &[Tensor], order: f64) -> Result<Tensor> {
    let norm = |tensor: &Tensor| ops::LinalgVectorNorm.call(tensor, Scalar::Float(order), None, false, None);
    let norms = tensors.iter().map(norm).collect::<Result<Vec<_>>>()?;
    if norms.is_empty() {
        return Tensor::from_slice(&[0.0f32], ());
    }
    norm(&Tensor::stack(&norms, 0)?)
}

/// Scales the gradients of parameters in place so that the Euclidean norm of all of them is at most `max_norm`.
///
/// Returns the norm before, a tensor with one element. Parameters without a gradient are passed over.
///
/// # Errors
///
/// Those of [`total_norm`].
///
/// # Examples
///
/// ```
/// use opgrid_nn::clip_grad_norm_;
/// use opgrid::Tensor;
///
/// let x = Tensor::from_slice(&[1.5f64, 2.0], &[2])?;
/// x.requires_grad_(true)?;
/// x.mul(&x)?.sum()?.backward()?;
/// assert_eq!(clip_grad_norm_(&[x.clone()], 1.0)?.to_vec::<f64>()?, [5.0]);
/// assert!((x.grad().unwrap().to_vec::<f64>()?[0] - 0.6).abs() < 1e-6);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn clip_grad_norm_(parameters: &[Tensor], max_norm: f64) -> Result<Tensor> {
    let grads: Vec<Tensor> = parameters.iter().filter_map(Tensor::grad).collect();
    no_grad(|| {
        let total = total_norm(&grads, 2.0)?;
        // Always multiplied, if only by one: a comparison would wait for the device.
        let factor = total.add(1e-6)?.reciprocal()?.mul(max_norm)?.clamp_max(1.0)?;
        for grad in &grads {
            grad.mul_(&factor)?;
        }
        Ok(total)
    })
}

/// Clamps the gradients of parameters in place to `±limit`.
///
/// # Errors
///
/// Those of `aten::clamp_`.
pub fn clip_grad_value_(parameters: &[Tensor], limit: f64) -> Result<()> {
    no_grad(|| {
        for grad in parameters.iter().filter_map(Tensor::grad) {
            grad.clamp_(Some(Scalar::Float(-limit)), Some(Scalar::Float(limit)))?;
        }
        Ok(())
    })
}
