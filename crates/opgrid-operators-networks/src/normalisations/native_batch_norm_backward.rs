//! `aten::native_batch_norm_backward`, `aten::batch_norm_backward`: the gradients of batch normalization.
//!
//! With `normal = (input - mean) * invstd`, by the averages and deviations of the batch while training and by running ones otherwise, and
//! `grad = grad_out * weight`: `out0 = invstd * (grad - average of grad - normal * average of (grad * normal))` while training, otherwise
//! `invstd * grad`; `out1[c] = Σ grad_out * normal` and `out2[c] = Σ grad_out` over all elements of channel `c`
//!
//! - Shapes: that of `input`, and `[C]` twice; weights and statistics have shape `[C]`.
//! - Dtypes: as `native_batch_norm`.
//! - Strides: channels-last if `input` is.
//! - Values: `output_mask` says which gradients are asked for; the others are undefined, or outputs that stay as they are. Of
//!   `save_var` the reciprocals of deviations are meant, as `native_batch_norm` gives them; `reserve` is not looked at.
//! - Aliasing: `native_batch_norm_backward.out` writes its outputs.
//! - Dispatch: composites of `native_group_norm_backward`, and of arithmetic and sums.
//! - Errors: other shapes, dtypes or devices; no statistics.
//! - Source: torch.ops.aten.native_batch_norm_backward, PyTorch 2.15.

use crate::kinds::normalisations::Normal;
use crate::prelude::*;
use opgrid_tensor::ops::{Contiguous, NativeGroupNormBackward, SqueezeDim, TransposeInt, Unsqueeze};

pub use opgrid_tensor::ops::normalisations::native_batch_norm_backward::*;

pub(super) fn register(library: &mut Library) {
    library.implicit(
        NativeBatchNormBackward,
        &kind::NORMALISATION,
        |grad, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, mask| {
            let statistics = if train {
                [("save_mean", save_mean), ("save_invstd", save_invstd)]
            } else {
                [("running_mean", running_mean), ("running_var", running_var)]
            };
            backward(grad, input, weight, statistics, train, eps, mask)
        },
    );
    library.implicit(
        BatchNormBackward,
        &kind::NORMALISATION,
        |grad, input, weight, running_mean, running_var, save_mean, save_var, update, eps, mask, _| {
            let statistics = if update {
                [("save_mean", save_mean), ("save_var", save_var)]
            } else {
                [("running_mean", running_mean), ("running_var", running_var)]
            };
            backward(grad, input, Some(weight), statistics, update, eps, mask)
        },
    );
}

