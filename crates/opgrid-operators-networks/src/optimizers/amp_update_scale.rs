//! `aten::_amp_update_scale_`: the scale of a loss after a step.
//!
//! `self *= scale_backoff_factor` where `found_inf` is not zero, else `self *= scale_growth_factor` in each `growth_interval`th step
//!
//! - Shapes: one number each.
//! - Dtypes: float32 for `self` and `found_inf`, int32 for `growth_tracker`.
//! - Values: `growth_tracker` counts the steps since the last change. A scale that would become infinite stays.
//! - Aliasing: writes `self`, which it returns, and `growth_tracker`.
//! - Derivative: none; a step is not part of a graph.
//! - Errors: several numbers, other dtypes.
//! - Source: torch.amp.GradScaler, PyTorch 2.15.

use crate::kinds::optimizers;
use crate::prelude::*;
use opgrid_tensor::ops::FillInplaceScalar;

pub use opgrid_tensor::ops::optimizers::amp_update_scale::*;

pub(super) fn register(library: &mut Library) {
    library.define(AmpUpdateScaleInplace).kind(&kind::OPTIMIZER).on_cpu_and_meta(update).non_differentiable();
}

fn update(
    scale: &Tensor,
    growth_tracker: &Tensor,
    found_inf: &Tensor,
    growth: f64,
    backoff: f64,
    interval: i64,
) -> Result<()> {
    optimizers::check_number("self", scale)?;
    optimizers::check_number("found_inf", found_inf)?;
    if growth_tracker.numel() != 1 || growth_tracker.dtype() != DType::I32 {
        return Err(argument(format!(
            "argument `growth_tracker` has sizes {:?} and dtype {}, expected one number of int32",
            growth_tracker.sizes(),
            growth_tracker.dtype()
        )));
    }
    if [scale, growth_tracker, found_inf].iter().any(|tensor| tensor.device() != Device::CPU) {
        return Ok(());
    }
    let before = scale.item()?.to_f32()?;
    let (factor, steps) = match growth_tracker.item()?.to_i64()?.wrapping_add(1) {
        _ if found_inf.item()?.to_f32()? != 0.0 => (backoff, 0),
        steps if steps == interval => (growth, 0),
        steps => (1.0, steps),
    };
    let after = before * factor as f32;
    if after != before && (after.is_finite() || factor == backoff) {
        FillInplaceScalar.call(scale, Scalar::Float(after.into()))?;
    }
    FillInplaceScalar.call(growth_tracker, Scalar::Int(steps))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(_: &mut Samples) {}
}
