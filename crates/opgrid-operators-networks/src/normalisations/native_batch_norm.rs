//! `aten::native_batch_norm`, `aten::_native_batch_norm_legit`, `aten::_native_batch_norm_legit_functional`,
//! `aten::_native_batch_norm_legit_no_training`: channels without their average, divided by their deviation.
//!
//! `out[n, c, …] = (input[n, c, …] - mean[c]) * rstd[c] * weight[c] + bias[c]`, with `rstd = 1 / sqrt(variance + eps)`
//!
//! - Values: `rstd` of a channel that does not vary is zero while `training` without `eps`.
//! - Statistics: while `training` those of each channel over all images; then `running_mean` becomes
//!   `(1 - momentum) * running_mean + momentum * mean`, and `running_var` alike with the variance of `n - 1` degrees of
//!   freedom, last of all. Otherwise `running_mean` and `running_var` themselves.
//! - Shapes: `[N, C, …]`; parameters and running statistics have shape `[C]`. The second and third result are `mean` and `rstd`
//!   of shape `[C]` while `training`, otherwise without elements.
//! - Dtypes: as `native_layer_norm`; running statistics count as parameters.
//! - Strides: those of `input` where it is channels-last, also a single image that only looks otherwise, if all parameters
//!   lie without gaps; otherwise row-major.
//! - Aliasing: outputs and running statistics must not overlap `input`. `_native_batch_norm_legit_functional` writes nothing: it gives the
//!   new running statistics as its last results.
//! - Derivative: the averages and deviations have derivatives as well, unlike in torch, so that second gradients follow.
//! - Errors: other shapes, dtypes or devices; no elements while `training`; running statistics of which one is absent, or
//!   both while not `training`.
//! - Source: torch.nn.functional.batch_norm, PyTorch 2.15; S. Ioffe, C. Szegedy, Batch Normalization (2015).

use opgrid_core::{DeviceType, Forms, Operator};

use super::native_batch_norm_backward::{by_batch, by_running};
use crate::prelude::*;
use opgrid_kernels::indexing;
use opgrid_kernels::normalise::{self, Affine};
use opgrid_tensor::families::Results;
use opgrid_tensor::families::result::compute_all_into;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::CloneTensor;
use opgrid_tensor::tensor::Array;

pub use opgrid_tensor::ops::normalisations::native_batch_norm::*;

/// The family of `aten::native_batch_norm`: its kind, shape rule and `out` rule.
pub const NATIVE_BATCH_NORM: Family<NativeBatchNorm> = Family::new(
    NativeBatchNorm,
    &kind::NORMALISATION,
    |input, weight, bias, mean, var, training, momentum, eps| {
        Arguments { input, weight, bias, running: [mean, var], training, momentum, eps }.shapes()
    },
)
.same_dtype_out();

/// The family of `aten::_native_batch_norm_legit.no_stats`: its kind, shape rule and `out` rule.
pub const NATIVE_BATCH_NORM_NO_STATS: Family<NativeBatchNormLegitNoStats> = Family::new(
    NativeBatchNormLegitNoStats,
    &kind::NORMALISATION,
    |input, weight, bias, training, momentum, eps| {
        Arguments { input, weight, bias, running: [None; 2], training, momentum, eps }.shapes()
    },
)
.same_dtype_out();

/// The family of `aten::_native_batch_norm_legit_no_training`: its kind, shape rule and `out` rule.
pub const NO_TRAINING: Family<NativeBatchNormLegitNoTraining> = Family::new(
    NativeBatchNormLegitNoTraining,
    &kind::NORMALISATION,
    |input, weight, bias, mean, var, momentum, eps| {
        Arguments::without_training(input, [weight, bias], [mean, var], [momentum, eps]).shapes()
    },
)
.same_dtype_out();

/// What channels are normalised by.
struct Arguments<'a> {
    input: &'a Tensor,
    weight: Option<&'a Tensor>,
    bias: Option<&'a Tensor>,
    running: [Option<&'a Tensor>; 2],
    training: bool,
    momentum: f64,
    eps: f64,
}

