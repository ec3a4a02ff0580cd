//! `aten::_fused_adam_` and `aten::_fused_adamw_`: a step of Adam for many parameters in one call.
//!
//! `m = beta1 * m + (1 - beta1) * grad`, `v = beta2 * v + (1 - beta2) * grad²`,
//! `self -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)`
//!
//! - Shapes: a gradient and averages `m` (`exp_avgs`) and `v` (`exp_avg_sqs`) for each parameter, of its sizes; the number `t` of
//!   each step, counted from one, in `state_steps`.
//! - Dtypes: floating-point ones, one for a parameter and what belongs to it; `state_steps` of any.
//! - Values: `weight_decay * self` is added to the gradient; in `_fused_adamw_` the parameter is scaled by
//!   `1 - lr * weight_decay` instead. With `amsgrad` the largest `v` so far, `max_exp_avg_sqs`, takes the place of `v`. With
//!   `maximize` the step goes along the gradient, not against it. Gradients are divided by `grad_scale`; where `found_inf` is not
//!   zero nothing is done.
//! - Aliasing: writes `self`, `exp_avgs`, `exp_avg_sqs` and `max_exp_avg_sqs`, and with `grad_scale` the gradients.
//! - Derivative: none; a step is not part of a graph.
//! - Errors: lists of another length, tensors of other sizes or dtypes than their parameter.
//! - Source: torch.optim.AdamW with `fused=True`, PyTorch 2.15; Kingma and Ba, 2014; Loshchilov and Hutter, 2017.

use crate::kinds::optimizers;
use crate::prelude::*;

pub use opgrid_tensor::ops::optimizers::fused_adam::*;

/// What a step is made with.
#[derive(Clone, Copy)]
struct Settings {
    lr: f64,
    betas: [f64; 2],
    /// The factor of the parameter that is added to the gradient (L2 penalty).
    weight_decay: f64,
    /// The factor by which parameters are scaled (decoupled weight decay).
    decoupled_decay: f64,
    eps: f64,
    maximize: bool,
}

/// A parameter and what belongs to it.
struct State<'a> {
    parameter: &'a Tensor,
    grad: &'a Tensor,
    mean: &'a Tensor,
    squares: &'a Tensor,
    largest: Option<&'a Tensor>,
    step: f64,
}

pub(super) fn register(library: &mut Library) {
    library
        .define(FusedAdamInplace)
        .kind(&kind::OPTIMIZER)
        .on_cpu_and_meta(step::<false>)
        .non_differentiable();
    library
        .define(FusedAdamwInplace)
        .kind(&kind::OPTIMIZER)
        .on_cpu_and_meta(step::<true>)
        .non_differentiable();
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn step<const DECOUPLED: bool>(
    parameters: &[Tensor],
    grads: &[Tensor],
    means: &[Tensor],
    squares: &[Tensor],
    largest: &[Tensor],
    steps: &[Tensor],
    lr: f64,
    beta1: f64,
    beta2: f64,
    decay: f64,
    eps: f64,
    amsgrad: bool,
    maximize: bool,
    scale: Option<&Tensor>,
    found_inf: Option<&Tensor>,
) -> Result<()> {
    let (weight_decay, decoupled_decay) = if DECOUPLED { (0.0, decay) } else { (decay, 0.0) };
    let settings = Settings { lr, betas: [beta1, beta2], weight_decay, decoupled_decay, eps, maximize };
    let lists = [parameters, grads, means, squares, largest, steps];
    update(lists, amsgrad, settings, [scale, found_inf])
}

fn update(
    [parameters, grads, means, squares, largest, steps]: [&[Tensor]; 6],
    amsgrad: bool,
    settings: Settings,
    [scale, found_inf]: [Option<&Tensor>; 2],
) -> Result<()> {
    optimizers::check(parameters, &[("grads", grads), ("exp_avgs", means), ("exp_avg_sqs", squares)])?;
    if amsgrad {
        optimizers::check(parameters, &[("max_exp_avg_sqs", largest)])?;
    }
    if steps.len() != parameters.len() {
        return Err(argument(format!(
            "argument `state_steps` has {} tensors, expected {}, one for each of `self`",
            steps.len(),
            parameters.len()
        )));
    }
    if parameters.iter().any(|parameter| parameter.device() != Device::CPU)
        || optimizers::is_left_out(found_inf)?
    {
        return Ok(());
    }
    optimizers::unscale(grads, scale)?;
    for (place, parameter) in parameters.iter().enumerate() {
        let state = State {
            parameter,
            grad: &grads[place],
            mean: &means[place],
            squares: &squares[place],
            largest: amsgrad.then(|| &largest[place]),
            step: steps[place].item()?.to_f64()?,
        };
        with_dtype!(parameter.dtype(), T: Float => one::<T>(&state, settings))?;
    }
    Ok(())
}

/// Updates one parameter, in a pass over each of its averages and one over itself.
fn one<T: opgrid_tensor::tensor::Element>(state: &State<'_>, settings: Settings) -> Result<()>
where
    Math<T>: Inexact + Arithmetic,
{
    let number = |value: f64| arithmetic::element::<Math<T>>(Scalar::Float(value));
    let State { parameter, grad, mean, squares, largest, step } = *state;
    let [beta1, beta2] = settings.betas;
    let sign = number(if settings.maximize { -1.0 } else { 1.0 })?;
    let decay = number(settings.weight_decay)?;
    let (keep1, new1, keep2, new2) =
        (number(beta1)?, number(1.0 - beta1)?, number(beta2)?, number(1.0 - beta2)?);
    if settings.weight_decay == 0.0 {
        elementwise::binary::<T, T, T>(mean, mean, grad, move |m, g| {
            m.times(keep1).plus(g.times(sign).times(new1))
        })?;
        elementwise::binary::<T, T, T>(squares, squares, grad, move |v, g| {
            v.times(keep2).plus(g.times(g).times(new2))
        })?;
    } else {
        elementwise::ternary::<T, T, T, T>(mean, mean, grad, parameter, move |m, g, p| {
            m.times(keep1).plus(g.times(sign).plus(p.times(decay)).times(new1))
        })?;
        elementwise::ternary::<T, T, T, T>(squares, squares, grad, parameter, move |v, g, p| {
            let g = g.times(sign).plus(p.times(decay));
            v.times(keep2).plus(g.times(g).times(new2))
        })?;
    }
    let squares = match largest {
        Some(largest) => {
            opgrid_tensor::ops::MaximumOut.call(largest, squares, largest)?;
            largest
        }
        None => squares,
    };
    let shrink = number(1.0 - settings.lr * settings.decoupled_decay)?;
    // Both averages start at zero, which these corrections make up for.
    let rate = number(settings.lr / (1.0 - beta1.powf(step)))?;
    let root = number((1.0 - beta2.powf(step)).sqrt())?;
    let eps = number(settings.eps)?;
    elementwise::ternary::<T, T, T, T>(parameter, parameter, mean, squares, move |p, m, v| {
        p.times(shrink).minus(m.times(rate).over(v.sqrt().over(root).plus(eps)))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(_: &mut Samples) {}
}
