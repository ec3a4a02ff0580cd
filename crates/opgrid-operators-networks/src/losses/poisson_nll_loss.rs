//! `aten::poisson_nll_loss`: how unlikely counts are under Poisson distributions.
//!
//! `loss[i] = e ^ input[i] - target[i] * input[i]`, or `input[i] - target[i] * ln(input[i] + eps)` without `log_input`, and with
//! `full` Stirling's formula for `ln(target[i]!)` where a target is above one; reduced to the mean (1) or the sum (2) of
//! all, or not (0), as `reduction` says
//!
//! - Shapes: `input` and `target` broadcast; none with a reduction.
//! - Dtypes: promoted; with `full` it is that of the losses without.
//! - Dispatch: a composite of arithmetic, whose derivatives it inherits.
//! - Errors: another `reduction`; a `target` of bools with `full`.
//! - Source: torch.nn.functional.poisson_nll_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{
    AddScalar, AddTensor, Exp, LeScalar, Log, MaskedFillScalar, MulScalar, MulTensor, SubTensor,
    WhereScalarSelf,
};

pub use opgrid_tensor::ops::losses::poisson_nll_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define(PoissonNllLoss).kind(&kind::LOSS).implicit(poisson_nll_loss);
}

fn poisson_nll_loss(
    input: &Tensor,
    target: &Tensor,
    log_input: bool,
    full: bool,
    eps: f64,
    reduction: i64,
) -> Result<Tensor> {
    const ONE: Scalar = Scalar::Int(1);
    let plain = if log_input {
        SubTensor.call(&Exp.call(input)?, &MulTensor.call(target, input)?, ONE)?
    } else {
        let log = Log.call(&AddScalar.call(input, Scalar::Float(eps), ONE)?)?;
        SubTensor.call(input, &MulTensor.call(target, &log)?, ONE)?
    };
    if !full {
        return loss::reduced(plain, reduction);
    }
    if target.spec()?.dtype() == DType::Bool {
        let message = "argument `target` is a bool tensor, for which the Stirling approximation is not \
             computed, expected counts; convert it to integers or floats";
        return Err(argument(message));
    }
    // One instead of small targets, whose logarithms would have no gradient.
    let is_small = LeScalar.call(target, ONE)?;
    let large = WhereScalarSelf.call(&is_small, ONE, target)?;
    let ordered = SubTensor.call(&MulTensor.call(&large, &Log.call(&large)?)?, &large, ONE)?;
    let root = Log.call(&MulScalar.call(&large, Scalar::Float(std::f64::consts::TAU))?)?;
    let stirling = AddTensor.call(&ordered, &root, Scalar::Float(0.5))?;
    let stirling = MaskedFillScalar.call(&stirling, &is_small, Scalar::Int(0))?;
    let stirling = loss::narrow(stirling, plain.dtype())?;
    loss::reduced(AddTensor.call(&plain, &stirling, ONE)?, reduction)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype: DType| -> Vec<Sample> {
            if !dtype.is_floating_point() {
                return Vec::new();
            }
            let shapes: [&[i64]; 4] = [&[2, 3], &[], &[0], &[2, 37]];
            let pair = |sizes: &[i64]| {
                let counts = Plain::from_elements(dtype, sizes, &[0, 3, 1, 2, 5]);
                given(Plain::from_elements(dtype, sizes, &[0.5, 1.25, 2.0, 0.25])).and(counts)
            };
            let with = |sample: Sample| {
                [(true, false), (true, true), (false, true)]
                    .map(|(log, full)| sample.clone().and(log).and(full).and(1e-8))
            };
            let all = shapes.map(pair).into_iter().flat_map(with).collect();
            loss::samples::all_reductions(all)
        };
        samples
            .operator(PoissonNllLoss, FLOATS, inputs, |it| {
                let [log_input, full]: [bool; 2] = [it.value("log_input")?, it.value("full")?];
                let eps: f64 = it.value("eps")?;
                loss::samples::of_two(it, ["input", "target"], |x, target| {
                    let plain = if log_input { x.exp() - target * x } else { x - target * (x + eps).ln() };
                    let stirling =
                        target * target.ln() - target + 0.5 * (std::f64::consts::TAU * target).ln();
                    plain + if full && target > 1.0 { stirling } else { 0.0 }
                })
            })
            .tolerance(2.0 * loss::samples::TOLERANCE);
        samples.rounds(PoissonNllLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs(PoissonNllLoss, loss::samples::CHECKED);
    }
}
