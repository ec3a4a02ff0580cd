//! `aten::multi_margin_loss`: what the scores of other classes lack to being a margin below that of the target.
//!
//! `loss[n] = weight[y] * sum over c != y of max(0, margin - self[n, y] + self[n, c]) ^ p / C`, where `y = target[n]`; reduced to the
//! mean (1) or the sum (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: `self` has `[N, C]`, or `[C]` or no dimensions for one example; `target` one class for each example. Losses have `[N]`, none
//!   with a reduction or where `target` has none.
//! - Dtypes: float32 and float64; `target` is int64.
//! - Values: computed in double precision. The mean of no losses is NaN.
//! - Aliasing: `multi_margin_loss.out` writes `out`, `multi_margin_loss_backward.grad_input` writes `grad_input`.
//! - Derivative: that of `self`; a score that is exactly a margin below has none. It has none itself.
//! - Errors: other dtypes and shapes; a `p` but 1 and 2; a `margin` beyond the range of the dtype; a target that is no class; another
//!   `reduction`.
//! - Source: torch.nn.functional.multi_margin_loss, PyTorch 2.15.

use crate::kinds::margins::{self, Rows};
use crate::prelude::*;
use opgrid_kernels::margins::MultiMargin;
use opgrid_kernels::normalise;

pub use opgrid_tensor::ops::losses::multi_margin_loss::*;

/// The family of `aten::multi_margin_loss`: its kind, shape rule and `out` rule.
pub const MULTI_MARGIN_LOSS: Family<MultiMarginLoss> =
    Family::new(MultiMarginLoss, &kind::LOSS, |input, target, p, margin, weight, reduction| {
        checked(input, target, p, margin, weight, reduction)?.losses(input.spec()?)
    })
    .same_dtype_out();

/// The family of its gradient.
pub const MULTI_MARGIN_LOSS_BACKWARD: Family<MultiMarginLossBackward> =
    Family::new(MultiMarginLossBackward, &kind::LOSS, |grad, input, target, p, margin, weight, reduction| {
        checked(input, target, p, margin, weight, reduction)?.gradients(grad, input.spec()?)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&MULTI_MARGIN_LOSS)
        .cpu(|input, target, p, margin, weight, reduction, out| {
            let rows = checked(input, target, p, margin, weight, reduction)?;
            let losses = with_scores(input, target, p, margin, weight, |scores| scores.losses())?;
            rows.write(&losses, reduction, out)
        })
        .derivative(|d, (input, target, p, margin, weight, reduction)| {
            loss::check_constant(d, "weight", weight)?;
            d.together([Some(input)], [Some(input), Some(target), weight], move |grads, kept, _| {
                let (Some(grad), [Some(input), Some(target), weight]) = (grads.for_result(0), kept) else {
                    return Ok([None]);
                };
                MultiMarginLossBackward
                    .call(grad, input, target, p, margin, weight, reduction)
                    .map(|grad| [Some(grad)])
            })
        });
    library.family(&MULTI_MARGIN_LOSS_BACKWARD).cpu(
        |grad, input, target, p, margin, weight, reduction, out| {
            let rows = checked(input, target, p, margin, weight, reduction)?;
            let grad = rows.gradient_of_each(grad, reduction)?;
            let gradients = with_scores(input, target, p, margin, weight, |scores| scores.gradients(&grad))?;
            normalise::write_numbers(out.array()?, &gradients)
        },
    );
}

/// # Errors
///
/// Arguments that are no scores with a class for each row.
fn checked(
    input: &Tensor,
    target: &Tensor,
    p: Scalar,
    margin: Scalar,
    weight: Option<&Tensor>,
    reduction: i64,
) -> Result<Rows> {
    let (spec, targets) = (input.spec()?, target.spec()?);
    let rows = Rows::new(spec, !targets.sizes().is_empty(), reduction)?;
    margins::check_target(targets, spec)?;
    if targets.sizes().len() > 1 || targets.numel() != rows.count {
        return Err(argument(format!(
            "argument `target` has shape {:?}, expected [{}], a class for each example",
            targets.sizes(),
            rows.count
        )));
    }
    is_squared(p)?;
    with_dtype!(spec.dtype(), T: Float => arithmetic::element::<T>(margin).map(drop))?;
    if let Some(weight) = weight {
        pointwise::check_one_dtype(("self", input), ("weight", weight))?;
        pointwise::check_one_device(("self", input), ("weight", weight))?;
        if weight.dim() > 1 || weight.numel() != rows.classes {
            return Err(argument(format!(
                "argument `weight` has shape {:?}, expected [{}], a weight for each class",
                weight.sizes(),
                rows.classes
            )));
        }
    }
    Ok(rows)
}

/// # Errors
///
/// A power but 1 and 2. Fractions are cut off, as in torch.
fn is_squared(p: Scalar) -> Result<bool> {
    match p.to_complex().re as i64 {
        1 => Ok(false),
        2 => Ok(true),
        _ => Err(argument(format!("argument `p` is {p}, expected 1 or 2"))),
    }
}

