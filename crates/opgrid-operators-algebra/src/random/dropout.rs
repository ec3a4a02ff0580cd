//! `aten::dropout`, `feature_dropout`, `alpha_dropout`, `feature_alpha_dropout`, `native_dropout` and `native_dropout_backward`: a constant instead of
//! randomly chosen elements or channels, and the gradient.
//!
//! `out[i] = 0` with probability `p`, `input[i] / (1 - p)` otherwise. With "alpha", `out[i] = a * (p - 1) * A` with probability `p`, and
//! `a * input[i] + a * p * A` otherwise, where `A = 1.758…` is the number that `selu` takes below zero, negated, and
//! `a = 1 / sqrt((A * A * p + 1) * (1 - p))`: so the mean of 0 and the variance of 1 that `selu` tends to stay.
//!
//! - Shapes: that of `input`. With "feature", all elements of a channel share their fate; channels are the first two dimensions.
//! - Dtypes: floating-point and complex ones where elements are chosen; any otherwise.
//! - Aliasing: the overloads whose names end in `_` write `self`. Where none is chosen, the others give `input` itself.
//! - Random numbers: those of `bernoulli_`, so that a seed drops the elements that it drops in torch.
//! - Dispatch: composites of `bernoulli_` and arithmetic. `native_dropout` gives which elements stay
//!   as a second result; `native_dropout_backward` takes these and the factor.
//! - Errors: a `p` that is no probability, which `native_dropout` looks at only where elements are chosen; integers and
//!   bools there; with "feature", fewer than two dimensions there.
//! - Source: torch.nn.functional.dropout and alpha_dropout, PyTorch 2.15; N. Srivastava et al., Dropout (2014); G. Klambauer et al.,
//!   Self-Normalizing Neural Networks (2017).

use crate::prelude::*;
use opgrid_kernels::access::check_written;
use opgrid_tensor::ops::{
    AddInplaceScalar, AddInplaceTensor, AddScalar, AddTensor, BernoulliInplaceFloat, DivScalar, EmptyLike,
    FillInplaceScalar, MulInplaceScalar, MulInplaceTensor, MulScalar, MulTensor, NewEmpty,
};

pub use opgrid_tensor::ops::random::dropout::*;

pub(super) fn register(library: &mut Library) {
    library.define(Dropout).kind(&kind::RANDOM).implicit(|input, p, train| ELEMENTS.dropped(input, p, train));
    library
        .define(DropoutInplace)
        .kind(&kind::RANDOM)
        .implicit(|input, p, train| ELEMENTS.drop_in_place(input, p, train));
    library
        .define(FeatureDropout)
        .kind(&kind::RANDOM)
        .implicit(|input, p, train| CHANNELS.dropped(input, p, train));
    library
        .define(FeatureDropoutInplace)
        .kind(&kind::RANDOM)
        .implicit(|input, p, train| CHANNELS.drop_in_place(input, p, train));
    library
        .define(AlphaDropout)
        .kind(&kind::RANDOM)
        .implicit(|input, p, train| ALPHA_ELEMENTS.dropped(input, p, train));
    library
        .define(AlphaDropoutInplace)
        .kind(&kind::RANDOM)
        .implicit(|input, p, train| ALPHA_ELEMENTS.drop_in_place(input, p, train));
    library
        .define(FeatureAlphaDropout)
        .kind(&kind::RANDOM)
        .implicit(|input, p, train| ALPHA_CHANNELS.dropped(input, p, train));
    library
        .define(FeatureAlphaDropoutInplace)
        .kind(&kind::RANDOM)
        .implicit(|input, p, train| ALPHA_CHANNELS.drop_in_place(input, p, train));
    library.define_with_forms(NativeDropout, &kind::RANDOM).on_every_backend(native_dropout).derivative(
        |d, (input, p, train)| {
            let factor = if train.unwrap_or(true) && p < 1.0 { 1.0 / (1.0 - p) } else { 1.0 };
            d.differentiable(1);
            d.by(input, [d.result(1)], move |grad, [stays]| gradient(grad, stays, factor))
        },
    );
    library.implicit(NativeDropoutBackward, &kind::POINTWISE_BINARY, gradient);
    library.implement(NativeDropoutOut).on_every_backend(|input, p, train, out, mask| {
        let (dropped, stays) = native_dropout(input, p, train)?;
        result::converted(&[(out, &dropped), (mask, &stays)])
    });
}

