//! `aten::smooth_l1_loss`, `aten::smooth_l1_loss_backward`: sizes of differences, squares of small ones, and the gradient of the input.
//!
//! `loss[i] = d^2 / (2 beta) if d < beta, d - beta / 2 otherwise, with d = |self[i] - target[i]|`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says;
//! `grad_input[i] = min(max((self[i] - target[i]) / beta, -1), 1) * grad_output[i]`, over the number of elements of `self` for a mean
//!
//! - Shapes: `self` and `target` broadcast, and `grad_output` to them; none with a reduction.
//! - Dtypes: promoted to a floating-point one, of which one of them is.
//! - Aliasing: `smooth_l1_loss.out` writes `out`, `smooth_l1_loss_backward.grad_input` writes `grad_input`.
//! - Dispatch: composites of arithmetic, `where` and `clamp`; `l1_loss` for a `beta` of zero.
//! - Errors: other dtypes; a negative `beta`; another `reduction`.
//! - Source: torch.nn.functional.smooth_l1_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Abs, L1Loss, LtScalar, MulScalar, MulTensor, SubScalar, SubTensor, WhereSelf};

pub use opgrid_tensor::ops::losses::smooth_l1_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(SmoothL1Loss, &kind::LOSS).on_every_backend(smooth_l1_loss).derivative(
        |d, (input, target, reduction, beta)| {
            loss::of_difference(d, [input, target], reduction, move |x| slope(x, beta))
        },
    );
    library.implement(SmoothL1LossOut).on_every_backend(|input, target, reduction, beta, out| {
        result::converted(&[(out, &smooth_l1_loss(input, target, reduction, beta)?)])
    });
    library.implicit(SmoothL1LossBackward, &kind::LOSS, |grad, input, target, reduction, beta| {
        check_beta(beta)?;
        let [grad, input, target] = loss::all_promoted([grad, input, target])?;
        loss::by_difference(&grad, [&input, &target], (reduction, input.numel()), |x| slope(x, beta))
    });
}

/// # Errors
///
/// A negative number, or none.
fn check_beta(beta: f64) -> Result<()> {
    if beta >= 0.0 {
        Ok(())
    } else {
        Err(argument(format!("argument `beta` is {beta}, expected zero or more")))
    }
}

fn slope(difference: &Tensor, beta: f64) -> Result<Tensor> {
    if beta == 0.0 { difference.sgn() } else { (difference / beta)?.clamp(Some((-1).into()), Some(1.into())) }
}

fn smooth_l1_loss(input: &Tensor, target: &Tensor, reduction: i64, beta: f64) -> Result<Tensor> {
    check_beta(beta)?;
    let [input, target] = loss::promoted([input, target])?;
    if beta == 0.0 {
        return L1Loss.call(&input, &target, reduction);
    }
    let distance = Abs.call(&SubTensor.call(&input, &target, Scalar::Int(1))?)?;
    let square = MulScalar.call(&MulTensor.call(&distance, &distance)?, Scalar::Float(0.5 / beta))?;
    let line = SubScalar.call(&distance, Scalar::Float(0.5 * beta), Scalar::Int(1))?;
    let is_small = LtScalar.call(&distance, Scalar::Float(beta))?;
    loss::reduced(WhereSelf.call(&is_small, &square, &line)?, reduction)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2], 0);
        let inputs = |dtype| generate::and_named(loss::samples::pairs(dtype), "beta", 0.5);
        samples
            .operator(SmoothL1Loss, FLOATS, inputs, |it| {
                let beta: f64 = it.value("beta")?;
                loss::samples::of_two(it, ["self", "target"], |a, b| match (a - b).abs() {
                    d if d < beta => 0.5 * d * d / beta,
                    d => d - 0.5 * beta,
                })
            })
            .tolerance(loss::samples::TOLERANCE)
            .refuses("`beta` is -1", given(x.clone()).and(x.clone()).named("beta", -1.0));
        loss::samples::collect_gradient(
            samples,
            SmoothL1LossBackward,
            |dtype| loss::samples::gradients(dtype, &[0.5]),
            |a, b| ((a - b) / 0.5).clamp(-1.0, 1.0),
        )
        .refuses("`beta` is -1", given(x.clone()).and(x.clone()).and(x).and(0).and(-1.0));
        samples.rounds(SmoothL1Loss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(SmoothL1Loss, &[loss::samples::CHECKED, departures::math::NOT_FINITE]);
        samples.differs_as(SmoothL1Loss, loss::samples::OUTPUTS);
    }
}
