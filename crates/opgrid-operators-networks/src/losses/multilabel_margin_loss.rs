//! `aten::multilabel_margin_loss`, `multilabel_margin_loss_forward`: what the scores of other classes lack to being 1 below those of all targets.
//!
//! `loss[n] = sum over targets y and all other classes c of max(0, 1 - self[n, y] + self[n, c]) / C`; reduced to the mean (1) or the sum
//! (2) of all, or not (0), as `reduction` says
//!
//! - Shapes: `self` has `[N, C]`, or `[C]` or no dimensions for one example; `target` has as many classes for each example, of which those
//!   from the first -1 on do not count. Losses have `[N]`, none with a reduction or for one example. `is_target` is 1 for classes that are
//!   targets, in the shape of `target`.
//! - Dtypes: float32 and float64; `target` is int64.
//! - Values: computed in double precision. The mean of no losses is NaN.
//! - Aliasing: the overloads that are named after outputs write them.
//! - Dispatch: `multilabel_margin_loss` is a composite of `multilabel_margin_loss_forward`.
//! - Derivative: that of `self`; a score that is exactly 1 below has none. It has none itself.
//! - Errors: other dtypes and shapes; a target that is neither a class nor -1; another `reduction`.
//! - Source: torch.nn.functional.multilabel_margin_loss, PyTorch 2.15.

use crate::kinds::margins::{self, Rows};
use crate::kinds::pooling::check_gradient;
use crate::prelude::*;
use opgrid_kernels::margins::MultiLabelMargin;
use opgrid_kernels::normalise;

pub use opgrid_tensor::ops::losses::multilabel_margin_loss::*;

/// The family of `aten::multilabel_margin_loss_forward`: its kind and shape rule.
pub const MULTILABEL_MARGIN_LOSS_FORWARD: Family<MultilabelMarginLossForward> =
    Family::new(MultilabelMarginLossForward, &kind::LOSS, shape);

/// The family of its gradient.
pub const MULTILABEL_MARGIN_LOSS_BACKWARD: Family<MultilabelMarginLossBackward> =
    Family::new(MultilabelMarginLossBackward, &kind::LOSS, |grad, input, target, reduction, is_target| {
        let spec = input.spec()?;
        let rows = checked(input, target, reduction)?;
        check_gradient("is_target", is_target.spec()?, spec, target.sizes())?;
        rows.gradients(grad, spec)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&MULTILABEL_MARGIN_LOSS_FORWARD).cpu(cpu).derivative(|d, (input, target, reduction)| {
        d.differentiable(1);
        d.by(input, [input, target, d.result(1)], move |grad, [input, target, is_target]| {
            MultilabelMarginLossBackward.call(grad, input, target, reduction, is_target)
        })
    });
    library.define(MultilabelMarginLossForwardOutput).kind(&kind::LOSS).on_cpu_and_meta(
        |input, target, reduction, out, is_target| {
            let (losses, marks) = shape(input, target, reduction)?;
            result::compute_all_into(&[(out, &losses), (is_target, &marks)], |outs| {
                cpu(input, target, reduction, &outs[0], &outs[1])
            })
        },
    );
    library.family(&MULTILABEL_MARGIN_LOSS_BACKWARD).cpu(|grad, input, target, reduction, is_target, out| {
        let rows = checked(input, target, reduction)?;
        let grad = rows.gradient_of_each(grad, reduction)?;
        let marks: Vec<f64> = normalise::numbers(is_target.array()?)?;
        if let Some(mark) = marks.iter().find(|mark| !(0.0..=1.0).contains(*mark)) {
            return Err(argument(format!("argument `is_target` holds {mark}, expected numbers from 0 to 1")));
        }
        let gradients = with_scores(input, target, rows, |scores| scores.gradients(&marks, &grad))?;
        normalise::write_numbers(out.array()?, &gradients)
    });
    library.define_with_forms(MultilabelMarginLoss, &kind::LOSS).implicit(|input, target, reduction| {
        Ok(MultilabelMarginLossForward.call(input, target, reduction)?.0)
    });
    library.implement(MultilabelMarginLossOut).implicit(|input, target, reduction, out| {
        result::copied(out, &MultilabelMarginLossForward.call(input, target, reduction)?.0)
    });
}

