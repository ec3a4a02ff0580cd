//! `aten::kl_div`: how far distributions are from others, of which the logarithms are given.
//!
//! `loss[i] = target[i] * (ln(target[i]) - self[i])`, or `e ^ target[i] * (target[i] - self[i])` with `log_target`; reduced to
//! the mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: `self` and `target` broadcast; none with a reduction.
//! - Dtypes: promoted; floating-point ones.
//! - Values: zero where a target is.
//! - Dispatch: a composite of `xlogy`, `mul` and `sub`, whose derivatives it inherits.
//! - Errors: other dtypes; another `reduction`.
//! - Source: torch.nn.functional.kl_div, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Exp, MulTensor, SubTensor, XlogyTensor};

pub use opgrid_tensor::ops::losses::kl_div::*;

pub(super) fn register(library: &mut Library) {
    library.define(KlDiv).kind(&kind::LOSS).implicit(kl_div);
}

fn kl_div(input: &Tensor, target: &Tensor, reduction: i64, log_target: bool) -> Result<Tensor> {
    for tensor in [input, target] {
        pointwise::check_float(tensor.spec()?.dtype())?;
    }
    const ONE: Scalar = Scalar::Int(1);
    let losses = if log_target {
        MulTensor.call(&Exp.call(target)?, &SubTensor.call(target, input, ONE)?)?
    } else {
        SubTensor.call(&XlogyTensor.call(target, target)?, &MulTensor.call(target, input)?, ONE)?
    };
    loss::reduced(losses, reduction)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::and_named(loss::samples::pairs(dtype), "log_target", true);
        samples
            .operator(KlDiv, FLOATS, inputs, |it| {
                let log_target: bool = it.value("log_target")?;
                loss::samples::of_two(it, ["self", "target"], |x, target| {
                    if log_target {
                        target.exp() * (target - x)
                    } else if target == 0.0 {
                        0.0
                    } else {
                        target * (target.ln() - x)
                    }
                })
            })
            .tolerance(loss::samples::TOLERANCE);
        samples.rounds(KlDiv, Roundings::all(Rounding::Sum(64)));
        samples.differs(KlDiv, loss::samples::CHECKED);
    }
}
