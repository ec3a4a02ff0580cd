//! `aten::nll_loss`: how unlikely classes are, of which the logarithms of probabilities are given.
//!
//! `loss[j] = -weight[target[j]] * self[j, target[j]]`, and 0 where `target[j] = ignore_index`; reduced to the sum (2) of all,
//! to the sum divided by that of the weights (1), or not (0), as `reduction` says
//!
//! - Shapes: classes are dimension 1 of `self`, or the only one; `target` has the others, or size 1 beside a single one.
//!   `nll_loss` takes one or two dimensions, `nll_loss2d` four, `nll_loss_nd` any. None with a reduction.
//! - Strides: row-major.
//! - Dtypes: that of `self`, a floating-point one; `target` has int64 or uint8.
//! - Aliasing: the `out` overloads write `out`, or `output` and `total_weight`.
//! - Derivative: the weights have none, nor has their sum.
//! - Values: without classes, `ignore_index` alone is a target.
//! - Dispatch: composites of `gather`, `where` and sums; the first ones of `nll_loss_forward` and `nll_loss2d_forward`, whose
//!   second result is the sum of the weights, 0 without a reduction of several.
//! - Errors: other dtypes and shapes; a `weight` with another number of elements than there are classes; a target that is no
//!   class; another `reduction`.
//! - Source: torch.nn.functional.nll_loss, PyTorch 2.15.

use opgrid_core::operator::ArgsOf;

use super::nll_loss_backward::{gradient, over_total};
use crate::prelude::*;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::{
    Any, DivTensor, Gather, IndexSelect, LocalScalarDense, MulTensor, NeScalar, Neg, Reshape, SqueezeDim,
    Sum, Unsqueeze, WhereScalarOther, Zeros,
};
use opgrid_tensor::tensor::Dims;

pub use opgrid_tensor::ops::losses::nll_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define(NllLossForward).kind(&kind::LOSS).on_every_backend(forward).derivative(derivative);
    library.define(NllLossForwardOutput).kind(&kind::LOSS).on_every_backend(
        |input, target, weight, reduction, ignore_index, out, total| {
            write(&forward(input, target, weight, reduction, ignore_index)?, out, total)
        },
    );
    library.define(NllLoss2dForward).kind(&kind::LOSS).on_every_backend(forward_2d).derivative(derivative);
    library.define(NllLoss2dForwardOutput).kind(&kind::LOSS).on_every_backend(
        |input, target, weight, reduction, ignore_index, out, total| {
            write(&forward_2d(input, target, weight, reduction, ignore_index)?, out, total)
        },
    );
    library.define_with_forms(NllLoss, &kind::LOSS).implicit(
        |input, target, weight, reduction, ignore_index| {
            Ok(NllLossForward.call(input, target, weight, reduction, ignore_index)?.0)
        },
    );
    library.implement(NllLossOut).implicit(|input, target, weight, reduction, ignore_index, out| {
        result::converted(&[(out, &NllLossForward.call(input, target, weight, reduction, ignore_index)?.0)])
    });
    library.define_with_forms(NllLoss2d, &kind::LOSS).implicit(
        |input, target, weight, reduction, ignore_index| {
            Ok(NllLoss2dForward.call(input, target, weight, reduction, ignore_index)?.0)
        },
    );
    library.implement(NllLoss2dOut).implicit(|input, target, weight, reduction, ignore_index, out| {
        result::converted(&[(out, &NllLoss2dForward.call(input, target, weight, reduction, ignore_index)?.0)])
    });
    library.define(NllLossNd).kind(&kind::LOSS).implicit(nll_loss_nd);
}

fn forward(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
    ignore_index: i64,
) -> Result<(Tensor, Tensor)> {
    match input.spec()?.sizes().len() {
        1 | 2 => of_classes(input, target, weight, reduction, ignore_index),
        dims => {
            Err(argument(format!("argument `self` has {dims} dimensions, expected one or two dimensions")))
        }
    }
}

fn forward_2d(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
    ignore_index: i64,
) -> Result<(Tensor, Tensor)> {
    match input.spec()?.sizes().len() {
        4 => of_classes(input, target, weight, reduction, ignore_index),
        dims => Err(argument(format!("argument `self` has {dims} dimensions, expected four dimensions"))),
    }
}

