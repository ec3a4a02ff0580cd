//! `aten::triplet_margin_loss`: what the distance from something else lacks to that from what is alike, and a margin.
//!
//! `loss[j] = max(0, margin + d(anchor[j], positive[j]) - d(anchor[j], negative[j]))` with the `p`-norm
//! `d(a, b) = (sum of |a[i] - b[i] + eps| ^ p) ^ (1 / p)`; reduced to the mean (1) or the sum (2) of all, or not (0), as
//! `reduction` says
//!
//! - Shapes: those of the arguments broadcast, and the last dimension disappears; none with a reduction.
//! - Dtypes: promoted; integers give the default dtype, complex numbers real losses.
//! - Values: with `swap`, the distance between positive and negative counts where it is smaller than that of the anchor.
//! - Dispatch: a composite of `pairwise_distance` and arithmetic, whose derivatives it inherits.
//! - Errors: arguments of different numbers of dimensions; another `reduction`.
//! - Source: torch.nn.functional.triplet_margin_loss, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{AddScalar, ClampMin, Minimum, PairwiseDistance, SubTensor};

pub use opgrid_tensor::ops::losses::triplet_margin_loss::*;

const ONE: Scalar = Scalar::Int(1);

pub(super) fn register(library: &mut Library) {
    library.define(TripletMarginLoss).kind(&kind::LOSS).implicit(triplet_margin_loss);
}

#[allow(clippy::too_many_arguments, reason = "those of the schema")]
fn triplet_margin_loss(
    anchor: &Tensor,
    positive: &Tensor,
    negative: &Tensor,
    margin: f64,
    p: f64,
    eps: f64,
    swap: bool,
    reduction: i64,
) -> Result<Tensor> {
    let dims = anchor.spec()?.sizes().len();
    for (name, other) in [("positive", positive), ("negative", negative)] {
        if other.spec()?.sizes().len() != dims {
            let message =
                format!("argument `{name}` has {} dimensions, expected {dims} as `anchor`", other.dim());
            return Err(argument(message));
        }
    }
    let near = PairwiseDistance.call(anchor, positive, p, eps, false)?;
    let mut far = PairwiseDistance.call(anchor, negative, p, eps, false)?;
    if swap {
        far = Minimum.call(&far, &PairwiseDistance.call(positive, negative, p, eps, false)?)?;
    }
    let lack = AddScalar.call(&SubTensor.call(&near, &far, ONE)?, Scalar::Float(margin), ONE)?;
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
            let of = |sizes: &[i64]| {
                let x = |seed| generate::numbers(dtype, sizes, seed);
                given(x(1)).and(x(2)).and(x(5))
            };
            let with = |p: f64| of(&[4, 3]).and(0.5).and(p).and(1e-6).and(true);
            let all = vec![of(&[2, 3]), of(&[5]), of(&[0, 3]), with(1.0), with(2.0), with(3.0)];
            loss::samples::all_reductions(all)
        };
        let x = || generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(TripletMarginLoss, FLOATS, inputs, |it| {
                let [a, b, c] = [it.tensor("anchor")?, it.tensor("positive")?, it.tensor("negative")?];
                let [margin, p, eps]: [f64; 3] = [it.value("margin")?, it.value("p")?, it.value("eps")?];
                let swap: bool = it.value("swap")?;
                let (count, rows) =
                    a.sizes().split_last().map_or((0, a.sizes()), |(count, rows)| (*count, rows));
                let losses = Plain::from_fn(DType::F64, rows, |row| {
                    let distance = |a: &Plain, b: &Plain| {
                        let term = |at: i64| {
                            let position = [row, &[at]].concat();
                            (number::minus(a.at(&position), b.at(&position)).to_complex().re + eps)
                                .abs()
                                .powf(p)
                        };
                        (0..count).map(term).sum::<f64>().powf(1.0 / p)
                    };
                    let far = if swap { distance(a, c).min(distance(b, c)) } else { distance(a, c) };
                    Scalar::Float((margin + distance(a, b) - far).max(0.0))
                });
                Ok(match loss::samples::reduced_plain(&losses, it.value("reduction")?) {
                    Expected::Tensor(losses) => losses.to(a.dtype()).into(),
                    other => other,
                })
            })
            .tolerance(2.0 * loss::samples::TOLERANCE)
            .refuses("dimensions", given(x()).and(generate::numbers(DType::F32, &[3], 0)).and(x()));
        samples.rounds(TripletMarginLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(TripletMarginLoss, &[loss::samples::CHECKED, departures::norm::NO_ORDER]);
    }
}