/// Lets `body` see the scores, with arguments that were checked.
///
/// # Errors
///
/// A target that is no class; a tensor without data.
fn with_scores<R>(
    input: &Tensor,
    target: &Tensor,
    p: Scalar,
    margin: Scalar,
    weight: Option<&Tensor>,
    body: impl FnOnce(MultiMargin<'_>) -> R,
) -> Result<R> {
    let classes = input.sizes().last().copied().unwrap_or(1) as usize;
    let target: Vec<i64> = normalise::numbers(target.array()?)?;
    let class = |target: &i64| match usize::try_from(*target) {
        Ok(class) if class < classes => Ok(class),
        _ => Err(argument(format!(
            "argument `target` holds {target}, expected classes, from 0 to {}",
            classes - 1
        ))),
    };
    let targets = target.iter().map(class).collect::<Result<Vec<_>>>()?;
    let scores: Vec<f64> = normalise::numbers(input.array()?)?;
    let weights = weight.map(|weight| normalise::numbers::<f64>(weight.array()?)).transpose()?;
    Ok(body(MultiMargin {
        scores: &scores,
        classes,
        targets: &targets,
        weights: weights.as_deref(),
        margin: margin.to_f64()?,
        is_squared: is_squared(p)?,
    }))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::margins::DTYPES;
    use crate::kinds::margins::samples::{gradients, reduced, rows, scores, with_gradients};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        let classes = |sizes: &[i64], class: i64| Plain::from_elements(DType::I64, sizes, &[class]);
        samples
            .operator(MultiMarginLoss, DTYPES, inputs, |it| {
                let loss = loss_of(it)?;
                let losses: Vec<f64> =
                    rows(it)?.iter().map(|(scores, target)| loss(scores, target)).collect();
                Ok(reduced(it, &losses, !it.tensor("target")?.sizes().is_empty())?.into())
            })
            .tolerance(8.0)
            .constant(&["weight"])
            .refuses("expected int64", x().and(classes(&[2], 0).to(DType::I32)))
            .refuses("`target` has shape [3]", x().and(classes(&[3], 0)))
            .refuses("`target` has shape [2, 1]", x().and(classes(&[2, 1], 0)))
            .refuses("`p` is 3", x().and(classes(&[2], 0)).named("p", 3))
            .refuses("`reduction` is 3", x().and(classes(&[2], 0)).named("reduction", 3))
            .refuses("overflow", x().and(classes(&[2], 0)).named("margin", Scalar::Float(1e300)))
            .refuses(
                "`weight` has shape [2]",
                x().and(classes(&[2], 0)).named("weight", generate::numbers(DType::F32, &[2], 0)),
            )
            .refuses(
                "at least one class",
                given(generate::numbers(DType::F32, &[2, 0], 0)).and(classes(&[2], 0)),
            )
            .refuses_data("`target` holds 3", x().and(classes(&[2], 3)));
        samples
            .operator(MultiMarginLossBackward, DTYPES, gradient_inputs, |it| gradients(it, loss_of(it)?))
            .tolerance(256.0)
            .constant(&["grad_output", "self", "weight"])
            .refuses("`grad_output` has shape [3]", {
                let grad = given(generate::numbers(DType::F32, &[3], 0)).and(generate::numbers(
                    DType::F32,
                    &[2, 3],
                    0,
                ));
                grad.and(classes(&[2], 0)).and(1).and(1).named("reduction", 0)
            });
        samples.rounds(MultiMarginLoss, Roundings::all(Rounding::Sum(64)));
        samples.rounds(MultiMarginLossBackward, Roundings::all(Rounding::Sum(64)));
        samples.differs(MultiMarginLoss, loss::samples::CHECKED);
        samples.differs(MultiMarginLossBackward, loss::samples::CHECKED);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |(sizes, targets): &(&[i64], &[i64])| {
            let (count, classes) = match **sizes {
                [count, classes] => (count, classes),
                [classes] => (1, classes),
                _ => (1, 1),
            };
            let target: Vec<i64> = (0..count.max(1)).map(|at| (at * 2 + 1) % classes).collect();
            let weight = Plain::from_elements(dtype, &[classes], &[0.5, 2.0, 1.5]);
            let plain = given(scores(dtype, sizes)).and(Plain::from_elements(DType::I64, targets, &target));
            [
                plain.clone().named("p", 1).named("margin", 1),
                plain.clone().named("p", 2).named("margin", Scalar::Float(0.5)),
                plain.named("p", 1).named("margin", 1).named("weight", weight),
            ]
        };
        let shapes: [(&[i64], &[i64]); 6] =
            [(&[3, 4], &[3]), (&[4], &[1]), (&[4], &[]), (&[], &[]), (&[1, 3], &[1]), (&[0, 3], &[0])];
        loss::samples::all_reductions(shapes.iter().flat_map(one).collect())
    }

    fn gradient_inputs(dtype: DType) -> Vec<Sample> {
        with_gradients(dtype, inputs(dtype))
    }

    /// The loss of a row.
    fn loss_of(it: &Inputs) -> Result<impl Fn(&[f64], &[i64]) -> f64> {
        let [p, margin] =
            [it.value::<Scalar>("p")?, it.value::<Scalar>("margin")?].map(|number| number.to_complex().re);
        let weight = it.tensor("weight").ok().cloned();
        Ok(move |scores: &[f64], target: &[i64]| {
            let own = target[0];
            let others = (0..).zip(scores).filter(|(class, _)| *class != own);
            let sum: f64 =
                others.map(|(_, score)| (margin - scores[own as usize] + score).max(0.0).powf(p)).sum();
            sum * weight.as_ref().map_or(1.0, |weight| weight.at(&[own]).to_complex().re)
                / scores.len() as f64
        })
    }
}