pub(super) fn register(library: &mut Library) {
    library
        .family(&NATIVE_BATCH_NORM)
        .cpu(|input, weight, bias, mean, var, training, momentum, eps, out, save_mean, save_invstd| {
            let args = Arguments { input, weight, bias, running: [mean, var], training, momentum, eps };
            args.write([out, save_mean, save_invstd])
        })
        .derivative(|d, (input, weight, bias, mean, var, training, _, eps)| {
            derivative(d, input, [weight, bias], [mean, var].map(|of| of.filter(|_| !training)), eps)
        });
    library
        .family(&NATIVE_BATCH_NORM_NO_STATS)
        .cpu(|input, weight, bias, training, momentum, eps, out, save_mean, save_invstd| {
            let args = Arguments { input, weight, bias, running: [None; 2], training, momentum, eps };
            args.write([out, save_mean, save_invstd])
        })
        .derivative(|d, (input, weight, bias, _, _, eps)| {
            derivative(d, input, [weight, bias], [None, None], eps)
        });
    library
        .family(&NO_TRAINING)
        .cpu(|input, weight, bias, mean, var, momentum, eps, out, save_mean, save_invstd| {
            let args = Arguments::without_training(input, [weight, bias], [mean, var], [momentum, eps]);
            args.write([out, save_mean, save_invstd])
        })
        .derivative(|d, (input, weight, bias, mean, var, _, eps)| {
            derivative(d, input, [weight, bias], [Some(mean), Some(var)], eps)
        });
    let forms = Forms {
        functional: NativeBatchNormLegit::name(),
        in_place: None,
        out: Some(NativeBatchNormLegitOut::name()),
    };
    library
        .define(NativeBatchNormLegit)
        .kind(&kind::NORMALISATION)
        .column(forms.clone())
        .on_cpu_and_meta(|input, weight, bias, mean, var, training, momentum, eps| {
            let running = [Some(mean), Some(var)];
            Arguments { input, weight, bias, running, training, momentum, eps }.made()
        })
        .derivative(|d, (input, weight, bias, mean, var, training, _, eps)| {
            derivative(d, input, [weight, bias], [mean, var].map(|of| Some(of).filter(|_| !training)), eps)
        });
    library
        .define(NativeBatchNormLegitFunctional)
        .kind(&kind::NORMALISATION)
        .on_cpu_and_meta(|input, weight, bias, mean, var, training, momentum, eps| {
            let (mean, var) = (CloneTensor.call(mean, None)?, CloneTensor.call(var, None)?);
            let running = [Some(&mean), Some(&var)];
            let (out, save_mean, save_invstd) =
                Arguments { input, weight, bias, running, training, momentum, eps }.made()?;
            Ok((out, save_mean, save_invstd, mean, var))
        })
        .derivative(|d, (input, weight, bias, mean, var, training, momentum, eps)| {
            if training {
                return derivative_of_functional(d, input, [weight, bias], momentum);
            }
            d.differentiable(3);
            derivative(d, input, [weight, bias], [Some(mean), Some(var)], eps)
        });
    library.define(NativeBatchNormLegitOut).kind(&kind::NORMALISATION).column(forms).on_cpu_and_meta(
        |input, weight, bias, mean, var, training, momentum, eps, out, save_mean, save_invstd| {
            let running = [Some(mean), Some(var)];
            let args = Arguments { input, weight, bias, running, training, momentum, eps };
            args.written([out, save_mean, save_invstd])
        },
    );
}

