//! What losses share: how they are reduced, how they are written to outputs, and their samples.

use opgrid_core::{DType, Operator, Result, Scalar};

use crate::error::argument;
use crate::layers::autograd::Recorder;
use crate::ops::{Mean, Sum, ToCopy};
use crate::samples::{Expected, FLOATS, Inputs, OperatorSamples, Plain, Sample, Samples, given, make, naive};
use crate::tensor::{Tensor, broadcast};

/// How the losses of elements become the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    /// Not at all.
    None,
    /// To their mean.
    Mean,
    /// To their sum.
    Sum,
}

impl Reduction {
    /// The reduction with torch's number.
    ///
    /// # Errors
    ///
    /// Another number.
    pub(crate) fn numbered(number: i64) -> Result<Self> {
        match number {
            0 => Ok(Self::None),
            1 => Ok(Self::Mean),
            2 => Ok(Self::Sum),
            other => Err(argument(format!(
                "argument `reduction` is {other}, expected 0 (none), 1 (mean) or 2 (sum)"
            ))),
        }
    }
}

/// The losses of elements, reduced.
///
/// # Errors
///
/// An unknown number; those of the mean.
pub(crate) fn reduced(losses: Tensor, reduction: i64) -> Result<Tensor> {
    match Reduction::numbered(reduction)? {
        Reduction::None => Ok(losses),
        Reduction::Mean => Mean.call(&losses, None),
        Reduction::Sum => Sum.call(&losses, None),
    }
}

/// The gradient of the losses of elements by that of what they were reduced to; `count` is how many there are.
///
/// # Errors
///
/// An unknown number.
pub(crate) fn of_each(grad: &Tensor, reduction: i64, count: i64) -> Result<Tensor> {
    match Reduction::numbered(reduction)? {
        Reduction::Mean => grad.div_scalar(count),
        Reduction::None | Reduction::Sum => Ok(grad.clone()),
    }
}

/// # Errors
///
/// Weights that require gradients, which losses do not give.
pub(crate) fn check_constant(d: &Recorder<'_>, name: &str, weight: Option<&Tensor>) -> Result<()> {
    match d.needs(weight) {
        true => Err(argument(format!(
            "argument `{name}` requires a gradient, but the loss is not differentiable with respect to it; detach it"
        ))),
        false => Ok(()),
    }
}

/// States the derivative of a loss that is a function of the difference of two tensors, by its slope there.
///
/// # Errors
///
/// Tensors whose shapes do not broadcast.
pub(crate) fn of_difference(
    d: &Recorder<'_>,
    [input, target]: [&Tensor; 2],
    reduction: i64,
    slope: impl Fn(&Tensor) -> Result<Tensor> + Clone + Send + Sync + 'static,
) -> Result<()> {
    let count = broadcast(&[input.sizes(), target.sizes()])?.iter().product();
    let formula = move |grad: &Tensor, [input, target]: [&Tensor; 2]| {
        of_each(grad, reduction, count)? * slope(&(input - target)?)?
    };
    d.by(input, [input, target], formula.clone())?;
    d.by(target, [input, target], move |grad, kept| formula(&(-grad)?, kept))
}

/// Floats of 16 bits in single precision, so that steps in between are not rounded to 16 bits; others as they are.
///
/// # Errors
///
/// An undefined tensor.
pub(crate) fn wide(x: &Tensor) -> Result<Tensor> {
    match x.spec()?.dtype() {
        DType::F16 | DType::BF16 => narrow(x.clone(), DType::F32),
        _ => Ok(x.clone()),
    }
}

/// A tensor in a dtype, itself if it has that.
///
/// # Errors
///
/// Those of the conversion.
pub(crate) fn narrow(x: Tensor, dtype: DType) -> Result<Tensor> {
    match x.dtype() == dtype {
        true => Ok(x),
        false => ToCopy.call(&x, Some(dtype), None, None, None, false, None),
    }
}

/// What the losses of elements give, reduced, in a dtype.
pub(crate) fn reduced_plain(losses: &Plain, reduction: i64) -> Expected {
    let sum = losses.elements().iter().map(|loss| loss.to_complex().re).sum::<f64>();
    let count = losses.elements().len() as f64;
    match reduction {
        0 => losses.clone().into(),
        1 => Plain::number(losses.dtype(), sum / count).into(),
        _ => Plain::number(losses.dtype(), sum).into(),
    }
}

/// What a loss gives that is a function of two floats, reduced as the argument `reduction` says.
///
/// # Errors
///
/// Arguments are missing.
pub(crate) fn of_two(it: &Inputs, names: [&str; 2], loss: impl Fn(f64, f64) -> f64) -> Result<Expected> {
    let [a, b] = [it.tensor(names[0])?, it.tensor(names[1])?];
    let dtype = it.common_dtype(&names)?;
    let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
    let at = |x: &Plain, position: &[i64]| naive::convert(x.at(position), dtype).to_complex().re;
    // In double precision: the result alone is rounded.
    let losses =
        Plain::from_fn(DType::F64, &sizes, |position| Scalar::Float(loss(at(a, position), at(b, position))));
    let reduced = reduced_plain(&losses, it.value("reduction")?);
    Ok(match reduced {
        Expected::Tensor(losses) => losses.to(dtype).into(),
        other => other,
    })
}

/// Pairs of tensors of the dtype, each with all reductions.
pub(crate) fn pairs(dtype: DType) -> Vec<Sample> {
    let shapes: [(&[i64], &[i64]); 5] =
        [(&[2, 3], &[2, 3]), (&[2, 3], &[3]), (&[], &[]), (&[0, 2], &[0, 2]), (&[2, 37], &[2, 37])];
    let pair = |(a, b): (&[i64], &[i64])| given(make::numbers(dtype, a, 1)).and(make::numbers(dtype, b, 2));
    all_reductions(shapes.map(pair).to_vec())
}

/// Each sample with all reductions.
pub(crate) fn all_reductions(samples: Vec<Sample>) -> Vec<Sample> {
    let all = |sample: Sample| [0i64, 1, 2].map(|reduction| sample.clone().named("reduction", reduction));
    samples.into_iter().flat_map(all).collect()
}

/// Samples of a loss of floats that is a function of two.
pub(crate) fn samples<O: Operator>(
    samples: &mut Samples,
    operator: O,
    inputs: fn(DType) -> Vec<Sample>,
    loss: fn(f64, f64) -> f64,
) -> &mut OperatorSamples {
    samples
        .of_function(operator, FLOATS, inputs, move |it| of_two(it, ["self", "target"], loss))
        .tolerance(TOLERANCE)
        .refuses("`reduction` is 3", {
            let x = make::numbers(DType::F32, &[2], 0);
            given(x.clone()).and(x).named("reduction", 3i64)
        })
}

/// How far losses may be off: each step of a composite rounds to the dtype.
pub(crate) const TOLERANCE: f64 = 64.0;