fn write((losses, weights): &(Tensor, Tensor), out: &Tensor, total: &Tensor) -> Result<()> {
    result::converted(&[(out, losses), (total, weights)])
}

/// The losses and the sum of the weights, for any number of dimensions.
fn of_classes(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
    ignore_index: i64,
) -> Result<(Tensor, Tensor)> {
    const NONE: Scalar = Scalar::Int(0);
    let (dtype, dim) = (input.dtype(), input.dim().saturating_sub(1).min(1));
    check(input, target, weight, dim)?;
    let reduction = loss::Reduction::numbered(reduction)?;
    let has_classes = input.sizes()[dim] > 0;
    let dim = dim as i64;
    let (counts, classes) = classes_of(target, dim, ignore_index)?;
    let weight = weight.filter(|_| has_classes);
    let weights = weight.map(|weight| weights_of(weight, &counts, &classes)).transpose()?;
    let losses = if has_classes {
        let chosen = Gather.call(input, dim, &Unsqueeze.call(&classes, dim)?, false)?;
        let losses = Neg.call(&SqueezeDim.call(&chosen, dim)?)?;
        let losses = match &weights {
            Some(weights) => MulTensor.call(&losses, weights)?,
            None => losses,
        };
        WhereScalarOther.call(&counts, &losses, NONE)?
    } else {
        check_nothing_counts(&counts)?;
        Zeros.call(counts.sizes(), Some(dtype), None, Some(input.device()), None)?
    };
    // Of a single class, the sum of the weights is that of the one loss.
    let is_single = dim == 0;
    if reduction == loss::Reduction::None && !is_single {
        return Ok((losses, Zeros.call(&[], Some(dtype), None, Some(input.device()), None)?));
    }
    let total = match &weights {
        Some(weights) => Sum.call(weights, None)?,
        None => Sum.call(&counts, None)?.to_dtype(dtype)?,
    };
    let sum = Sum.call(&losses, None)?;
    let loss = if reduction == loss::Reduction::Mean { DivTensor.call(&sum, &total)? } else { sum };
    Ok((loss, total))
}

/// Which targets count, and the classes that they name; the others name the first one. They are row-major, and have no
/// dimension where classes are all that there is.
pub(super) fn classes_of(target: &Tensor, dim: i64, ignore_index: i64) -> Result<(Tensor, Tensor)> {
    let target = if dim == 0 { &Reshape.call(target, &[])? } else { &target.contiguous()? };
    let counts = NeScalar.call(target, Scalar::Int(ignore_index))?;
    let classes = WhereScalarOther.call(&counts, &target.to_dtype(DType::I64)?, Scalar::Int(0))?;
    Ok((counts, classes))
}

/// # Errors
///
/// A target that names a class where there are none. Meta tensors name none.
pub(super) fn check_nothing_counts(counts: &Tensor) -> Result<()> {
    if !counts.device().is_meta() && LocalScalarDense.call(&Any.call(counts)?)?.to_bool() {
        return Err(argument(
            "argument `target` has a class index, but `self` has no classes, expected `ignore_index` alone",
        ));
    }
    Ok(())
}

/// The weights of the classes, zero for targets that do not count.
pub(super) fn weights_of(weight: &Tensor, counts: &Tensor, classes: &Tensor) -> Result<Tensor> {
    let each = IndexSelect.call(weight, 0, &Reshape.call(classes, &[-1])?)?;
    WhereScalarOther.call(counts, &Reshape.call(&each, classes.sizes())?, Scalar::Int(0))
}

/// States the derivative: each chosen element has its weight, over the sum of the weights for a mean.
fn derivative(
    d: &Recorder<'_>,
    (input, target, weight, reduction, ignore_index): ArgsOf<'_, NllLossForward>,
) -> Result<()> {
    loss::check_constant(d, "weight", weight)?;
    let is_mean = loss::Reduction::numbered(reduction)? == loss::Reduction::Mean;
    let sizes = Dims::from_slice(input.sizes());
    d.differentiable(1);
    let kept = [Some(target), weight, is_mean.then(|| d.result(1))];
    d.together([Some(input)], kept, move |grads, [target, weight, total], _| {
        let (Some(grad), Some(target)) = (grads.for_result(0), target) else { return Ok([None]) };
        let grad = total.map_or_else(|| Ok(grad.clone()), |total| over_total(grad, total))?;
        gradient(&grad, &sizes, target, weight, ignore_index).map(|grad| [Some(grad)])
    })
}

