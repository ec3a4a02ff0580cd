//! `aten::soft_margin_loss`, `aten::soft_margin_loss_backward`: logistic losses of two classes, and the gradient of the input.
//!
//! `loss[i] = ln(1 + e ^ (-target[i] * self[i]))`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says;
//! `grad_input[i] = -target[i] * grad_output[i] / (1 + e ^ (target[i] * self[i]))`, over the number of elements for a mean
//!
//! - Shapes: that of `self`, to which `target` and `grad_output` broadcast; none with a reduction.
//! - Dtypes: that of `self`, a floating-point or complex one, whatever numbers `target` has.
//! - Aliasing: `soft_margin_loss.out` writes `out`, `soft_margin_loss_backward.grad_input` writes `grad_input`.
//! - Dispatch: composites of `mul`, `exp` and `log1p`, and of `mul` and `sigmoid`.
//! - Errors: a `self` of bools or integers; complex targets of reals; a `target` of another shape; another `reduction`.
//! - Source: torch.nn.functional.soft_margin_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{ExpInplace, Log1pInplace, MulInplaceTensor, Neg};

pub use opgrid_tensor::ops::losses::soft_margin_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(SoftMarginLoss, &kind::LOSS).on_every_backend(soft_margin_loss).derivative(
        |d, (input, target, reduction)| {
            let count = input.numel();
            d.by(input, [input, target], move |grad, [x, y]| {
                loss::of_each(grad, reduction, count)? * slope(x, y, y)?
            })?;
            d.by(target, [input, target], move |grad, [x, y]| {
                loss::of_each(grad, reduction, count)? * slope(x, y, x)?
            })
        },
    );
    library.implement(SoftMarginLossOut).on_every_backend(|input, target, reduction, out| {
        result::converted(&[(out, &soft_margin_loss(input, target, reduction)?)])
    });
    library.implicit(SoftMarginLossBackward, &kind::LOSS, |grad, input, target, reduction| {
        pointwise::check_inexact(input.spec()?.dtype())?;
        loss::check_fits("grad_output", grad, input)?;
        loss::check_fits("target", target, input)?;
        loss::of_each(grad, reduction, input.numel())? * slope(input, target, target)?
    });
}

fn soft_margin_loss(input: &Tensor, target: &Tensor, reduction: i64) -> Result<Tensor> {
    loss::check_fits("target", target, input)?;
    let losses = Neg.call(input)?;
    MulInplaceTensor.call(&losses, target)?;
    ExpInplace.call(&losses)?;
    Log1pInplace.call(&losses)?;
    loss::reduced(losses, reduction)
}

/// The slope of the losses, by one of the factors; the other one is given too.
fn slope(input: &Tensor, target: &Tensor, other: &Tensor) -> Result<Tensor> {
    (-(-(input * target)?)?.sigmoid()?)? * other
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        let reference =
            |it: &Inputs| loss::samples::of_two(it, ["self", "target"], |a, b| (-a * b).exp().ln_1p());
        samples
            .operator(
                SoftMarginLoss,
                FLOATS,
                |dtype| if dtype.is_floating_point() { loss::samples::pairs(dtype) } else { Vec::new() },
                reference,
            )
            .tolerance(loss::samples::TOLERANCE)
            .refuses("broadcasts to the shape of the losses, [3]", given(x(&[3])).and(x(&[2, 3])))
            .refuses("bool", given(x(&[3]).to(DType::Bool)).and(x(&[3])));
        loss::samples::collect_gradient(
            samples,
            SoftMarginLossBackward,
            |dtype| if dtype.is_floating_point() { loss::samples::gradients(dtype, &[]) } else { Vec::new() },
            |a, b| -b / (1.0 + (a * b).exp()),
        )
        .refuses("`grad_output` has shape", given(x(&[2, 3])).and(x(&[3])).and(x(&[3])).and(0));
        samples.rounds(SoftMarginLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(SoftMarginLoss, loss::samples::OUTPUTS);
        samples.differs(SoftMarginLoss, loss::samples::CHECKED);
    }
}