fn shape(input: &Tensor, target: &Tensor, reduction: i64) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    let losses = checked(input, target, reduction)?.losses(spec)?;
    Ok((losses, TensorSpec::contiguous(target.sizes(), spec.dtype(), spec.device())?))
}

fn cpu(input: &Tensor, target: &Tensor, reduction: i64, out: &Tensor, is_target: &Tensor) -> Result<()> {
    let rows = checked(input, target, reduction)?;
    let (losses, marks) = with_scores(input, target, rows, |scores| {
        let marks = scores.is_target();
        (scores.losses(&marks), marks)
    })?;
    rows.write(&losses, reduction, out)?;
    normalise::write_numbers(is_target.array()?, &marks)
}

/// # Errors
///
/// Arguments that are no scores with as many targets.
fn checked(input: &Tensor, target: &Tensor, reduction: i64) -> Result<Rows> {
    let (spec, targets) = (input.spec()?, target.spec()?);
    let rows = Rows::new(spec, targets.sizes().len() > 1, reduction)?;
    margins::check_target(targets, spec)?;
    let fits = match *spec.sizes() {
        [count, classes] => targets.sizes() == [count, classes],
        _ => targets.sizes().len() <= 1 && targets.numel() == rows.classes,
    };
    if !fits {
        return Err(argument(format!(
            "argument `target` has shape {:?}, expected {:?} as `self`, classes for each example",
            targets.sizes(),
            spec.sizes()
        )));
    }
    Ok(rows)
}