/// The gradient where elements stay, as much larger as they are.
fn gradient(grad: &Tensor, mask: &Tensor, scale: f64) -> Result<Tensor> {
    (grad * mask)? * scale
}

/// # Errors
///
/// No probability.
fn check(p: f64) -> Result<()> {
    if (0.0..=1.0).contains(&p) {
        Ok(())
    } else {
        Err(argument(format!("argument `p` is {p}, expected a probability between 0 and 1")))
    }
}

/// What is chosen, and what it becomes.
#[derive(Clone, Copy)]
struct Dropping {
    /// Whether whole channels are chosen.
    by_channel: bool,
    /// Whether mean and variance stay.
    is_alpha: bool,
}

const ELEMENTS: Dropping = Dropping { by_channel: false, is_alpha: false };
const CHANNELS: Dropping = Dropping { by_channel: true, is_alpha: false };
const ALPHA_ELEMENTS: Dropping = Dropping { by_channel: false, is_alpha: true };
const ALPHA_CHANNELS: Dropping = Dropping { by_channel: true, is_alpha: true };

/// The number that `selu` tends to far below zero, negated: its scale times its `alpha`.
const ALPHA: f64 = 1.758_099_340_847_376_6;

/// What is dropped is multiplied by: whatever the dtype is, the product has it.
const NOTHING: Scalar = Scalar::Bool(false);

impl Dropping {
    fn dropped(self, input: &Tensor, p: f64, train: bool) -> Result<Tensor> {
        check(p)?;
        if p == 0.0 || !train || input.spec()?.numel() == 0 {
            return Ok(input.clone());
        }
        if p == 1.0 {
            return MulScalar.call(input, NOTHING);
        }
        let (factors, summands) = self.noise(input, p)?;
        let scaled = MulTensor.call(input, &factors)?;
        match summands {
            Some(summands) => AddTensor.call(&scaled, &summands, Scalar::Int(1)),
            None => Ok(scaled),
        }
    }

    fn drop_in_place(self, input: &Tensor, p: f64, train: bool) -> Result<()> {
        check(p)?;
        check_written(input.spec()?.geometry())?;
        if p == 0.0 || !train || input.spec()?.numel() == 0 {
            return Ok(());
        }
        if p == 1.0 {
            return MulInplaceScalar.call(input, NOTHING);
        }
        let (factors, summands) = self.noise(input, p)?;
        MulInplaceTensor.call(input, &factors)?;
        match summands {
            Some(summands) => AddInplaceTensor.call(input, &summands, Scalar::Int(1)),
            None => Ok(()),
        }
    }

    /// The factor of each element or channel, in its dtype, and what is added to the products. Steps are rounded as in torch.
    fn noise(self, input: &Tensor, p: f64) -> Result<(Tensor, Option<Tensor>)> {
        pointwise::check_inexact(input.spec()?.dtype())?;
        let stays = stays(&self.places(input)?, 1.0 - p)?;
        if !self.is_alpha {
            return Ok((DivScalar.call(&stays, Scalar::Float(1.0 - p))?, None));
        }
        let scale = 1.0 / ((ALPHA * ALPHA * p + 1.0) * (1.0 - p)).sqrt();
        let summands = AddScalar.call(&stays, Scalar::Int(-1), Scalar::Int(1))?;
        MulInplaceScalar.call(&summands, Scalar::Float(ALPHA * scale))?;
        AddInplaceScalar.call(&summands, Scalar::Float(ALPHA * scale * p), Scalar::Int(1))?;
        MulInplaceScalar.call(&stays, Scalar::Float(scale))?;
        Ok((stays, Some(summands)))
    }

    /// A tensor with a place for each number that is drawn, with any content.
    fn places(self, input: &Tensor) -> Result<Tensor> {
        if !self.by_channel {
            return EmptyLike.call(input, None, None, None, None, None);
        }
        match input.sizes() {
            [batch, channels, rest @ ..] => {
                let sizes = [&[*batch, *channels], vec![1; rest.len()].as_slice()].concat();
                NewEmpty.call(input, &sizes, None, None, None, None)
            }
            found => Err(argument(format!(
                "argument `input` has shape {found:?}, expected at least two dimensions, a batch and its channels"
            ))),
        }
    }
}

