//! `aten::mse_loss`, `aten::mse_loss_backward`: the squares of differences, and the gradient of the input.
//!
//! `loss[i] = (self[i] - target[i]) ^ 2`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says;
//! `grad_input[i] = 2 (self[i] - target[i]) * grad_output[i]`, over the number of elements of `self` for a mean
//!
//! - Shapes: `self` and `target` broadcast, and `grad_output` to them; none with a reduction.
//! - Dtypes: promoted to a floating-point one, of which one of them is.
//! - Aliasing: `mse_loss.out` writes `out`, `mse_loss_backward.grad_input` writes `grad_input`.
//! - Dispatch: composites of `sub` and `mul`.
//! - Errors: other dtypes; another `reduction`.
//! - Source: torch.nn.functional.mse_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{MulTensor, SubTensor};

pub use opgrid_tensor::ops::losses::mse_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(MseLoss, &kind::LOSS).on_every_backend(mse_loss).derivative(
        |d, (input, target, reduction)| loss::of_difference(d, [input, target], reduction, slope),
    );
    library.implement(MseLossOut).on_every_backend(|input, target, reduction, out| {
        result::converted(&[(out, &mse_loss(input, target, reduction)?)])
    });
    library.implicit(MseLossBackward, &kind::LOSS, |grad, input, target, reduction| {
        let [grad, input, target] = loss::all_promoted([grad, input, target])?;
        loss::by_difference(&grad, [&input, &target], (reduction, input.numel()), slope)
    });
}

fn slope(difference: &Tensor) -> Result<Tensor> {
    difference * 2
}

fn mse_loss(input: &Tensor, target: &Tensor, reduction: i64) -> Result<Tensor> {
    let [input, target] = loss::promoted([input, target])?;
    let difference = SubTensor.call(&input, &target, Scalar::Int(1))?;
    loss::reduced(MulTensor.call(&difference, &difference)?, reduction)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        loss::samples::collect(samples, MseLoss, loss::samples::pairs, |a, b| (a - b) * (a - b));
        samples.rounds(MseLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(MseLoss, &[loss::samples::CHECKED, departures::math::NOT_FINITE]);
        samples.differs_as(MseLoss, loss::samples::OUTPUTS);
        loss::samples::collect_gradient(
            samples,
            MseLossBackward,
            |dtype| loss::samples::gradients(dtype, &[]),
            |a, b| 2.0 * (a - b),
        )
        .refuses("`reduction` is 3", {
            let x = || generate::numbers(DType::F32, &[2], 0);
            given(x()).and(x()).and(x()).and(3)
        });
    }
}
