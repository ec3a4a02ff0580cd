//! `aten::margin_ranking_loss`: what the difference of two inputs lacks to a margin, in the order that is wanted.
//!
//! `loss[i] = max(0, margin - target[i] * (input1[i] - input2[i]))`, reduced to the mean (1) or the sum (2) of all, or not
//! (0), as `reduction` says
//!
//! - Shapes: all three broadcast; none with a reduction.
//! - Dtypes: promoted.
//! - Dispatch: a composite of arithmetic and `clamp_min`, whose derivatives it inherits.
//! - Errors: bools; another `reduction`.
//! - Source: torch.nn.functional.margin_ranking_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{AddScalar, ClampMin, MulTensor, Neg, SubTensor};

pub use opgrid_tensor::ops::losses::margin_ranking_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define(MarginRankingLoss).kind(&kind::LOSS).implicit(margin_ranking_loss);
}

fn margin_ranking_loss(
    first: &Tensor,
    second: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: i64,
) -> Result<Tensor> {
    let difference = SubTensor.call(first, second, Scalar::Int(1))?;
    let turned = MulTensor.call(&Neg.call(target)?, &difference)?;
    let lack = AddScalar.call(&turned, Scalar::Float(margin), Scalar::Int(1))?;
    loss::reduced(ClampMin.call(&lack, Scalar::Int(0))?, reduction)
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
            let shapes: [&[i64]; 4] = [&[4], &[2, 3], &[], &[0]];
            let three = |sizes: &[i64]| {
                let x = |seed| generate::numbers(dtype, sizes, seed);
                given(x(1)).and(x(2)).and(Plain::from_elements(dtype, sizes, &[1, -1]))
            };
            let broadcast = given(generate::numbers(dtype, &[2, 3], 1))
                .and(generate::numbers(dtype, &[3], 2))
                .and(Plain::number(dtype, -1));
            let all = [shapes.map(three).to_vec(), vec![broadcast]].concat();
            generate::and_named(loss::samples::all_reductions(all), "margin", 0.5)
        };
        samples
            .operator(MarginRankingLoss, FLOATS, inputs, |it| {
                let (margin, target): (f64, _) = (it.value("margin")?, it.tensor("target")?);
                let (a, b) = (it.tensor("input1")?, it.tensor("input2")?);
                let losses = Plain::from_fn(DType::F64, a.sizes(), |position| {
                    let [a, b, target] = [a, b, target].map(|x| {
                        let place = &position[position.len() - x.sizes().len()..];
                        x.at(place).to_complex().re
                    });
                    Scalar::Float((margin - target * (a - b)).max(0.0))
                });
                Ok(match loss::samples::reduced_plain(&losses, it.value("reduction")?) {
                    Expected::Tensor(losses) => losses.to(a.dtype()).into(),
                    other => other,
                })
            })
            .tolerance(loss::samples::TOLERANCE);
        samples.rounds(MarginRankingLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs(MarginRankingLoss, loss::samples::CHECKED);
    }
}
