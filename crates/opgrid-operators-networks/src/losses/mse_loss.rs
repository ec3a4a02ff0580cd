//! `aten::mse_loss`: the squares of differences.
//!
//! `loss[i] = (self[i] - target[i]) ^ 2`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: `self` and `target` broadcast; none with a reduction.
//! - Dtypes: promoted to a floating-point one, of which one of the two is.
//! - Aliasing: `mse_loss.out` writes `out`.
//! - Dispatch: a composite of `sub` and `mul`.
//! - Errors: other dtypes; another `reduction`.
//! - Source: torch.nn.functional.mse_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{MulTensor, SubTensor};

pub use opgrid_tensor::ops::losses::mse_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(MseLoss, &kind::LOSS).on_every_backend(mse_loss).derivative(
        |d, (input, target, reduction)| loss::of_difference(d, [input, target], reduction, |x| x * 2),
    );
    library.implement(MseLossOut).on_every_backend(|input, target, reduction, out| {
        result::converted(&[(out, &mse_loss(input, target, reduction)?)])
    });
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
    }
}
