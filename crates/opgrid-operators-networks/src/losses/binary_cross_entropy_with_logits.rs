//! `aten::binary_cross_entropy_with_logits`: how unlikely targets are under probabilities of two classes, of which the
//! logits are given.
//!
//! `loss[i] = -weight[i] * (pos_weight[i] * target[i] * ln(p[i]) + (1 - target[i]) * ln(1 - p[i]))` with
//! `p[i] = sigmoid(self[i])`; reduced to the mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: one for `self` and `target`, to which the weights broadcast; none with a reduction.
//! - Dtypes: that of `target`, whatever floats `self` and the weights have.
//! - Aliasing: `binary_cross_entropy_with_logits.out` writes `out`.
//! - Derivative: the weights have none.
//! - Dispatch: a composite of `log_sigmoid` and arithmetic.
//! - Errors: other dtypes; two shapes of `self` and `target`; weights that do not broadcast to them; another `reduction`.
//! - Source: torch.nn.functional.binary_cross_entropy_with_logits, PyTorch 2.15.

use super::binary_cross_entropy::weighted;
use crate::prelude::*;
use opgrid_tensor::ops::{
    AddScalar, LogSigmoid, MulInplaceTensor, MulTensor, RsubScalar, SubInplaceTensor, SubScalar,
};

pub use opgrid_tensor::ops::losses::binary_cross_entropy_with_logits::*;

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(BinaryCrossEntropyWithLogits, &kind::LOSS)
        .on_every_backend(with_logits)
        .derivative(|d, (input, target, weight, pos_weight, reduction)| {
            loss::check_constant(d, "weight", weight)?;
            loss::check_constant(d, "pos_weight", pos_weight)?;
            let count = target.numel();
            let kept = [Some(input), Some(target), weight, pos_weight];
            d.together([Some(input), Some(target)], kept, move |grads, kept, needs| {
                let (Some(grad), [Some(x), Some(y), weight, positive]) = (grads.for_result(0), kept) else {
                    return Ok([None, None]);
                };
                let grad = weighted(loss::of_each(grad, reduction, count)?, weight)?;
                Ok([
                    needs[0].then(|| slope(&grad, x, y, positive)).transpose()?,
                    needs[1].then(|| slope_of_target(&grad, x, positive)).transpose()?,
                ])
            })
        });
    library.implement(BinaryCrossEntropyWithLogitsOut).on_every_backend(
        |input, target, weight, pos_weight, reduction, out| {
            result::converted(&[(out, &with_logits(input, target, weight, pos_weight, reduction)?)])
        },
    );
}

fn with_logits(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    pos_weight: Option<&Tensor>,
    reduction: i64,
) -> Result<Tensor> {
    const ONE: Scalar = Scalar::Int(1);
    loss::Reduction::numbered(reduction)?;
    check_shapes(input, target)?;
    let log = LogSigmoid.call(input)?;
    let losses = RsubScalar.call(target, ONE, ONE)?;
    MulInplaceTensor.call(&losses, input)?;
    if let Some(pos_weight) = pos_weight {
        let more = MulTensor.call(&SubScalar.call(pos_weight, ONE, ONE)?, target)?;
        MulInplaceTensor.call(&log, &AddScalar.call(&more, ONE, ONE)?)?;
    }
    SubInplaceTensor.call(&losses, &log, ONE)?;
    loss::weigh(&losses, weight)?;
    loss::reduced(losses, reduction)
}

/// # Errors
///
/// Logits and targets that are not element for element.
fn check_shapes(input: &Tensor, target: &Tensor) -> Result<()> {
    let (wanted, found) = (input.spec()?.sizes(), target.spec()?.sizes());
    if wanted == found {
        Ok(())
    } else {
        Err(argument(format!(
            "argument `target` has shape {found:?}, expected {wanted:?}, that of `self`; expand one of them to the other's"
        )))
    }
}

/// The gradient by the logits.
fn slope(grad: &Tensor, x: &Tensor, y: &Tensor, positive: Option<&Tensor>) -> Result<Tensor> {
    let Some(positive) = positive else { return grad * (x.sigmoid()? - y)? };
    let more = (positive * y)?;
    grad * ((((&more + 1)? - y)? * x.sigmoid()?)? - more)?
}

/// The gradient by the target.
fn slope_of_target(grad: &Tensor, x: &Tensor, positive: Option<&Tensor>) -> Result<Tensor> {
    let Some(positive) = positive else { return grad * (-x)? };
    let (yes, no) = (x.log_sigmoid()?, (-x)?.log_sigmoid()?);
    grad * (no - (positive * yes)?)?
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype: DType| -> Vec<Sample> {
            let shapes: [&[i64]; 4] = [&[2, 3], &[], &[0], &[2, 37]];
            let pair = |sizes: &[i64]| {
                given(generate::numbers(dtype, sizes, 1)).and(Plain::from_elements(
                    dtype,
                    sizes,
                    &[1.0, 0.0, 0.5, 0.25],
                ))
            };
            let row = |numbers: &[f64]| Plain::from_elements(dtype, &[3], numbers);
            let weighted = pair(&[2, 3]).and(row(&[0.5, 2.0, 1.0])).and(row(&[1.5, 0.5, 3.0]));
            loss::samples::all_reductions([shapes.map(pair).to_vec(), vec![weighted]].concat())
        };
        samples
            .operator(BinaryCrossEntropyWithLogits, FLOATS, inputs, |it| {
                let (x, target) = (it.tensor("self")?, it.tensor("target")?);
                let [weight, pos_weight] = ["weight", "pos_weight"].map(|name| it.tensor(name).ok());
                let losses = Plain::from_fn(DType::F64, x.sizes(), |position| {
                    let at = |tensor: &Plain| tensor.at(position).to_complex().re;
                    let (x, target) = (at(x), at(target));
                    let positive = pos_weight.map_or(1.0, at) * target * (-x).exp().ln_1p();
                    Scalar::Float(weight.map_or(1.0, at) * (positive + (1.0 - target) * x.exp().ln_1p()))
                });
                Ok(match loss::samples::reduced_plain(&losses, it.value("reduction")?) {
                    Expected::Tensor(losses) => losses.to(x.dtype()).into(),
                    other => other,
                })
            })
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight", "pos_weight"])
            .refuses(
                "`target` has shape [2, 2], expected []",
                given(generate::numbers(DType::F32, &[], 0)).and(generate::numbers(DType::F32, &[2, 2], 0)),
            )
            .refuses(
                "`target` has shape [1], expected [2]",
                given(generate::numbers(DType::F32, &[2], 0)).and(generate::numbers(DType::F32, &[1], 0)),
            );
        samples.rounds(BinaryCrossEntropyWithLogits, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(BinaryCrossEntropyWithLogits, &[loss::samples::CHECKED, MISFITS]);
    }

    /// Differences for logits that have fewer elements than the targets.
    const MISFITS: Difference = Difference {
        id: "logits-have-the-shape-of-targets",
        what: "torch broadcasts logits to the shape of their targets, and fails only in the backward \
             pass; here the call fails",
        why: "the error is reported where the mistake is",
        test: ("opgrid-operators/tests/all/losses.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| seen.we_refuse("argument `target` has shape"),
        directed: None,
    };
}