impl<'a> Arguments<'a> {
    fn without_training(
        input: &'a Tensor,
        [weight, bias]: [Option<&'a Tensor>; 2],
        [mean, var]: [&'a Tensor; 2],
        [momentum, eps]: [f64; 2],
    ) -> Self {
        Self { input, weight, bias, running: [Some(mean), Some(var)], training: false, momentum, eps }
    }

    fn shapes(&self) -> Result<(TensorSpec, TensorSpec, TensorSpec)> {
        let spec = self.input.spec()?;
        let &[_, channels, ..] = spec.sizes() else {
            let message = format!(
                "argument `input` has shape {:?}, expected at least two dimensions, [N, C, …]",
                spec.sizes()
            );
            return Err(argument(message));
        };
        match self.running {
            [Some(_), None] => {
                return Err(argument("argument `running_var` is None, but `running_mean` is given"));
            }
            [None, Some(_)] => {
                return Err(argument("argument `running_mean` is None, but `running_var` is given"));
            }
            [None, None] if !self.training => {
                let message =
                    "argument `running_mean` is None, as `running_var`, expected them while not training";
                return Err(argument(message));
            }
            _ => {}
        }
        if self.training && spec.numel() == 0 {
            let message = format!(
                "argument `input` has shape {:?} without elements, for which there are no statistics",
                spec.sizes()
            );
            return Err(argument(message));
        }
        let [mean, var] = self.running;
        let parameters =
            [("weight", self.weight), ("bias", self.bias), ("running_mean", mean), ("running_var", var)];
        normalisations::check_sizes(parameters, &[channels])?;
        let dtype = normalisations::statistics_dtype(spec, parameters)?;
        let saved = [if self.training { channels } else { 0 }];
        let saved = TensorSpec::contiguous(&saved, dtype, spec.device())?;
        let geometry = Geometry::in_format(spec.sizes(), self.format(spec)?)?;
        Ok((TensorSpec::new(geometry, spec.dtype(), spec.device()), saved.clone(), saved))
    }

    /// The order of the result, as torch's: strides of single images count only where parameters have gaps.
    fn format(&self, input: &TensorSpec) -> Result<MemoryFormat> {
        let [mean, var] = self.running;
        let geometry = input.geometry();
        let mut is_whole = true;
        for parameter in [self.weight, self.bias, mean, var].into_iter().flatten() {
            is_whole &= parameter.spec()?.geometry().is_contiguous();
        }
        let formats = [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast3d, MemoryFormat::ChannelsLast];
        let own = formats.into_iter().find(|format| is_whole && geometry.is_in_format(*format));
        Ok(own.unwrap_or_else(|| geometry.suggested_format()))
    }

    fn made(&self) -> Result<(Tensor, Tensor, Tensor)> {
        let results = <(Tensor, Tensor, Tensor)>::made(&self.shapes()?, Tensor::allocate_like)?;
        let (out, mean, rstd) = results.outputs();
        if out.device().kind() != DeviceType::Meta {
            self.write([out, mean, rstd])?;
            [out, mean, rstd].into_iter().for_each(Tensor::restart_version);
        }
        Ok(results)
    }

    fn written(&self, outs: [&Tensor; 3]) -> Result<()> {
        let (first, second, third) = self.shapes()?;
        let wanted = [(outs[0], &first), (outs[1], &second), (outs[2], &third)];
        compute_all_into(&wanted, |outs| self.write([&outs[0], &outs[1], &outs[2]]))
    }

    fn write(&self, [out, save_mean, save_invstd]: [&Tensor; 3]) -> Result<()> {
        let [mean, var] = [normalisations::array(self.running[0])?, normalisations::array(self.running[1])?];
        let [weight, bias] = [normalisations::array(self.weight)?, normalisations::array(self.bias)?];
        if self.training {
            for running in [mean, var].into_iter().flatten() {
                [out.array()?, self.input.array()?]
                    .into_iter()
                    .try_for_each(|other| indexing::check_apart(running, other))?;
            }
        }
        if self.input.numel() == 0 {
            return Ok(());
        }
        let given = match (mean, var) {
            (Some(mean), Some(var)) if !self.training => {
                Some((normalise::numbers::<f64>(mean)?, normalise::numbers::<f64>(var)?))
            }
            _ => None,
        };
        let (target, source, layout) = normalisations::images(out.array()?, self.input.array()?)?;
        let (means, variances) = with_dtype!(self.input.dtype(), T: Float => {
            let affine = Affine::<Math<T>>::new(weight, bias)?;
            normalise::channels::<T>(&target, &source, &affine, layout, (given, self.eps))
        })?;
        if !self.training {
            return Ok(());
        }
        let rstd = |variance: &f64| normalise::reciprocal_deviation_of_channel(*variance, self.eps);
        let rstds: Vec<f64> = variances.iter().map(rstd).collect();
        normalise::write_numbers(save_mean.array()?, &means)?;
        normalise::write_numbers(save_invstd.array()?, &rstds)?;
        let n = (layout.count * layout.inner) as f64;
        let unbiased: Vec<f64> = variances.iter().map(|variance| variance * n / (n - 1.0)).collect();
        for (running, new) in [(mean, means), (var, unbiased)] {
            if let Some(running) = running {
                self.move_towards(running, &new)?;
            }
        }
        Ok(())
    }

    /// Moves running statistics by `momentum` towards new ones.
    fn move_towards(&self, running: &Array, new: &[f64]) -> Result<()> {
        let new = Array::from_slice(new, running.sizes())?;
        let momentum = self.momentum;
        with_dtype!(running.dtype(), T: Float => {
            elementwise::binary::<T, T, f64>(running, running, &new, move |old, new| {
                let old: f64 = opgrid_tensor::Element::cast(old);
                opgrid_tensor::Element::cast((1.0 - momentum) * old + momentum * new)
            })
        })
    }
}

/// The derivative, by the averages and deviations of the batch, or by `running` ones, which are constant.
fn derivative(
    d: &Recorder<'_>,
    input: &Tensor,
    [weight, bias]: [Option<&Tensor>; 2],
    running: [Option<&Tensor>; 2],
    eps: f64,
) -> Result<()> {
    let targets = [Some(input), weight, bias];
    if let [Some(mean), Some(var)] = running {
        return d.together(
            targets,
            [Some(input), Some(mean), Some(var), weight],
            move |grads, kept, needs| {
                let (Some(grad), [Some(input), Some(mean), Some(var), weight]) = (grads.for_result(0), kept)
                else {
                    return Ok([None, None, None]);
                };
                by_running(grad, input, [mean, var], weight, (eps, needs))
            },
        );
    }
    let keep = [Some(input), Some(d.result(1)), Some(d.result(2)), weight];
    d.together(targets, keep, move |grads, kept, needs| {
        let [Some(input), Some(mean), Some(invstd), weight] = kept else { return Ok([None, None, None]) };
        by_batch([0, 1, 2].map(|result| grads.for_result(result)), input, [mean, invstd], weight, needs)
    })
}

/// The derivative while training where the new running statistics are results: they move with the averages and deviations of the batch.
fn derivative_of_functional(
    d: &Recorder<'_>,
    input: &Tensor,
    [weight, bias]: [Option<&Tensor>; 2],
    momentum: f64,
) -> Result<()> {
    let keep = [Some(input), Some(d.result(1)), Some(d.result(2)), weight];
    d.together([Some(input), weight, bias], keep, move |grads, kept, needs| {
        let [Some(input), Some(mean), Some(invstd), weight] = kept else { return Ok([None, None, None]) };
        let n = (input.numel() / input.sizes()[1].max(1)) as f64;
        let by_running_mean = grads.for_result(3).map(|grad| grad.mul(momentum)).transpose()?;
        // The variance is `invstd^-2 - eps`.
        let by_running_var = |grad: &Tensor| {
            let cube = invstd.mul(invstd)?.mul(invstd)?;
            grad.mul(-2.0 * momentum * n / (n - 1.0))?.mul(&cube.reciprocal()?)
        };
        let by_running_var = grads.for_result(4).map(by_running_var).transpose()?;
        let by_mean = derivatives::sum_gradients([grads.for_result(1).cloned(), by_running_mean])?;
        let by_invstd = derivatives::sum_gradients([grads.for_result(2).cloned(), by_running_var])?;
        let grads = [grads.for_result(0), by_mean.as_ref(), by_invstd.as_ref()];
        by_batch(grads, input, [mean, invstd], weight, needs)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let none = || Given::from(Value::None);
        let row = |size: i64, dtype| Given::from(generate::numbers(dtype, &[size], 0));
        let of = |weight: Given, mean: Given, training: bool| {
            given(x.clone()).and(weight).and(none()).and(mean).and(none()).and(training).and(0.1).and(1e-5)
        };
        samples
            .operator(NativeBatchNorm, normalisations::samples::FLOATS, inputs, reference)
            .constant(&["running_mean", "running_var"])
            .tolerance(64.0)
            .refuses("`weight` has shape", of(row(2, DType::F32), none(), true))
            .refuses("`weight` has dtype", of(row(3, DType::F64), none(), true))
            .refuses("`running_var` is None", of(none(), row(3, DType::F32), true))
            .refuses("`running_mean` is None", of(none(), none(), false));
        samples
            .operator(
                NativeBatchNormLegit,
                normalisations::samples::FLOATS,
                |dtype| with_statistics(dtype, None),
                reference,
            )
            .constant(&["running_mean", "running_var"])
            .tolerance(64.0);
        samples
            .operator(
                NativeBatchNormLegitFunctional,
                normalisations::samples::FLOATS,
                |dtype| with_statistics(dtype, None),
                reference_of_functional,
            )
            .constant(&["running_mean", "running_var"])
            .tolerance(64.0);
        samples
            .operator(
                NativeBatchNormLegitNoStats,
                normalisations::samples::FLOATS,
                without_statistics,
                reference,
            )
            .tolerance(64.0)
            .refuses(
                "expected them while not training",
                given(x.clone()).and(none()).and(none()).and(false).and(0.1).and(1e-5),
            )
            .refuses(
                "without elements",
                given(generate::numbers(DType::F32, &[2, 0], 0))
                    .and(none())
                    .and(none())
                    .and(true)
                    .and(0.1)
                    .and(1e-5),
            );
        samples
            .operator(NativeBatchNormLegitNoTraining, normalisations::samples::FLOATS, no_training, reference)
            .constant(&["running_mean", "running_var"])
            .tolerance(64.0);
        samples.rounds(NativeBatchNorm, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NativeBatchNormLegit, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NativeBatchNormLegitFunctional, Roundings::all(Rounding::Sum(64)));
        samples.rounds(NativeBatchNormLegitNoTraining, Roundings::all(Rounding::Sum(64)));
        let shared = [
            normalisations::samples::SIZES_ARE_CHECKED,
            normalisations::samples::WITHOUT_DEVIATION,
            normalisations::samples::DEVIATIONS_ARE_CHECKED,
            UNUSED_ARE_CHECKED,
            OUTPUTS_ARE_NOT_READ,
        ];
        samples.differs_as(NativeBatchNorm, &shared);
        samples.differs_as(NativeBatchNormLegit, &shared);
        samples.differs_as(NativeBatchNormLegitFunctional, &shared[..3]);
        samples.differs_as(NativeBatchNormLegitNoTraining, &shared);
    }

    const UNUSED_ARE_CHECKED: Difference = Difference {
        id: "unused-outputs-are-checked",
        what: "torch accepts outputs of any dtype for statistics that evaluation does not compute, and \
             leaves or rejects 2-d ones without elements; here they are checked as in training, and \
             get one dimension",
        why: "both behave alike",
        test: ("opgrid-operators/tests/all/networks.rs", "statistics_are_checked"),
        when: |seen| {
            let is_such = |out: &Operand| {
                let is_left = matches!(seen.part, Part::Sizes | Part::Strides)
                    || seen.torch_refuses("TensorAccessor expected 1 dims");
                seen.we_refuse(&format!("argument `out` has dtype {}", out.dtype))
                    || is_left && out.geometry.dims() > 1
            };
            !is_training(seen) && seen.outs().skip(1).any(is_such)
        },
        directed: None,
    };

    const OUTPUTS_ARE_NOT_READ: Difference = Difference {
        id: "averages-are-computed-for-outputs",
        what: "torch normalizes by the contents of the outputs for means and deviations in training, \
             and does not write them; here the batch statistics are computed and written, as without \
             outputs",
        why: "an output must hold the result",
        test: ("opgrid-operators/tests/all/networks.rs", "averages_are_computed_for_outputs"),
        when: |seen| {
            let is_such = seen.out().is_some() && is_training(seen);
            is_such && matches!(seen.part, Part::Values | Part::Written)
        },
        directed: None,
    };

    fn is_training(seen: &Seen<'_>) -> bool {
        seen.number("training") == Some(Scalar::Bool(true))
    }

    const SHAPES: [&[i64]; 6] =
        [&[2, 3], &[2, 3, 4], &[2, 3, 2, 5], &[1, 2, 33, 35], &[40, 3], &[2, 2, 2, 2, 2]];

    fn inputs(dtype: DType) -> Vec<Sample> {
        let end = |sample: Sample, training: bool| sample.and(training).and(0.1).and(1e-5);
        let without = |sizes: &&[i64]| {
            let c = [sizes[1]];
            let sample = given(generate::numbers(dtype, sizes, 1)).and(generate::numbers(dtype, &c, 2));
            end(sample.and(generate::numbers(dtype, &c, 3)).and(Value::None).and(Value::None), true)
        };
        // Not while training: they would be written, in memory that must not repeat its elements.
        let with = no_training(dtype).into_iter().map(|mut sample| {
            sample.positional.insert(5, false.into());
            sample
        });
        SHAPES[..4].iter().map(without).chain(with).collect()
    }

    /// With running statistics, while training and not; `only` says which.
    fn with_statistics(dtype: DType, only: Option<bool>) -> Vec<Sample> {
        let mixed = if dtype.size_in_bytes() == 2 && dtype.is_floating_point() { DType::F32 } else { dtype };
        let of = |sizes: &[i64], training: bool, parameters: DType| {
            let c = [sizes[1]];
            let elements: Vec<f64> = (1..=c[0]).map(|at| at as f64 / 2.0).collect();
            let sample = given(generate::numbers(dtype, sizes, 1))
                .and(generate::numbers(parameters, &c, 2))
                .and(Value::None);
            let sample = sample
                .and(generate::numbers(parameters, &c, 3))
                .and(Plain::from_elements(parameters, &c, &elements));
            let sample = if only.is_none() { sample.and(training) } else { sample };
            sample.and(0.1).and(1e-5)
        };
        let mut samples = Vec::new();
        for training in [true, false].into_iter().filter(|training| only.is_none_or(|only| only == *training))
        {
            samples.extend(SHAPES.iter().map(|sizes| of(sizes, training, dtype)));
            samples.push(of(&[2, 3, 2, 2], training, mixed));
            if !training {
                samples.push(of(&[0, 3], training, dtype));
            }
        }
        samples
    }

    fn no_training(dtype: DType) -> Vec<Sample> {
        with_statistics(dtype, Some(false))
    }

    fn without_statistics(dtype: DType) -> Vec<Sample> {
        let of = |sizes: &&[i64]| {
            given(generate::numbers(dtype, sizes, 1))
                .and(Value::None)
                .and(Value::None)
                .and(true)
                .and(0.1)
                .and(1e-5)
        };
        SHAPES.iter().map(of).collect()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        Ok(normalised(it)?.into())
    }

    /// The results, and the new running statistics.
    fn reference_of_functional(it: &Inputs) -> Result<Expected> {
        let [out, save_mean, save_invstd] = normalised(it)?;
        let (x, mean, var) = (it.tensor("input")?, it.tensor("running_mean")?, it.tensor("running_var")?);
        let (training, momentum): (bool, f64) = (it.value("training")?, it.value("momentum")?);
        let mut order: Vec<usize> = (0..x.sizes().len()).collect();
        order.swap(0, 1);
        let (means, rstds) = naive::row_statistics(&x.permuted(&order), 1, 0.0);
        let (means, rstds) = (means.with_sizes(&[x.sizes()[1]]), rstds.with_sizes(&[x.sizes()[1]]));
        let n = (x.sizes().iter().product::<i64>() / x.sizes()[1].max(1)) as f64;
        let real = |of: &Plain, c: &[i64]| of.at(c).to_complex().re;
        let moved = |of: &Plain, new: &dyn Fn(&[i64]) -> f64| {
            Plain::from_fn(of.dtype(), of.sizes(), |c| {
                let old = real(of, c);
                Scalar::Float(if training { old + (new(c) - old) * momentum } else { old })
            })
        };
        let new_mean = moved(mean, &|c| real(&means, c));
        let new_var = moved(var, &|c| real(&rstds, c).powi(-2) * n / (n - 1.0));
        Ok(vec![out, save_mean, save_invstd, new_mean, new_var].into())
    }

    /// The three results that all forms give.
    fn normalised(it: &Inputs) -> Result<[Plain; 3]> {
        let x = it.tensor("input")?;
        let optional = |name: &str| it.tensor(name).ok();
        let [weight, bias, mean, var] = ["weight", "bias", "running_mean", "running_var"].map(optional);
        let (training, eps): (bool, f64) = (it.option("training")?.unwrap_or(false), it.value("eps")?);
        let real = |of: &Plain, position: &[i64]| of.at(position).to_complex().re;
        let parameters = [weight, bias, mean].into_iter().flatten().next().map_or(x.dtype(), Plain::dtype);
        let mut order: Vec<usize> = (0..x.sizes().len()).collect();
        order.swap(0, 1);
        let (means, rstds) = match (mean, var) {
            (Some(mean), Some(var)) if !training => {
                let rstds = Plain::from_fn(DType::F64, var.sizes(), |c| {
                    Scalar::Float(1.0 / (real(var, c) + eps).sqrt())
                });
                (mean.to(DType::F64), rstds)
            }
            _ => {
                let (means, rstds) = naive::row_statistics(&x.permuted(&order), 1, eps);
                (means.with_sizes(&[x.sizes()[1]]), rstds.with_sizes(&[x.sizes()[1]]))
            }
        };
        let out = Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let c = &position[1..2];
            let normal = (real(x, position) - real(&means, c)) * real(&rstds, c);
            let scaled = normal * weight.map_or(1.0, |weight| real(weight, c));
            Scalar::Float(scaled + bias.map_or(0.0, |bias| real(bias, c)))
        });
        let saved = |of: &Plain| {
            if training { of.to(parameters) } else { Plain::from_elements::<i64>(parameters, &[0], &[]) }
        };
        Ok([out, saved(&means), saved(&rstds)])
    }
}
