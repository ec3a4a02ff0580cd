//! `aten::dropout`, `aten::native_dropout`, `aten::native_dropout_backward`: zero instead of randomly chosen elements, and larger ones
//! for the others, and the gradient.
//!
//! `out[i] = 0` with probability `p`, `input[i] / (1 - p)` otherwise
//!
//! - Shapes: that of `input`.
//! - Dtypes: floating-point and complex ones where elements are chosen; any otherwise.
//! - Aliasing: `dropout_` writes `self`. Where none is chosen, `dropout` gives `input` itself.
//! - Random numbers: those of `bernoulli_`, so that a seed drops the elements that it drops in torch.
//! - Dispatch: `dropout` is a composite of `bernoulli_` and arithmetic. `native_dropout` gives which elements stay
//!   as a second result; `native_dropout_backward` takes these and the factor.
//! - Errors: a `p` that is no probability, which `native_dropout` looks at only where elements are chosen; integers and
//!   bools there.
//! - Source: torch.nn.functional.dropout, PyTorch 2.15; N. Srivastava et al., Dropout (2014).

use crate::prelude::*;
use opgrid_kernels::access::check_written;
use opgrid_tensor::ops::{
    BernoulliInplaceFloat, DivScalar, EmptyLike, FillInplaceScalar, MulInplaceScalar, MulInplaceTensor,
    MulScalar, MulTensor,
};

pub use opgrid_tensor::ops::random::dropout::*;

pub(super) fn register(library: &mut Library) {
    library.define(Dropout).kind(&kind::RANDOM).implicit(dropout);
    library.define(DropoutInplace).kind(&kind::RANDOM).implicit(dropout_);
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

/// Where elements stay: one each, with probability `1 - p`. The draws are those of `bernoulli_`, as in torch.
fn stays(input: &Tensor, p: f64, dtype: DType) -> Result<Tensor> {
    let stays = EmptyLike.call(input, Some(dtype), None, None, None, None)?;
    BernoulliInplaceFloat.call(&stays, 1.0 - p, None)?;
    Ok(stays)
}

/// The factor of each element, in its dtype.
fn factors(input: &Tensor, p: f64) -> Result<Tensor> {
    pointwise::check_inexact(input.spec()?.dtype())?;
    DivScalar.call(&stays(input, p, input.dtype())?, Scalar::Float(1.0 - p))
}

/// What is dropped is multiplied by: whatever the dtype is, the product has it.
const NOTHING: Scalar = Scalar::Bool(false);

fn dropout(input: &Tensor, p: f64, train: bool) -> Result<Tensor> {
    check(p)?;
    if p == 0.0 || !train || input.spec()?.numel() == 0 {
        return Ok(input.clone());
    }
    if p == 1.0 { MulScalar.call(input, NOTHING) } else { MulTensor.call(input, &factors(input, p)?) }
}

fn dropout_(input: &Tensor, p: f64, train: bool) -> Result<()> {
    check(p)?;
    check_written(input.spec()?.geometry())?;
    if p == 0.0 || !train || input.spec()?.numel() == 0 {
        return Ok(());
    }
    if p == 1.0 {
        MulInplaceScalar.call(input, NOTHING)
    } else {
        MulInplaceTensor.call(input, &factors(input, p)?)
    }
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
    let mask = stays(input, p, DType::Bool)?;
    // The factors are rounded to the dtype, as in torch.
    let factors = MulScalar.call(&mask.to_dtype(input.dtype())?, Scalar::Float(1.0 / (1.0 - p)))?;
    Ok((MulTensor.call(input, &factors)?, mask))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

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