/// Fills a tensor with ones at a probability, and zeros elsewhere. The draws are those of `bernoulli_`, as in torch.
fn stays(places: &Tensor, probability: f64) -> Result<Tensor> {
    BernoulliInplaceFloat.call(places, probability, None)?;
    Ok(places.clone())
}

fn native_dropout(input: &Tensor, p: f64, train: Option<bool>) -> Result<(Tensor, Tensor)> {
    let is_training = train.unwrap_or(true) && input.spec()?.numel() > 0;
    if is_training {
        check(p)?;
        pointwise::check_inexact(input.spec()?.dtype())?;
    }
    let is_chosen = is_training && p > 0.0;
    if !is_chosen || p == 1.0 {
        let mask = EmptyLike.call(input, Some(DType::Bool), None, None, None, None)?;
        FillInplaceScalar.call(&mask, Scalar::Bool(!is_chosen))?;
        let kept = if is_chosen {
            MulScalar.call(input, Scalar::Int(0))?
        } else {
            opgrid_tensor::ops::CloneTensor.call(input, None)?
        };
        return Ok((kept, mask));
    }
    let mask = stays(&EmptyLike.call(input, Some(DType::Bool), None, None, None, None)?, 1.0 - p)?;
    // The factors are rounded to the dtype, as in torch.
    let factors = MulScalar.call(&mask.to_dtype(input.dtype())?, Scalar::Float(1.0 / (1.0 - p)))?;
    Ok((MulTensor.call(input, &factors)?, mask))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::finfo;

    pub(crate) fn collect(samples: &mut Samples) {
        let refused = || given(generate::numbers(DType::F32, &[2], 0)).and(1.5).and(true);
        samples
            .operator(Dropout, FLOATS, ones, |it| of_ones(it, "input"))
            .tolerance(2.0)
            .refuses("between 0 and 1", refused());
        samples
            .operator(DropoutInplace, FLOATS, ones, |it| of_ones(it, "self"))
            .tolerance(2.0)
            .refuses("between 0 and 1", refused());
        let gradients = |dtype| {
            let shapes: [&[i64]; 4] = [&[2, 3], &[], &[0], &[2, 37]];
            let one = |sizes: &[i64]| {
                given(generate::numbers(dtype, sizes, 1))
                    .and(generate::numbers(DType::Bool, sizes, 2))
                    .and(1.25)
            };
            shapes.map(one).to_vec()
        };
        samples
            .operator(NativeDropoutBackward, ANY, gradients, |it| {
                let (grad, mask, scale): (_, _, f64) =
                    (it.tensor("grad_output")?, it.tensor("mask")?, it.value("scale")?);
                Ok(Plain::from_fn(opgrid_tensor::tensor::inexact(grad.dtype()), grad.sizes(), |position| {
                    let factor = if mask.at(position).to_bool() { scale } else { 0.0 };
                    number::times(grad.at(position), Scalar::Float(factor))
                })
                .into())
            })
            .tolerance(2.0);
        samples.rounds(NativeDropoutBackward, Roundings::all(Rounding::Result(2)));
        let line = || given(generate::numbers(DType::F32, &[2], 0)).and(0.5).and(true);
        samples
            .operator(FeatureDropout, FLOATS, channels, |it| of_ones(it, "input"))
            .tolerance(2.0)
            .refuses("between 0 and 1", refused())
            .refuses("at least two dimensions", line());
        samples
            .operator(FeatureDropoutInplace, FLOATS, channels, |it| of_ones(it, "self"))
            .tolerance(2.0)
            .refuses("at least two dimensions", line());
        samples
            .operator(AlphaDropout, FLOATS, ones, |it| alpha_of_ones(it, "input"))
            .tolerance(2.0)
            .refuses("between 0 and 1", refused());
        samples.operator(AlphaDropoutInplace, FLOATS, ones, |it| alpha_of_ones(it, "self")).tolerance(2.0);
        samples
            .operator(FeatureAlphaDropout, FLOATS, channels, |it| alpha_of_ones(it, "input"))
            .tolerance(2.0)
            .refuses("at least two dimensions", line());
        samples
            .operator(FeatureAlphaDropoutInplace, FLOATS, channels, |it| alpha_of_ones(it, "self"))
            .tolerance(2.0);
        samples
            .operator(NativeDropout, FLOATS, ones, |it| {
                let (x, p): (_, f64) = (it.tensor("input")?, it.value("p")?);
                let is_chosen = it.option("train")?.unwrap_or(true) && p > 0.0;
                let stays = if is_chosen && p < 1.0 && !x.elements().is_empty() {
                    Expected::Random(x.sizes().to_vec(), DType::Bool, kept(p, 1.0))
                } else {
                    Plain::from_elements(DType::Bool, x.sizes(), &[!is_chosen]).into()
                };
                Ok(Expected::Several(vec![of_ones(it, "input")?, stays]))
            })
            .tolerance(2.0)
            .refuses("between 0 and 1", refused());
    }

    /// Ones, of which many, all, none or no elements are chosen.
    fn ones(dtype: DType) -> Vec<Sample> {
        let ones = |sizes: &[i64], p: f64, train: bool| {
            given(Plain::from_elements(dtype, sizes, &[1])).and(p).and(train)
        };
        let chosen = [ones(&[2000], 0.25, true), ones(&[40, 50], 0.75, true), ones(&[3], 1.0, true)];
        // Integers and bools are refused where elements are chosen.
        let all = [
            ones(&[2, 3], 0.5, false),
            ones(&[2, 3], 0.0, true),
            ones(&[0], 0.5, true),
            ones(&[], 0.0, true),
        ];
        if FLOATS.contains(&dtype) {
            chosen.into_iter().chain(all).collect()
        } else if dtype.is_complex() {
            Vec::new()
        } else {
            chosen[..2].to_vec()
        }
    }

    /// The calls of `ones` with channels, of one element each where some are chosen.
    fn channels(dtype: DType) -> Vec<Sample> {
        let with_channels = |mut sample: Sample| {
            let x = sample.positional[0].tensors()[0].clone();
            let sizes = match x.sizes() {
                [one] => vec![1, *one, 1],
                [] => vec![1, 1],
                both => [both, &[1]].concat(),
            };
            sample.positional[0] = x.with_sizes(&sizes).into();
            sample
        };
        ones(dtype).into_iter().map(with_channels).collect()
    }

    /// What becomes of ones where mean and variance stay.
    fn alpha_of_ones(it: &Inputs, name: &str) -> Result<Expected> {
        let (x, p): (_, f64) = (it.tensor(name)?, it.value("p")?);
        let is_chosen = it.option("train")?.unwrap_or(true) && p > 0.0 && p < 1.0 && !x.elements().is_empty();
        if !is_chosen {
            return of_ones(it, name);
        }
        // What `selu` tends to has the mean and the variance of what is dropped for good.
        let dropped = -1.0507009873554805 * 1.6732632423543772;
        let scale = (1.0 - p + p * (1.0 - p) * dropped * dropped).powf(-0.5);
        let shift = -scale * p * dropped;
        let [least, most] = [dropped, 1.0].map(|value| scale * value + shift);
        // Each step is rounded to the dtype.
        let slack = finfo(x.dtype())?.eps * 4.0;
        let deviation = (most - least) * (p * (1.0 - p)).sqrt();
        let mean = least * p + most * (1.0 - p);
        let distribution = Distribution { least: least - slack, most: most + slack, mean, deviation };
        Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), distribution))
    }

    /// The distribution of what stays with probability `1 - p` and is `value` then, 0 otherwise.
    fn kept(p: f64, value: f64) -> Distribution {
        let mean = value * (1.0 - p);
        Distribution { least: 0.0, most: value, mean, deviation: value * (p * (1.0 - p)).sqrt() }
    }

    fn of_ones(it: &Inputs, name: &str) -> Result<Expected> {
        let (x, p): (_, f64) = (it.tensor(name)?, it.value("p")?);
        if !it.option("train")?.unwrap_or(true) || p == 0.0 || x.elements().is_empty() {
            return Ok(x.clone().into());
        }
        if p == 1.0 {
            return Ok(Plain::from_elements(x.dtype(), x.sizes(), &[0]).into());
        }
        // Rounded as the dtype does.
        let value = naive::convert(Scalar::Float(1.0 / (1.0 - p)), x.dtype()).to_complex().re;
        Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), kept(p, value)))
    }
}
