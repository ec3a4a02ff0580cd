//! `aten::soft_margin_loss`: logistic losses of two classes.
//!
//! `loss[i] = ln(1 + e ^ (-target[i] * self[i]))`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: that of `self`, to which `target` broadcasts; none with a reduction.
//! - Dtypes: that of `self`, a floating-point or complex one, whatever numbers `target` has.
//! - Aliasing: `soft_margin_loss.out` writes `out`.
//! - Dispatch: a composite of `mul`, `exp` and `log1p`.
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
        samples.rounds(SoftMarginLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(SoftMarginLoss, loss::samples::OUTPUTS);
        samples.differs(SoftMarginLoss, loss::samples::CHECKED);
    }
}