fn backward(
    grad: &Tensor,
    input: &Tensor,
    weight: Option<&Tensor>,
    statistics: [(&'static str, Option<&Tensor>); 2],
    train: bool,
    eps: f64,
    mask: &[bool],
) -> Result<(Tensor, Tensor, Tensor)> {
    let (spec, needs) = (input.spec()?, normalisations::check_mask(mask)?);
    let &[_, channels, ..] = spec.sizes() else {
        let message = format!(
            "argument `input` has shape {:?}, expected at least two dimensions, [N, C, …]",
            spec.sizes()
        );
        return Err(argument(message));
    };
    normalisations::check_gradient(grad, spec)?;
    let given = |(name, statistic): (&str, Option<&Tensor>)| {
        statistic
            .cloned()
            .ok_or_else(|| argument(format!("argument `{name}` is None, expected the statistics")))
    };
    let [first, second] = statistics.map(given);
    let (mean, deviation) = (first?, second?);
    let parameters = [("weight", weight), statistics[0], statistics[1]];
    normalisations::check_sizes(parameters, &[channels])?;
    let dtype = normalisations::statistics_dtype(spec, parameters)?;
    let gradients = if train {
        by_batch([Some(grad), None, None], input, [&mean, &deviation], weight, needs)?
    } else {
        by_running(grad, input, [&mean, &deviation], weight, (eps, needs))?
    };
    let [by_input, by_weight, by_bias] = gradients;
    let or_undefined = |gradient: Option<Tensor>, dtype| match gradient {
        Some(gradient) => gradient.to_dtype(dtype),
        None => Ok(Tensor::undefined()),
    };
    Ok((
        or_undefined(by_input, spec.dtype())?,
        or_undefined(by_weight, dtype)?,
        or_undefined(by_bias, dtype)?,
    ))
}

/// The gradients of the input, the weight and the bias while training, by those of the result, the averages and the deviations.
/// Channels of a batch are the groups of one image that has them in front.
pub(super) fn by_batch(
    [by_out, by_mean, by_invstd]: [Option<&Tensor>; 3],
    input: &Tensor,
    [mean, invstd]: [&Tensor; 2],
    weight: Option<&Tensor>,
    needs: [bool; 3],
) -> Result<[Option<Tensor>; 3]> {
    let channels = input.sizes()[1];
    let inner = input.numel() / channels.max(1);
    let in_front = |of: &Tensor| Unsqueeze.call(&TransposeInt.call(of, 0, 1)?, 0);
    let statistic = |of: &Tensor| of.reshape(&[1, channels]);
    let (image, mean_of, rstd_of) = (in_front(input)?, statistic(mean)?, statistic(invstd)?);
    let by_statistics = {
        let wide = |of: &Tensor| of.reshape(&[&[1, channels][..], &vec![1; image.dim() - 2]].concat());
        let dims: Vec<i64> = (2..image.dim() as i64).collect();
        let normal = Normal { input: &image, mean: &wide(mean)?, rstd: &wide(invstd)?, dims: &dims };
        let [by_mean, by_invstd] = [by_mean, by_invstd].map(|grad| grad.map(wide).transpose());
        normal.by_statistics(by_mean?.as_ref(), by_invstd?.as_ref())?
    };
    let back = |of: Tensor| in_format_of(input, &TransposeInt.call(&SqueezeDim.call(&of, 0)?, 0, 1)?);
    let Some(grad) = by_out else { return Ok([by_statistics.map(back).transpose()?, None, None]) };
    let (by_input, by_weight, by_bias) = NativeGroupNormBackward.call(
        &in_front(grad)?,
        &image,
        &mean_of,
        &rstd_of,
        weight,
        1,
        channels,
        inner,
        channels,
        &needs,
    )?;
    let [by_input, by_weight, by_bias] = [by_input, by_weight, by_bias].map(normalisations::defined);
    Ok([derivatives::sum_gradients([by_input, by_statistics])?.map(back).transpose()?, by_weight, by_bias])
}

/// The gradient of the input, in the memory format that the input has.
fn in_format_of(input: &Tensor, grad: &Tensor) -> Result<Tensor> {
    Contiguous.call(grad, input.geometry().suggested_format())
}

/// The gradients of the input, the weight and the bias by running averages and variances, which are constant.
pub(super) fn by_running(
    grad: &Tensor,
    input: &Tensor,
    [mean, var]: [&Tensor; 2],
    weight: Option<&Tensor>,
    (eps, needs): (f64, [bool; 3]),
) -> Result<[Option<Tensor>; 3]> {
    let wide = |of: &Tensor| of.reshape(&[&[1, -1][..], &vec![1; input.dim() - 2]].concat());
    let others: Vec<i64> = (0..input.dim() as i64).filter(|dim| *dim != 1).collect();
    let invstd = wide(&var.add(eps)?.rsqrt()?)?;
    let scale = weight.map_or_else(|| Ok(invstd.clone()), |weight| wide(weight)?.mul(&invstd))?;
    let by_input = needs[0].then(|| in_format_of(input, &grad.mul(&scale)?)).transpose()?;
    let normal = || input.sub(&wide(mean)?)?.mul(&invstd);
    let by_weight = needs[1].then(|| grad.mul(&normal()?)?.sum_dim(&others, false)).transpose()?;
    let by_bias = needs[2].then(|| grad.sum_dim(&others, false)).transpose()?;
    Ok([by_input, by_weight, by_bias])
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let none = || Given::from(Value::None);
        let x = |sizes: &[i64], dtype| small(dtype, sizes, 1);
        let of = |grad: &[i64], weight: i64, dtype, mean: Given| {
            given(x(grad, DType::F32))
                .and(x(&[2, 3], DType::F32))
                .and(x(&[weight], dtype))
                .and(none())
                .and(none())
                .and(mean)
                .and(x(&[3], dtype))
                .and(true)
                .and(1e-5)
                .and(vec![true; 3])
        };
        let mean = || Given::from(x(&[3], DType::F32));
        samples
            .operator(
                NativeBatchNormBackward,
                normalisations::samples::FLOATS,
                |dtype| inputs(dtype, false),
                reference,
            )
            .tolerance(1024.0)
            .refuses("`grad_out` has shape", of(&[3, 3], 3, DType::F32, mean()))
            .refuses("`weight` has shape", of(&[2, 3], 2, DType::F32, mean()))
            .refuses("`save_mean` is None", of(&[2, 3], 3, DType::F32, none()));
        samples
            .operator(
                BatchNormBackward,
                normalisations::samples::FLOATS,
                |dtype| inputs(dtype, true),
                reference,
            )
            .tolerance(1024.0);
        samples.rounds(NativeBatchNormBackward, Roundings::all(Rounding::Sum(256)));
        samples.rounds(BatchNormBackward, Roundings::all(Rounding::Sum(256)));
    }

    /// Few elements, whose sums keep their digits in all dtypes.
    fn small(dtype: DType, sizes: &[i64], seed: i64) -> Plain {
        let elements: Vec<f64> = (0..29).map(|at| ((at * 5 + seed * 3) % 9) as f64 / 4.0 - 1.0).collect();
        Plain::from_elements(dtype, sizes, &elements)
    }

    /// Images while training and not, with weights and without, and with parameters of single precision.
    fn inputs(dtype: DType, with_reserve: bool) -> Vec<Sample> {
        let mixed = if dtype.size_in_bytes() == 2 && dtype.is_floating_point() { DType::F32 } else { dtype };
        let of = |sizes: &[i64], train: bool, parameters: DType, has_weight: bool| {
            let c = [sizes[1]];
            let variances = Plain::from_elements(parameters, &c, &[0.5, 1.0, 2.0]);
            let saved = [small(parameters, &c, 4), variances.clone()].map(Given::from);
            let running = [small(parameters, &c, 5), variances].map(Given::from);
            let none = || [Value::None, Value::None].map(Given::from);
            let weight: Given = if has_weight { small(parameters, &c, 3).into() } else { Value::None.into() };
            let mut sample = given(small(dtype, sizes, 1)).and(small(dtype, sizes, 2)).and(weight);
            sample.positional.extend(if train { none() } else { running });
            sample.positional.extend(if train { saved } else { none() });
            let sample = sample.and(train).and(1e-5).and(vec![true; 3]);
            if with_reserve { sample.and(Plain::from_elements::<i64>(DType::U8, &[0], &[])) } else { sample }
        };
        let mut samples = Vec::new();
        for train in [true, false] {
            let shapes: [&[i64]; 4] = [&[2, 3], &[2, 3, 4], &[2, 3, 2, 3], &[1, 2, 7]];
            samples.extend(shapes.map(|sizes| of(sizes, train, dtype, true)));
            samples.push(of(&[2, 3, 4], train, mixed, true));
            if !with_reserve {
                samples.push(of(&[2, 3, 4], train, dtype, false));
            }
        }
        samples
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let [grad, x] = [it.tensor("grad_out")?, it.tensor("input")?];
        let weight = it.tensor("weight").ok();
        let (train, eps): (bool, f64) =
            (it.value("train").or_else(|_| it.value("update"))?, it.value("eps")?);
        let real = |of: &Plain, position: &[i64]| of.at(position).to_complex().re;
        let (mean, deviation) = if train {
            let deviation = it.tensor("save_invstd").or_else(|_| it.tensor("save_var"))?;
            (it.tensor("save_mean")?, deviation.to(DType::F64))
        } else {
            let variance = it.tensor("running_var")?;
            let deviation = Plain::from_fn(DType::F64, variance.sizes(), |c| {
                Scalar::Float(1.0 / (real(variance, c) + eps).sqrt())
            });
            (it.tensor("running_mean")?, deviation)
        };
        let normal = |position: &[i64]| {
            let c = &position[1..2];
            (real(x, position) - real(mean, c)) * real(&deviation, c)
        };
        let weighed = |position: &[i64]| {
            real(grad, position) * weight.map_or(1.0, |weight| real(weight, &position[1..2]))
        };
        let sum = |channel: i64, term: &dyn Fn(&[i64]) -> f64| {
            let places = naive::positions(x.sizes()).filter(|place| place[1] == channel);
            places.map(|place| term(&place)).sum::<f64>()
        };
        let count = (x.elements().len() as i64 / x.sizes()[1]) as f64;
        let by_input = Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let c = position[1];
            let constant = sum(c, &weighed) / count;
            let along = sum(c, &|place: &[i64]| weighed(place) * normal(place)) / count * normal(position);
            let rest = if train { constant + along } else { 0.0 };
            Scalar::Float((weighed(position) - rest) * real(&deviation, &[c]))
        });
        let of_channels = |term: &dyn Fn(&[i64]) -> f64| {
            Plain::from_fn(mean.dtype(), mean.sizes(), |c| Scalar::Float(sum(c[0], term)))
        };
        let by_weight = of_channels(&|place: &[i64]| real(grad, place) * normal(place));
        Ok([by_input, by_weight, of_channels(&|place: &[i64]| real(grad, place))].into())
    }
}