/// # Errors
///
/// Other dtypes and shapes.
pub(super) fn check(input: &Tensor, target: &Tensor, weight: Option<&Tensor>, dim: usize) -> Result<()> {
    pointwise::check_float(input.spec()?.dtype())?;
    if !matches!(target.spec()?.dtype(), DType::I64 | DType::U8) {
        return Err(argument(format!(
            "argument `target` has dtype {}, expected int64 or uint8",
            target.dtype()
        )));
    }
    let mut others = input.sizes().to_vec();
    let classes = others.remove(dim);
    let is_single = dim == 0 && target.sizes() == [1];
    if target.sizes() != others && !is_single {
        let message = format!(
            "argument `target` has shape {:?}, expected {others:?}, which is that of `self`, {:?}, \
             without its classes",
            target.sizes(),
            input.sizes()
        );
        return Err(argument(message));
    }
    if let Some(weight) = weight {
        pointwise::check_one_dtype(("self", input), ("weight", weight))?;
        if weight.sizes() != [classes] {
            let message = format!(
                "argument `weight` has shape {:?}, expected [{classes}], one weight for each class",
                weight.sizes()
            );
            return Err(argument(message));
        }
    }
    Ok(())
}

fn nll_loss_nd(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
    ignore_index: i64,
) -> Result<Tensor> {
    match input.spec()?.sizes() {
        [] => Err(argument("argument `self` has no dimensions, expected a dimension of classes")),
        [_] | [_, _] => NllLoss.call(input, target, weight, reduction, ignore_index),
        [_, _, _, _] => NllLoss2d.call(input, target, weight, reduction, ignore_index),
        [batch, classes, rest @ ..] => {
            check(input, target, weight, 1)?;
            let count = rest.iter().product();
            let image = Reshape.call(input, &[*batch, *classes, 1, count])?;
            let losses = NllLoss2d.call(
                &image,
                &Reshape.call(target, &[*batch, 1, count])?,
                weight,
                reduction,
                ignore_index,
            )?;
            match loss::Reduction::numbered(reduction)? {
                loss::Reduction::None => Reshape.call(&losses, target.sizes()),
                _ => Ok(losses),
            }
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let few = |dtype| {
            let single =
                given(generate::numbers(dtype, &[4], 1)).and(Plain::from_elements(DType::I64, &[1], &[2]));
            [of_shapes(dtype, &[&[2, 3], &[4], &[0, 3], &[37, 2]]), vec![single, without_classes(dtype)]]
                .concat()
        };
        let images = |dtype| of_shapes(dtype, &[&[2, 3, 2, 2], &[1, 2, 3, 1], &[0, 2, 2, 2]]);
        let any = |dtype| of_shapes(dtype, &[&[2, 3], &[4], &[2, 3, 4], &[2, 3, 2, 2], &[2, 3, 1, 2, 2]]);
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        let classes = |sizes: &[i64], classes: &[i64]| Plain::from_elements(DType::I64, sizes, classes);
        samples
            .operator(NllLoss, FLOATS, few, |it| Ok(expected(it)?.0))
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight"])
            .refuses("expected int64 or uint8", x().and(Plain::from_elements(DType::I32, &[2], &[0])))
            .refuses("`target` has shape", x().and(classes(&[3], &[0])))
            .refuses(
                "`weight` has shape",
                x().and(classes(&[2], &[0])).and(generate::numbers(DType::F32, &[2], 0)),
            )
            .refuses(
                "one or two dimensions",
                given(generate::numbers(DType::F32, &[2, 3, 2], 0)).and(classes(&[2, 2], &[0])),
            )
            .refuses_data("", x().and(classes(&[2], &[0, 3])));
        samples
            .operator(NllLoss2d, FLOATS, images, |it| Ok(expected(it)?.0))
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight"]);
        samples
            .operator(NllLossNd, FLOATS, any, |it| Ok(expected(it)?.0))
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight"]);
        let both = |it: &Inputs| {
            let (losses, weights) = expected(it)?;
            Ok(Expected::Several(vec![losses, weights]))
        };
        samples
            .operator(
                NllLossForward,
                FLOATS,
                |dtype| with_all_arguments(of_shapes(dtype, &[&[2, 3], &[4], &[0, 3], &[37, 2]])),
                both,
            )
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight"]);
        samples
            .operator(
                NllLoss2dForward,
                FLOATS,
                |dtype| with_all_arguments(of_shapes(dtype, &[&[2, 3, 2, 2], &[1, 2, 3, 1], &[0, 2, 2, 2]])),
                both,
            )
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight"]);
        samples
            .operator(
                NllLossForwardOutput,
                FLOATS,
                |dtype| with_outputs(dtype, with_all_arguments(of_shapes(dtype, &[&[2, 3], &[4], &[0, 3]]))),
                both,
            )
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight"]);
        samples
            .operator(
                NllLoss2dForwardOutput,
                FLOATS,
                |dtype| {
                    with_outputs(dtype, with_all_arguments(of_shapes(dtype, &[&[2, 3, 2, 2], &[0, 2, 2, 2]])))
                },
                both,
            )
            .tolerance(loss::samples::TOLERANCE)
            .constant(&["weight"]);
        samples.rounds(NllLoss, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NllLossForward, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NllLossNd, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NllLoss2d, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NllLoss2dForward, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(NllLoss, loss::samples::OUTPUTS);
        samples.differs_as(NllLossForward, loss::samples::OUTPUTS);
        samples.differs_as(NllLoss2d, loss::samples::OUTPUTS);
        samples.differs_as(NllLoss2dForward, loss::samples::OUTPUTS);
        samples.differs(NllLoss, loss::samples::CHECKED);
        samples.differs(NllLossForward, loss::samples::CHECKED);
        samples.differs_as(NllLossNd, &[loss::samples::CHECKED, BYTES, NO_CLASSES]);
        samples.differs_as(NllLoss2d, &[loss::samples::CHECKED, BYTES, NOTHING]);
        samples.differs_as(NllLoss2dForward, &[loss::samples::CHECKED, BYTES, NOTHING]);
    }

    /// Differences for uint8 classes.
    pub(crate) const BYTES: Difference = Difference {
        id: "classes-of-images-in-bytes",
        what: "torch documents uint8 class indices for images, but fails on them; here they are \
             accepted, as without images",
        why: "class indices behave alike everywhere",
        test: ("opgrid-operators/tests/all/losses.rs", "what_torch_refuses_by_accident_is_computed"),
        when: |seen| {
            let is_byte = seen.tensor("target").is_some_and(|target| target.dtype == DType::U8);
            is_byte && seen.torch_refuses("expected scalar type Long but found Byte")
        },
        directed: None,
    };

    /// Differences for `nll_loss_nd` without classes.
    const NO_CLASSES: Difference = Difference {
        id: "lines-and-volumes-without-classes",
        what: "torch treats 1-d and 3-d log-probabilities without classes as images of size zero, to \
             which targets do not match, and rejects them; here all their targets may be \
             `ignore_index`, as for images",
        why: "all numbers of dimensions behave alike",
        test: ("opgrid-operators/tests/all/losses.rs", "without_classes_all_targets_are_ignored"),
        when: |seen| {
            let is_volume = |sizes: &[i64]| matches!(sizes, [_, 0, _] | [_, 0, _, _, _, ..]);
            let has_no_classes = |input: &Operand| is_volume(input.geometry.sizes());
            seen.tensor("self").is_some_and(has_no_classes) && seen.torch_refuses("size mismatch (got input:")
        },
        directed: None,
    };

    /// Differences for losses of empty inputs.
    pub(crate) const NOTHING: Difference = Difference {
        id: "losses-of-nothing-are-checked",
        what: "torch does not check the dtypes of logits and outputs, or the shape of weights, in \
             losses of empty images; here they are checked whatever the sizes are",
        why: "whether a call is valid must not depend on sizes or elements",
        test: ("opgrid-operators/tests/all/losses.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let is_empty = seen.tensor("self").is_some_and(Operand::is_empty);
            let is_output =
                seen.out().is_some() && seen.we_refuse("can't be cast to the desired output type");
            let words = ["expected a floating-point dtype", "argument `weight` has shape"];
            is_empty && (is_output || words.iter().any(|words| seen.we_refuse(words)))
        },
        directed: None,
    };

    /// Logarithms of these shapes with classes, with and without weights and a class that is ignored, and all reductions.
    pub(crate) fn of_shapes(dtype: DType, shapes: &[&[i64]]) -> Vec<Sample> {
        let one = |sizes: &&[i64]| {
            let (count, others) = match *sizes {
                [count] => (*count, Vec::new()),
                [first, count, rest @ ..] => (*count, [&[*first], rest].concat()),
                [] => (1, Vec::new()),
            };
            let target: Vec<i64> = (0..7).map(|at| (at * 5 + 1) % count.max(1)).collect();
            let target = Plain::from_elements(DType::I64, &others, &target);
            let weight = Plain::from_elements(dtype, &[count], &[0.5, 2.0, 1.5, 0.25]);
            let plain = given(generate::numbers(dtype, sizes, 1)).and(target);
            [plain.clone(), plain.named("weight", weight).named("ignore_index", 1i64)]
        };
        loss::samples::all_reductions(shapes.iter().flat_map(one).collect())
    }

    /// Adds every optional argument to samples.
    fn with_all_arguments(samples: Vec<Sample>) -> Vec<Sample> {
        let all = |sample: Sample| {
            let has = |name: &str| sample.keyword.iter().any(|(known, _)| known == name);
            let (no_weight, no_index) = (!has("weight"), !has("ignore_index"));
            let sample = if no_weight {
                sample.clone().named("weight", opgrid_core::Value::None)
            } else {
                sample.clone()
            };
            if no_index { sample.named("ignore_index", -100i64) } else { sample }
        };
        samples.into_iter().map(all).collect()
    }

    /// No classes, and targets that are all ignored.
    fn without_classes(dtype: DType) -> Sample {
        let x =
            given(generate::numbers(dtype, &[2, 0], 0)).and(Plain::from_elements(DType::I64, &[2], &[-100]));
        x.named("reduction", 2i64)
    }

    /// Adds outputs of the right shapes to samples.
    fn with_outputs(dtype: DType, samples: Vec<Sample>) -> Vec<Sample> {
        let with = |sample: Sample| {
            let is_reduced =
                !sample.keyword.iter().any(|(name, given)| name == "reduction" && given.to_string() == "0");
            let target = sample.positional.get(1).map_or(Vec::new(), Given::tensors);
            let sizes = match target.first() {
                Some(target) if !is_reduced => target.sizes().to_vec(),
                _ => Vec::new(),
            };
            sample
                .named("output", generate::numbers(dtype, &sizes, 2))
                .named("total_weight", generate::numbers(dtype, &[], 3))
        };
        samples.into_iter().map(with).collect()
    }

    /// The losses and the sum of the weights.
    fn expected(it: &Inputs) -> Result<(Expected, Expected)> {
        let (x, target, weight) = (it.tensor("self")?, it.tensor("target")?, it.tensor("weight").ok());
        let (reduction, ignored): (i64, i64) = (it.value("reduction")?, it.value("ignore_index")?);
        let weight_at = |position: &[i64]| match number::whole(target.at(position)) {
            class if class == ignored => 0.0,
            class => weight.map_or(1.0, |weight| weight.at(&[class]).to_complex().re),
        };
        let losses = Plain::from_fn(DType::F64, target.sizes(), |position| {
            let mut place = if x.sizes().len() == 1 { Vec::new() } else { position.to_vec() };
            place.insert(place.len().min(1), number::whole(target.at(position)));
            let factor = weight_at(position);
            Scalar::Float(if factor == 0.0 { 0.0 } else { -factor * x.at(&place).to_complex().re })
        });
        let total: f64 = naive::positions(target.sizes()).map(|position| weight_at(&position)).sum();
        let sum: f64 = losses.elements().iter().map(|loss| loss.to_complex().re).sum();
        let number = |value: f64| Plain::number(x.dtype(), value);
        Ok(match reduction {
            0 if x.sizes().len() == 1 => (number(sum).into(), number(total).into()),
            0 => (losses.to(x.dtype()).into(), number(0.0).into()),
            1 => (number(sum / total).into(), number(total).into()),
            _ => (number(sum).into(), number(total).into()),
        })
    }
}
