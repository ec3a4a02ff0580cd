//! `aten::_amp_foreach_non_finite_check_and_unscale_`: gradients of a scaled loss as those of the loss itself.
//!
//! `self[k] *= inv_scale` for each `k`; `found_inf = 1` where an element of some `self[k]` was infinite or NaN
//!
//! - Shapes: gradients of any; one number each for `found_inf` and `inv_scale`.
//! - Dtypes: gradients of floating-point ones, which are computed in float32 where they are narrower; float32 for the numbers.
//! - Values: `found_inf` stays what it is where all elements are finite.
//! - Aliasing: writes every tensor of `self` and `found_inf`.
//! - Derivative: none; a step is not part of a graph.
//! - Errors: other dtypes; several numbers in `found_inf` or `inv_scale`.
//! - Source: torch.amp.GradScaler, PyTorch 2.15.

use crate::kinds::optimizers;
use crate::prelude::*;
use opgrid_tensor::ops::{FillInplaceScalar, LinalgVectorNorm};

pub use opgrid_tensor::ops::optimizers::amp_non_finite_check_and_unscale::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(AmpForeachNonFiniteCheckAndUnscaleInplace)
        .kind(&kind::OPTIMIZER)
        .on_cpu_and_meta(unscale)
        .non_differentiable();
}

fn unscale(grads: &[Tensor], found_inf: &Tensor, inv_scale: &Tensor) -> Result<()> {
    optimizers::check(grads, &[])?;
    optimizers::check_number("found_inf", found_inf)?;
    optimizers::check_number("inv_scale", inv_scale)?;
    if [found_inf, inv_scale].into_iter().chain(grads).any(|tensor| tensor.device() != Device::CPU) {
        return Ok(());
    }
    let inv_scale = Scalar::Float(inv_scale.item()?.to_f64()?);
    let mut all_finite = true;
    for grad in grads.iter().filter(|grad| grad.numel() != 0) {
        let largest = LinalgVectorNorm.call(grad, Scalar::Float(f64::INFINITY), None, false, None)?;
        all_finite &= largest.item()?.to_f64()?.is_finite();
        with_dtype!(grad.dtype(), T: Float => {
            let inv_scale = arithmetic::element::<Math<T>>(inv_scale)?;
            elementwise::unary::<T, T>(grad, grad, move |grad| grad.times(inv_scale))
        })?;
    }
    if all_finite { Ok(()) } else { FillInplaceScalar.call(found_inf, Scalar::Float(1.0)) }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(_: &mut Samples) {}
}
