//! `aten::cross_entropy_loss`: how unlikely classes, or distributions over classes, are under logits.
//!
//! With classes: `nll_loss_nd(log_softmax(self), target)`. With a distribution each, of the shape of `self`:
//! `loss[j] = -(sum over c of weight[c] * target[j, c] * log_softmax(self)[j, c])`. `label_smoothing` moves that part of each
//! distribution to the uniform one
//!
//! - Shapes: classes are dimension 1 of `self`, or the only one; `target` has the others, or all, or size 1 beside a single
//!   one. None with a reduction.
//! - Dtypes: floating-point ones; classes are int64 or uint8.
//! - Values: the mean (1) of classes is that of their weights, without what `ignore_index` names; that of distributions counts
//!   each as one.
//! - Dispatch: a composite of `exp`, `log`, sums and `nll_loss_nd`, whose derivatives it inherits.
//! - Errors: other dtypes and shapes; a `label_smoothing` outside of 0 to 1; an `ignore_index` beside distributions; another
//!   `reduction`.
//! - Source: torch.nn.functional.cross_entropy, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{
    AddTensor, DivScalar, DivTensor, EqScalar, IndexSelect, LogSoftmaxInt, LogicalNot, MaskedFillScalar,
    MulScalar, MulTensor, Neg, NllLossNd, Reshape, Sum, SumDim, WhereScalarOther, WhereScalarSelf,
};

pub use opgrid_tensor::ops::losses::cross_entropy_loss::*;

pub(super) fn register(library: &mut Library) {
    library.define(CrossEntropyLoss).kind(&kind::LOSS).implicit(cross_entropy_loss);
}

fn cross_entropy_loss(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
    ignore_index: i64,
    label_smoothing: f64,
) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&label_smoothing) {
        let message =
            format!("argument `label_smoothing` is {label_smoothing}, expected a number between 0 and 1");
        return Err(argument(message));
    }
    pointwise::check_float(input.spec()?.dtype())?;
    if input.sizes().is_empty() {
        return Err(argument("argument `self` has no dimensions, expected a dimension of classes"));
    }
    let dim = i64::from(input.sizes().len() > 1);
    let log = LogSoftmaxInt.call(input, dim, None)?;
    if target.spec()?.sizes() == input.sizes() {
        return of_parts(&log, target, weight, reduction, ignore_index, label_smoothing);
    }
    let plain = NllLossNd.call(&log, target, weight, reduction, ignore_index)?;
    // One class may have a dimension.
    let target = if dim == 0 { &Reshape.call(target, &[])? } else { target };
    if label_smoothing == 0.0 {
        return Ok(plain);
    }
    let smooth = smooth(&log, target, weight, reduction, ignore_index)?;
    let count = log.sizes()[dim as usize] as f64;
    let plain = MulScalar.call(&plain, Scalar::Float(1.0 - label_smoothing))?;
    AddTensor.call(&plain, &smooth, Scalar::Float(label_smoothing / count))
}

/// Elements of the shape of `log`, times the weights of their classes.
fn weighted(log: &Tensor, weight: Option<&Tensor>) -> Result<Tensor> {
    let Some(weight) = weight else { return Ok(log.clone()) };
    let dim = usize::from(log.dim() > 1);
    if weight.spec()?.sizes() != [log.sizes()[dim]] {
        let message = format!(
            "argument `weight` has shape {:?}, expected [{}], one weight for each class",
            weight.sizes(),
            log.sizes()[dim]
        );
        return Err(argument(message));
    }
    let mut sizes = vec![1; log.dim()];
    sizes[dim] = weight.numel();
    MulTensor.call(log, &Reshape.call(weight, &sizes)?)
}

