//! `aten::_fused_sgd_`: a step of stochastic gradient descent for many parameters in one call.
//!
//! `v = momentum * v + (1 - dampening) * grad`, `self -= lr * v`
//!
//! - Shapes: a gradient for each parameter, of its sizes; with momentum a buffer `v` of these sizes.
//! - Dtypes: floating-point ones, one for a parameter and what belongs to it.
//! - Values: `weight_decay * self` is added to the gradient first. In the first step `v` is the gradient. With `nesterov` the step
//!   goes along `grad + momentum * v`; with `maximize` along the gradient, not against it. Gradients are divided by
//!   `grad_scale`; where `found_inf` is not zero nothing is done.
//! - Aliasing: writes `self`, with momentum the buffers, and with `grad_scale` the gradients.
//! - Derivative: none; a step is not part of a graph.
//! - Errors: lists of another length, tensors of other sizes or dtypes than their parameter.
//! - Source: torch.optim.SGD with `fused=True`, PyTorch 2.15.

use crate::kinds::optimizers;
use crate::prelude::*;

pub use opgrid_tensor::ops::optimizers::fused_sgd::*;

/// What a step is made with.
#[derive(Clone, Copy)]
struct Settings {
    weight_decay: f64,
    momentum: f64,
    lr: f64,
    dampening: f64,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
}

pub(super) fn register(library: &mut Library) {
    library
        .define(FusedSgdInplace)
        .kind(&kind::OPTIMIZER)
        .on_cpu_and_meta(
            |parameters,
             grads,
             buffers,
             weight_decay,
             momentum,
             lr,
             dampening,
             nesterov,
             maximize,
             is_first_step,
             scale,
             found| {
                let settings =
                    Settings { weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step };
                update([parameters, grads, buffers], settings, [scale, found])
            },
        )
        .non_differentiable();
}

fn update(
    [parameters, grads, buffers]: [&[Tensor]; 3],
    settings: Settings,
    [scale, found_inf]: [Option<&Tensor>; 2],
) -> Result<()> {
    optimizers::check(parameters, &[("grads", grads)])?;
    let has_momentum = settings.momentum != 0.0;
    if has_momentum {
        optimizers::check(parameters, &[("momentum_buffer_list", buffers)])?;
    }
    if parameters.iter().any(|parameter| parameter.device() != Device::CPU)
        || optimizers::is_left_out(found_inf)?
    {
        return Ok(());
    }
    optimizers::unscale(grads, scale)?;
    for (place, (parameter, grad)) in parameters.iter().zip(grads).enumerate() {
        let buffer = has_momentum.then(|| &buffers[place]);
        with_dtype!(parameter.dtype(), T: Float => one::<T>(parameter, grad, buffer, settings))?;
    }
    Ok(())
}

/// Updates one parameter, in a pass over its buffer, if it has one, and one over itself.
fn one<T: opgrid_tensor::tensor::Element>(
    parameter: &Tensor,
    grad: &Tensor,
    buffer: Option<&Tensor>,
    settings: Settings,
) -> Result<()>
where
    Math<T>: Inexact + Arithmetic,
{
    let number = |value: f64| arithmetic::element::<Math<T>>(Scalar::Float(value));
    let sign = number(if settings.maximize { -1.0 } else { 1.0 })?;
    let (decay, lr) = (number(settings.weight_decay)?, number(settings.lr)?);
    let Some(buffer) = buffer else {
        return elementwise::binary::<T, T, T>(parameter, parameter, grad, move |p, g| {
            p.minus(g.times(sign).plus(p.times(decay)).times(lr))
        });
    };
    let (keep, new) = (number(settings.momentum)?, number(1.0 - settings.dampening)?);
    if settings.is_first_step {
        // What is in the buffer counts for nothing, were it NaN.
        elementwise::binary::<T, T, T>(buffer, grad, parameter, move |g, p| {
            g.times(sign).plus(p.times(decay))
        })?
    } else {
        elementwise::ternary::<T, T, T, T>(buffer, buffer, grad, parameter, move |v, g, p| {
            v.times(keep).plus(g.times(sign).plus(p.times(decay)).times(new))
        })?
    }
    if settings.nesterov {
        elementwise::ternary::<T, T, T, T>(parameter, parameter, grad, buffer, move |p, g, v| {
            p.minus(g.times(sign).plus(p.times(decay)).plus(v.times(keep)).times(lr))
        })
    } else {
        elementwise::binary::<T, T, T>(parameter, parameter, buffer, move |p, v| p.minus(v.times(lr)))
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(_: &mut Samples) {}
}
