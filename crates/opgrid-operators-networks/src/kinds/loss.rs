//! What losses share: how they are reduced, how they are written to outputs, and their samples.

use opgrid_core::{DType, Result};

use opgrid_array::error::argument;
use opgrid_kinds::pointwise;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::{Mean, MulInplaceTensor, Sum, ToCopy};
use opgrid_tensor::tensor::{Tensor, broadcast, result_type};

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
        Reduction::Mean => grad.div(count.max(1)),
        Reduction::None | Reduction::Sum => Ok(grad.clone()),
    }
}

/// # Errors
///
/// Weights that require gradients, which losses do not give.
pub(crate) fn check_constant(d: &Recorder<'_>, name: &str, weight: Option<&Tensor>) -> Result<()> {
    if d.needs(weight) {
        Err(argument(format!(
            "argument `{name}` requires a gradient, but the loss is not differentiable with respect to it; detach it"
        )))
    } else {
        Ok(())
    }
}

/// # Errors
///
/// A tensor that does not broadcast to the shape of `self`, which the losses have.
pub(crate) fn check_fits(name: &str, tensor: &Tensor, input: &Tensor) -> Result<()> {
    let (sizes, wanted) = (tensor.spec()?.sizes(), input.spec()?.sizes());
    match broadcast(&[wanted, sizes]) {
        Ok(all) if all.as_slice() == wanted => Ok(()),
        _ => Err(argument(format!(
            "argument `{name}` has shape {sizes:?}, expected one that broadcasts to the shape of the \
             losses, {wanted:?}"
        ))),
    }
}

/// Multiplies losses by their weights, if there are some.
///
/// # Errors
///
/// Weights that do not broadcast to the losses, or whose products are not of their kind of numbers.
pub(crate) fn weigh(losses: &Tensor, weight: Option<&Tensor>) -> Result<()> {
    let Some(weight) = weight else { return Ok(()) };
    check_fits("weight", weight, losses)?;
    MulInplaceTensor.call(losses, weight).map(drop)
}

/// An input and its target, of which one may be bools: they are numbers then, of the dtype that both promote to.
///
/// # Errors
///
/// They promote to another dtype than a floating-point one.
pub(crate) fn promoted(both: [&Tensor; 2]) -> Result<[Tensor; 2]> {
    let dtype = result_type(&both)?;
    pointwise::check_float(dtype)?;
    let number = |x: &Tensor| if x.dtype() == DType::Bool { narrow(x.clone(), dtype) } else { Ok(x.clone()) };
    Ok([number(both[0])?, number(both[1])?])
}

/// A gradient, an input and its target in the dtype that all three promote to, which has to be a floating-point one.
///
/// # Errors
///
/// They promote to another dtype.
pub(crate) fn all_promoted(all: [&Tensor; 3]) -> Result<[Tensor; 3]> {
    let dtype = result_type(&all)?;
    pointwise::check_float(dtype)?;
    let [grad, input, target] = all.map(|x| narrow(x.clone(), dtype));
    Ok([grad?, input?, target?])
}