/// Lets `body` see the scores, with arguments that were checked.
///
/// # Errors
///
/// A target that is neither a class nor -1; a tensor without data.
fn with_scores<R>(
    input: &Tensor,
    target: &Tensor,
    rows: Rows,
    body: impl FnOnce(MultiLabelMargin<'_>) -> R,
) -> Result<R> {
    let targets: Vec<i64> = normalise::numbers(target.array()?)?;
    if let Some(target) = targets.iter().find(|target| !(-1..rows.classes).contains(*target)) {
        return Err(argument(format!(
            "argument `target` holds {target}, expected classes, from 0 to {}, or -1",
            rows.classes - 1
        )));
    }
    let scores: Vec<f64> = normalise::numbers(input.array()?)?;
    Ok(body(MultiLabelMargin { scores: &scores, classes: rows.classes as usize, targets: &targets }))
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
            .operator(MultilabelMarginLoss, DTYPES, inputs, |it| Ok(losses(it)?.into()))
            .tolerance(8.0)
            .refuses("expected int64", x().and(classes(&[2, 3], 0).to(DType::I32)))
            .refuses("`target` has shape [3]", x().and(classes(&[3], 0)))
            .refuses("`reduction` is 3", x().and(classes(&[2, 3], 0)).named("reduction", 3))
            .refuses(
                "at least one class",
                given(generate::numbers(DType::F32, &[1, 2, 3], 0)).and(classes(&[3], 0)),
            )
            .refuses_data("`target` holds 3", x().and(classes(&[2, 3], 3)))
            .refuses_data("`target` holds -2", x().and(classes(&[2, 3], -2)));
        samples
            .operator(MultilabelMarginLossForward, DTYPES, inputs, |it| {
                Ok([losses(it)?, is_target(it.tensor("self")?.dtype(), it.tensor("target")?)].into())
            })
            .tolerance(8.0)
            .constant(&["is_target"]);
        let with_outputs = |dtype| {
            let with = |sample: Sample| {
                let [x, target] =
                    [0, 1].map(|place: usize| sample.positional[place].tensors()[0].sizes().to_vec());
                let is_kept = x.len() == 2 && sample.keyword[0].1.to_string() == "0";
                let losses = if is_kept { vec![x[0]] } else { Vec::new() };
                let outputs = [("output", losses), ("is_target", target)];
                outputs.into_iter().fold(sample, |sample, (name, sizes)| {
                    sample.named(name, generate::numbers(dtype, &sizes, 2))
                })
            };
            inputs(dtype).into_iter().map(with).collect()
        };
        samples
            .operator(MultilabelMarginLossForwardOutput, DTYPES, with_outputs, |it| {
                Ok([losses(it)?, is_target(it.tensor("self")?.dtype(), it.tensor("target")?)].into())
            })
            .tolerance(8.0);
        samples
            .operator(MultilabelMarginLossBackward, DTYPES, gradient_inputs, |it| gradients(it, loss))
            .tolerance(256.0)
            // Which classes are targets follows from these.
            .needs_distinct()
            .constant(&["grad_output", "self", "is_target"])
            .refuses("`is_target` has shape [2]", {
                let grad = given(Plain::number(DType::F32, 1)).and(generate::numbers(DType::F32, &[2, 3], 0));
                grad.and(classes(&[2, 3], 0)).and(1).and(generate::numbers(DType::F32, &[2], 0))
            })
            .refuses_data("`is_target` holds 2", {
                let grad = given(Plain::number(DType::F32, 1)).and(generate::numbers(DType::F32, &[2, 3], 0));
                grad.and(classes(&[2, 3], 0)).and(1).and(Plain::from_elements(DType::F32, &[2, 3], &[2]))
            });
        samples.rounds(MultilabelMarginLoss, Roundings::all(Rounding::Sum(64)));
        samples.rounds(MultilabelMarginLossForward, Roundings::all(Rounding::Sum(64)));
        samples.rounds(MultilabelMarginLossBackward, Roundings::all(Rounding::Sum(64)));
        samples.differs(MultilabelMarginLoss, loss::samples::CHECKED);
        samples.differs(MultilabelMarginLossForward, loss::samples::CHECKED);
        samples.differs(MultilabelMarginLossBackward, loss::samples::CHECKED);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let targets = [3, 0, -1, 1, -1, 2, 3, 0, 0, 1, 2, 3, 1, 1, -1, -1];
        let one = |(sizes, target): &(&[i64], &[i64])| {
            let classes = sizes.last().copied().unwrap_or(1);
            let own = targets.map(|target: i64| target.min(classes - 1));
            given(scores(dtype, sizes)).and(Plain::from_elements(DType::I64, target, &own))
        };
        let shapes: [(&[i64], &[i64]); 7] = [
            (&[4, 4], &[4, 4]),
            (&[4], &[4]),
            (&[1], &[]),
            (&[], &[]),
            (&[], &[1]),
            (&[2, 5], &[2, 5]),
            (&[0, 3], &[0, 3]),
        ];
        loss::samples::all_reductions(shapes.iter().map(one).collect())
    }

    /// The calls with gradients, and with the classes that are targets.
    fn gradient_inputs(dtype: DType) -> Vec<Sample> {
        let marked = |mut sample: Sample| {
            let target = sample.positional[2].tensors()[0].clone();
            let reduction = sample.keyword.remove(0).1;
            sample.and(reduction).and(is_target(dtype, &target))
        };
        with_gradients(dtype, inputs(dtype)).into_iter().map(marked).collect()
    }

    /// The targets of a row that count.
    fn counting(targets: &[i64]) -> Vec<i64> {
        targets.iter().copied().take_while(|target| *target >= 0).collect()
    }

    fn is_target(dtype: DType, target: &Plain) -> Plain {
        let width = target.sizes().last().copied().unwrap_or(1);
        Plain::from_fn(dtype, target.sizes(), |at| {
            let (row, class) = at.split_at(at.len().saturating_sub(1));
            let own: Vec<i64> = (0..width)
                .map(|place| number::whole(target.at(&[row, &[place][..class.len()]].concat())))
                .collect();
            Scalar::Int(i64::from(counting(&own).contains(class.first().unwrap_or(&0))))
        })
    }

    fn loss(scores: &[f64], targets: &[i64]) -> f64 {
        let own = counting(targets);
        let others = (0..scores.len()).filter(|class| !own.contains(&(*class as i64)));
        let pairs = others.flat_map(|class| own.iter().map(move |target| (class, *target as usize)));
        let sum: f64 = pairs.map(|(class, target)| (1.0 - scores[target] + scores[class]).max(0.0)).sum();
        sum / scores.len() as f64
    }

    fn losses(it: &Inputs) -> Result<Plain> {
        let losses: Vec<f64> = rows(it)?.iter().map(|(scores, targets)| loss(scores, targets)).collect();
        reduced(it, &losses, it.tensor("self")?.sizes().len() == 2)
    }
}