/// The losses of distributions.
fn of_parts(
    log: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
    ignore_index: i64,
    label_smoothing: f64,
) -> Result<Tensor> {
    if !target.dtype().is_floating_point() {
        let message = format!(
            "argument `target` has dtype {} and the shape of `self`, expected class probabilities of a \
             floating-point dtype, or class indices",
            target.dtype()
        );
        return Err(argument(message));
    }
    if ignore_index >= 0 {
        let message = format!(
            "argument `ignore_index` is {ignore_index}, which is not supported for \
             class probabilities"
        );
        return Err(argument(message));
    }
    let dim = i64::from(log.dim() > 1);
    let count = log.sizes()[dim as usize];
    let target = if label_smoothing > 0.0 {
        let plain = MulScalar.call(target, Scalar::Float(1.0 - label_smoothing))?;
        plain.add(Scalar::Float(label_smoothing / count as f64))?
    } else {
        target.clone()
    };
    let terms = weighted(&MulTensor.call(log, &target)?, weight)?;
    match loss::Reduction::numbered(reduction)? {
        loss::Reduction::None => Neg.call(&SumDim.call(&terms, Some(&[dim]), false, None)?),
        loss::Reduction::Sum => Neg.call(&Sum.call(&terms, None)?),
        loss::Reduction::Mean => {
            let each = log.numel() as f64 / count as f64;
            DivScalar.call(&Neg.call(&Sum.call(&terms, None)?)?, Scalar::Float(each))
        }
    }
}

