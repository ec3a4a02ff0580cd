//! `aten::l1_loss`: the sizes of differences.
//!
//! `loss[i] = |self[i] - target[i]|`, reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: `self` and `target` broadcast; none with a reduction.
//! - Dtypes: promoted; floating-point ones.
//! - Dispatch: a composite of `sub` and `abs`, whose derivatives it inherits.
//! - Errors: bools; the mean of integers; another `reduction`.
//! - Source: torch.nn.functional.l1_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Abs, SubTensor};

pub use opgrid_tensor::ops::losses::l1_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(L1Loss, &kind::LOSS).implicit(l1_loss);
}

fn l1_loss(input: &Tensor, target: &Tensor, reduction: i64) -> Result<Tensor> {
    let difference = SubTensor.call(input, target, Scalar::Int(1))?;
    loss::reduced(Abs.call(&difference)?, reduction)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype: DType| {
            if dtype.is_floating_point() || dtype.is_complex() {
                loss::samples::pairs(dtype)
            } else {
                // Others have no mean, and other dtypes where they are summed.
                loss::samples::pairs(dtype).into_iter().step_by(3).collect()
            }
        };
        samples
            .operator(L1Loss, NUMBERS, inputs, |it| {
                let (a, b) = (it.tensor("self")?, it.tensor("target")?);
                let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
                let losses = Plain::from_fn(part_of(a.dtype()), &sizes, |position| {
                    let difference = number::minus(a.at(position), b.at(position));
                    number::magnitude(naive::convert(difference, a.dtype()))
                });
                Ok(loss::samples::reduced_plain(&losses, it.value("reduction")?))
            })
            .tolerance(loss::samples::TOLERANCE);
        samples.rounds(L1Loss, Roundings::all(Rounding::Sum(64)));
        samples.differs(L1Loss, loss::samples::CHECKED);
    }
}
