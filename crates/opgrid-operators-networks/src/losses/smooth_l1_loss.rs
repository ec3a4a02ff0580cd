//! `aten::smooth_l1_loss`: sizes of differences, squares of small ones.
//!
//! `loss[i] = d^2 / (2 beta) if d < beta, d - beta / 2 otherwise, with d = |self[i] - target[i]|`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: `self` and `target` broadcast; none with a reduction.
//! - Dtypes: promoted to a floating-point one, of which one of the two is.
//! - Aliasing: `smooth_l1_loss.out` writes `out`.
//! - Dispatch: a composite of arithmetic and `where`; `l1_loss` for a `beta` of zero.
//! - Errors: other dtypes; a negative `beta`; another `reduction`.
//! - Source: torch.nn.functional.smooth_l1_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Abs, L1Loss, LtScalar, MulScalar, MulTensor, SubScalar, SubTensor, WhereSelf};

pub use opgrid_tensor::ops::losses::smooth_l1_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(SmoothL1Loss, &kind::LOSS).on_every_backend(smooth_l1_loss).derivative(
        |d, (input, target, reduction, beta)| {
            loss::of_difference(d, [input, target], reduction, move |x| {
                if beta == 0.0 { x.sgn() } else { (x / beta)?.clamp(Some((-1).into()), Some(1.into())) }
            })
        },
    );
    library.implement(SmoothL1LossOut).on_every_backend(|input, target, reduction, beta, out| {
        result::converted(&[(out, &smooth_l1_loss(input, target, reduction, beta)?)])
    });
}

fn smooth_l1_loss(input: &Tensor, target: &Tensor, reduction: i64, beta: f64) -> Result<Tensor> {
    if beta.is_nan() || beta < 0.0 {
        return Err(argument(format!("argument `beta` is {beta}, expected zero or more")));
    }
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
            .refuses("`beta` is -1", given(x.clone()).and(x).named("beta", -1.0));
        samples.rounds(SmoothL1Loss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(SmoothL1Loss, &[loss::samples::CHECKED, departures::math::NOT_FINITE]);
        samples.differs_as(SmoothL1Loss, loss::samples::OUTPUTS);
    }
}