/// The gradient of the input of a loss that is a function of the difference of two tensors, by its slope there; `count` is how many
/// losses there are.
///
/// # Errors
///
/// An unknown reduction; those of the operators that it is made of.
pub(crate) fn by_difference(
    grad: &Tensor,
    both: [&Tensor; 2],
    (reduction, count): (i64, i64),
    slope: impl Fn(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let [input, target] = promoted(both)?;
    of_each(grad, reduction, count)? * slope(&(input - target)?)?
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
    let formula =
        move |grad: &Tensor, both: [&Tensor; 2]| by_difference(grad, both, (reduction, count), &slope);
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
    if x.dtype() == dtype { Ok(x) } else { ToCopy.call(&x, Some(dtype), None, None, None, false, None) }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{Operator, Scalar};

    use super::*;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::departures::access::READ_FIRST;
    use opgrid_samples::prelude::*;

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
        let losses = Plain::from_fn(DType::F64, &sizes, |position| {
            Scalar::Float(loss(at(a, position), at(b, position)))
        });
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
        let pair = |(a, b): (&[i64], &[i64])| {
            given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2))
        };
        all_reductions(shapes.map(pair).to_vec())
    }

    /// Each sample with all reductions.
    pub(crate) fn all_reductions(samples: Vec<Sample>) -> Vec<Sample> {
        let all = |sample: Sample| [0i64, 1, 2].map(|reduction| sample.clone().named("reduction", reduction));
        samples.into_iter().flat_map(all).collect()
    }

    /// Samples of a loss of floats that is a function of two.
    pub(crate) fn collect<O: Operator>(
        samples: &mut Samples,
        operator: O,
        inputs: fn(DType) -> Vec<Sample>,
        loss: fn(f64, f64) -> f64,
    ) -> &mut OperatorSamples {
        samples
            .operator_with(operator, FLOATS, inputs, move |it| of_two(it, ["self", "target"], loss))
            .tolerance(TOLERANCE)
            .refuses("`reduction` is 3", {
                let x = generate::numbers(DType::F32, &[2], 0);
                given(x.clone()).and(x).named("reduction", 3i64)
            })
    }

    /// Gradients beside pairs of tensors of the dtype, with each reduction and these numbers behind them.
    pub(crate) fn gradients(dtype: DType, numbers: &[f64]) -> Vec<Sample> {
        let shapes: [(&[i64], &[i64]); 5] =
            [(&[2, 3], &[2, 3]), (&[2, 3], &[3]), (&[], &[]), (&[0, 2], &[0, 2]), (&[2, 37], &[2, 37])];
        let one = |(a, b): (&[i64], &[i64])| {
            let pair = given(generate::numbers(dtype, a, 1)).and(generate::numbers(dtype, b, 2));
            with_gradients(dtype, a, pair).map(|sample| {
                numbers.iter().fold(sample, |sample: Sample, number| sample.and(Scalar::Float(*number)))
            })
        };
        shapes.into_iter().flat_map(one).collect()
    }

    /// A sample behind the gradient of its losses, which have these sizes unless they are reduced, with each reduction behind it.
    pub(crate) fn with_gradients(dtype: DType, sizes: &[i64], sample: Sample) -> [Sample; 3] {
        [0i64, 1, 2].map(|reduction| {
            let grad = generate::numbers(dtype, if reduction == 0 { sizes } else { &[] }, 5);
            let positional = [vec![grad.into()], sample.positional.clone()].concat();
            Sample { positional, ..sample.clone() }.and(reduction)
        })
    }

    /// The gradient of the input of a loss that is a function of two floats, by its slope.
    ///
    /// # Errors
    ///
    /// Arguments are missing.
    pub(crate) fn of_gradient(it: &Inputs, slope: impl Fn(f64, f64) -> f64) -> Result<Expected> {
        let [grad, a, b] = [it.tensor("grad_output")?, it.tensor("self")?, it.tensor("target")?];
        let weight = it.tensor("weight").ok();
        let count = if it.value::<i64>("reduction")? == 1 { a.elements().len() as f64 } else { 1.0 };
        let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
        Ok(Plain::from_fn(a.dtype(), &sizes, |position| {
            let at = |x: &Plain| x.at(position).to_complex().re;
            Scalar::Float(at(grad) * slope(at(a), at(b)) * weight.map_or(1.0, at) / count)
        })
        .into())
    }

    /// Samples of the gradient of a loss of floats, by the slope of the loss.
    pub(crate) fn collect_gradient<O: Operator>(
        samples: &mut Samples,
        operator: O,
        inputs: fn(DType) -> Vec<Sample>,
        slope: impl Fn(f64, f64) -> f64 + Send + Sync + 'static,
    ) -> &mut OperatorSamples {
        samples.rounds(operator, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(operator, &[CHECKED, departures::math::NOT_FINITE]);
        samples
            .operator_with(operator, FLOATS, inputs, move |it| of_gradient(it, &slope))
            .tolerance(TOLERANCE)
    }

    /// What losses do not take.
    pub(crate) const CHECKED: Difference = Difference {
        id: "reductions-of-losses-are-checked",
        what: "torch accepts any number as `reduction`, and does not reduce, or sums, if it is not a \
             valid one; here invalid ones are rejected",
        why: "the mistake would go unnoticed",
        test: ("opgrid-operators/tests/all/losses.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let has_meaning = |number: Scalar| [0, 1, 2].map(Scalar::Int).contains(&number);
            let is_other = seen.number("reduction").is_some_and(|number| !has_meaning(number));
            is_other && seen.we_refuse("argument `reduction` is")
        },
        directed: None,
    };

    /// Differences for losses that torch computes directly into the output.
    pub(crate) const OUTPUTS: &[Difference] = &[
        Difference {
            id: "losses-computed-in-outputs",
            what: "torch computes unreduced losses in the output, overwriting inputs that it reads \
                 again and memory after it; `binary_cross_entropy` reduces as many elements as the \
                 output had. Here only the result is written",
            why: "elements must not be lost or overwritten",
            test: ("opgrid-operators/tests/all/losses.rs", "outputs_get_the_result_only"),
            when: |seen| {
                let (Some(out), Some(input)) = (seen.out(), seen.tensor("self")) else { return false };
                let is_over =
                    seen.outs().any(|out| seen.inputs().iter().any(|input| input.memory == out.memory));
                let is_other = out.geometry.sizes() != input.geometry.sizes();
                let is_cut = is_other && seen.family() == "binary_cross_entropy";
                let is_larger = |input: &&Operand| input.geometry.sizes() != out.geometry.sizes();
                let is_behind = matches!(seen.family(), "huber_loss" | "soft_margin_loss")
                    && seen.inputs().iter().any(is_larger);
                let refuses = |words: &[&str]| words.iter().any(|words| seen.torch_refuses(words));
                match seen.part {
                    Part::Outcome if is_over && seen.we_refuse("broadcasts to the shape of the losses") => {
                        true
                    }
                    Part::Outcome if is_over && refuses(&["should be between 0 and 1"]) => true,
                    Part::Outcome if is_cut => {
                        refuses(&["output with shape", "must match the size of tensor b"])
                    }
                    Part::Outcome => is_over && refuses(&["doesn't match the broadcast shape"]),
                    Part::Sizes | Part::Strides => is_cut,
                    Part::Values => is_over || is_cut,
                    Part::Written => is_over || is_cut || is_behind,
                    _ => false,
                }
            },
            directed: None,
        },
        READ_FIRST,
    ];

    /// How far losses may be off: each step of a composite rounds to the dtype.
    pub(crate) const TOLERANCE: f64 = 64.0;
}