/// The losses of uniform distributions, which count all classes, without what is ignored.
fn smooth(
    log: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: i64,
    ignore_index: i64,
) -> Result<Tensor> {
    let dim = i64::from(log.dim() > 1);
    let ignored = EqScalar.call(target, Scalar::Int(ignore_index))?;
    let losses = Neg.call(&SumDim.call(&weighted(log, weight)?, Some(&[dim]), false, None)?)?;
    let losses = MaskedFillScalar.call(&losses, &ignored, Scalar::Int(0))?;
    match loss::Reduction::numbered(reduction)? {
        loss::Reduction::None => Ok(losses),
        loss::Reduction::Sum => Sum.call(&losses, None),
        loss::Reduction::Mean => {
            let kept = LogicalNot.call(&ignored)?;
            let count = match weight {
                Some(weight) => {
                    let classes = WhereScalarSelf.call(&ignored, Scalar::Int(0), target)?;
                    let classes = Reshape.call(&classes, &[-1])?;
                    let each = Reshape.call(&IndexSelect.call(weight, 0, &classes)?, target.sizes())?;
                    Sum.call(&WhereScalarOther.call(&kept, &each, Scalar::Int(0))?, None)?
                }
                None => Sum.call(&kept, None)?,
            };
            DivTensor.call(&Sum.call(&losses, None)?, &count)
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::losses::nll_loss::samples::{BYTES, NOTHING};
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = || given(generate::numbers(DType::F32, &[2, 3], 0));
        let classes = || Plain::from_elements(DType::I64, &[2], &[0, 2]);
        samples
            .operator(CrossEntropyLoss, FLOATS, inputs, reference)
            .tolerance(2.0 * loss::samples::TOLERANCE)
            .constant(&["weight"])
            .refuses("`label_smoothing` is 2", x().and(classes()).named("label_smoothing", 2.0))
            .refuses(
                "`ignore_index`",
                x().and(generate::numbers(DType::F32, &[2, 3], 1)).named("ignore_index", 1i64),
            )
            .refuses(
                "expected class probabilities",
                x().and(Plain::from_elements(DType::I64, &[2, 3], &[0])),
            );
        samples.rounds(CrossEntropyLoss, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(CrossEntropyLoss, &[loss::samples::CHECKED, BYTES, NOTHING, SMOOTHING, SINGLE]);
    }

    /// Differences for label smoothing outside of zero to one.
    const SMOOTHING: Difference = Difference {
        id: "parts-of-smoothing-are-checked",
        what: "torch ignores a `label_smoothing` that is negative or NaN; here it is rejected, like one \
             above one",
        why: "the mistake would go unnoticed",
        test: ("opgrid-operators/tests/all/losses.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let part = seen.number("label_smoothing").map(|part| part.to_complex().re);
            part.is_some_and(|part| part.is_nan() || part < 0.0)
                && seen.we_refuse("argument `label_smoothing` is")
        },
        directed: None,
    };

    /// Differences for a single class with a dimension.
    const SINGLE: Difference = Difference {
        id: "single-classes-beside-smoothing",
        what: "torch accepts a class index with a dimension for 1-d logits, but fails to smooth it; \
             here it is smoothed like one without",
        why: "all losses behave alike",
        test: ("opgrid-operators/tests/all/losses.rs", "what_torch_refuses_by_accident_is_computed"),
        when: |seen| {
            let is_single = seen.tensor("target").is_some_and(|target| target.geometry.sizes() == [1]);
            is_single && seen.torch_refuses("output with shape [] doesn't match the broadcast shape [1]")
        },
        directed: None,
    };

    fn inputs(dtype: DType) -> Vec<Sample> {
        if !dtype.is_floating_point() {
            return Vec::new();
        }
        let shapes: [&[i64]; 4] = [&[2, 3], &[4], &[2, 3, 4], &[1, 3, 2, 2]];
        let mut samples = Vec::new();
        for sizes in shapes {
            let (count, others) = match sizes {
                [count] => (*count, Vec::new()),
                _ => (sizes[1], [&sizes[..1], &sizes[2..]].concat()),
            };
            let x = generate::numbers(dtype, sizes, 1);
            let target: Vec<i64> = (0..7).map(|at| (at * 5 + 1) % count).collect();
            let classes = given(x.clone()).and(Plain::from_elements(DType::I64, &others, &target));
            let parts = given(x).and(Plain::from_elements(dtype, sizes, &[0.5, 0.25, 0.125]));
            let weight = Plain::from_elements(dtype, &[count], &[0.5, 2.0, 1.5, 0.25]);
            samples.extend([
                classes.clone(),
                classes.clone().named("weight", weight.clone()).named("ignore_index", 2i64),
                classes.clone().named("label_smoothing", 0.25),
                classes
                    .named("weight", weight.clone())
                    .named("ignore_index", 2i64)
                    .named("label_smoothing", 0.25),
                parts.clone(),
                parts.named("weight", weight).named("label_smoothing", 0.25),
            ]);
        }
        loss::samples::all_reductions(samples)
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, target, weight) = (it.tensor("self")?, it.tensor("target")?, it.tensor("weight").ok());
        let (reduction, ignored): (i64, i64) = (it.value("reduction")?, it.value("ignore_index")?);
        let smoothing: f64 = it.value("label_smoothing")?;
        let dim = usize::from(x.sizes().len() > 1);
        let count = x.sizes()[dim];
        let mut others = x.sizes().to_vec();
        others.remove(dim);
        let is_part = target.sizes() == x.sizes();
        let at = |x: &Plain, position: &[i64], class: i64| {
            let mut place = position.to_vec();
            place.insert(dim, class);
            x.at(&place).to_complex().re
        };
        let factor = |class: i64| weight.map_or(1.0, |weight| weight.at(&[class]).to_complex().re);
        let class = |position: &[i64]| number::whole(target.at(position));
        let losses = Plain::from_fn(DType::F64, &others, |position| {
            if !is_part && class(position) == ignored {
                return Scalar::Float(0.0);
            }
            let total: f64 = (0..count).map(|class| at(x, position, class).exp()).sum();
            let term = |one: i64| {
                let part = if is_part {
                    at(target, position, one)
                } else {
                    f64::from(u8::from(class(position) == one))
                };
                let part = part * (1.0 - smoothing) + smoothing / count as f64;
                -factor(one) * part * (at(x, position, one) - total.ln())
            };
            Scalar::Float((0..count).map(term).sum())
        });
        let sum: f64 = losses.elements().iter().map(|loss| loss.to_complex().re).sum();
        let counted: f64 = if is_part {
            losses.elements().len() as f64
        } else {
            let kept =
                naive::positions(&others).map(|position| class(&position)).filter(|class| *class != ignored);
            kept.map(factor).sum()
        };
        Ok(match reduction {
            0 => losses.to(x.dtype()).into(),
            1 => Plain::number(x.dtype(), sum / counted).into(),
            _ => Plain::number(x.dtype(), sum).into(),
        })
    }
}
