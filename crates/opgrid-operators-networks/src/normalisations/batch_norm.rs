//! `aten::batch_norm`, `aten::instance_norm`: channels without their average, divided by their deviation.
//!
//! - Formula: that of `native_batch_norm`, whose first result `batch_norm` gives. For `instance_norm` each channel of each image
//!   is a channel of its own, if `use_input_stats`; what it adds to the running statistics is averaged over the images.
//! - Shapes: `[N, C, …]`; parameters and running statistics have shape `[C]`.
//! - Dtypes: those of `native_batch_norm`; `instance_norm` takes running statistics of any dtype, and computes with those
//!   of the parameters, or of `input` without.
//! - Dispatch: composites of `native_batch_norm`. `batch_norm` of no elements is a copy.
//! - Strides: `instance_norm` gives rows.
//! - Errors: those of `native_batch_norm`; `instance_norm` with neither.
//! - Source: torch.nn.functional.batch_norm, torch.nn.functional.instance_norm, PyTorch 2.15; the flags for accelerators
//!   make no difference here.

use crate::prelude::*;
use opgrid_tensor::ops::{CopyInplace, Expand, MeanDim, NativeBatchNorm, Reshape, ToCopy};

pub use opgrid_tensor::ops::normalisations::batch_norm::*;

pub(super) fn register(library: &mut Library) {
    library.define(BatchNorm).kind(&kind::NORMALISATION).implicit(batch_norm);
    library.define(InstanceNorm).kind(&kind::NORMALISATION).implicit(instance_norm);
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn batch_norm(
    input: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    running_mean: Option<&Tensor>,
    running_var: Option<&Tensor>,
    training: bool,
    momentum: f64,
    eps: f64,
    _cudnn_enabled: bool,
) -> Result<Tensor> {
    normalisations::statistics_dtype(input.spec()?, [("weight", weight), ("bias", bias)])?;
    if input.numel() == 0 {
        let parameters = [
            ("weight", weight),
            ("bias", bias),
            ("running_mean", running_mean),
            ("running_var", running_var),
        ];
        // A vector of nothing has no channels, as in torch.
        if let Some(channels) = input.sizes().get(1) {
            normalisations::check_sizes(parameters, &[*channels])?;
        }
        return opgrid_tensor::ops::CloneTensor.call(input, None);
    }
    let results =
        NativeBatchNorm.call(input, weight, bias, running_mean, running_var, training, momentum, eps)?;
    Ok(results.0)
}

#[expect(clippy::too_many_arguments, reason = "those of the schema")]
fn instance_norm(
    input: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    running_mean: Option<&Tensor>,
    running_var: Option<&Tensor>,
    use_input_stats: bool,
    momentum: f64,
    eps: f64,
    _cudnn_enabled: bool,
) -> Result<Tensor> {
    let sizes = input.spec()?.sizes();
    let &[n, c, ref inner @ ..] = sizes else {
        let message =
            format!("argument `input` has shape {sizes:?}, expected at least two dimensions, [N, C, …]");
        return Err(argument(message));
    };
    if !use_input_stats && (running_mean.is_none() || running_var.is_none()) {
        let message = "argument `use_input_stats` is false, expected `running_mean` and `running_var`";
        return Err(argument(message));
    }
    let all = n.checked_mul(c).ok_or_else(|| argument("the sizes of `input` overflow 64 bits"))?;
    normalisations::check_sizes(
        [("weight", weight), ("bias", bias), ("running_mean", running_mean), ("running_var", running_var)],
        &[c],
    )?;
    let repeated = |parameter: Option<&Tensor>| -> Result<Option<Tensor>> {
        parameter.map(|one| Reshape.call(&Expand.call(one, &[n, c], false)?, &[all])).transpose()
    };
    let dtype = weight.or(bias).unwrap_or(input).dtype();
    // Each gets memory of its own, for it is written.
    let copied = |running: Option<&Tensor>| -> Result<Option<Tensor>> {
        let copy = |one: Tensor| ToCopy.call(&one, Some(dtype), None, None, None, false, None);
        repeated(running)?.map(copy).transpose()
    };
    let (weight, bias) = (repeated(weight)?, repeated(bias)?);
    let (mean, var) = (copied(running_mean)?, copied(running_var)?);
    let images = Reshape.call(&input.contiguous()?, &[&[1, all], inner].concat())?;
    let (out, ..) = NativeBatchNorm.call(
        &images,
        weight.as_ref(),
        bias.as_ref(),
        mean.as_ref(),
        var.as_ref(),
        use_input_stats,
        momentum,
        eps,
    )?;
    for (running, new) in [(running_mean, mean), (running_var, var)] {
        if let (true, Some(running), Some(new)) = (use_input_stats, running, new) {
            let averaged = MeanDim.call(&Reshape.call(&new, &[n, c])?, Some(&[0]), false, None)?;
            CopyInplace.call(running, &averaged, false)?;
        }
    }
    Reshape.call(&out, sizes)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3, 4], 0);
        let none = || Given::from(Value::None);
        let bare = |flag: bool| {
            let sample = given(x.clone()).and(none()).and(none()).and(none()).and(none());
            sample.and(flag).and(0.1).and(1e-5).and(true)
        };
        samples
            .operator(
                BatchNorm,
                normalisations::samples::FLOATS,
                |dtype| inputs(dtype, &[0, 3]),
                |it| reference(it, "training", 1),
            )
            .constant(&["running_mean", "running_var"])
            .tolerance(64.0)
            .refuses("while not training", bare(false));
        samples
            .operator(
                InstanceNorm,
                normalisations::samples::FLOATS,
                |dtype| inputs(dtype, &[]),
                |it| reference(it, "use_input_stats", 2),
            )
            .constant(&["running_mean", "running_var"])
            .tolerance(64.0)
            .refuses("`use_input_stats` is false", bare(false));
        samples.rounds(BatchNorm, Roundings::all(Rounding::Sum(64)));
        samples.rounds(InstanceNorm, Roundings::all(Rounding::Sum(64)));
        samples.differs_as(
            BatchNorm,
            &[
                normalisations::samples::WITHOUT_DEVIATION,
                normalisations::samples::DEVIATIONS_ARE_CHECKED,
                WITHOUT_CHANNELS,
            ],
        );
        samples.differs_as(
            InstanceNorm,
            &[
                normalisations::samples::WITHOUT_DEVIATION,
                normalisations::samples::DEVIATIONS_ARE_CHECKED,
                WITHOUT_CHANNELS,
            ],
        );
    }

    const WITHOUT_CHANNELS: Difference = Difference {
        id: "images-without-channels-are-normalised",
        what: "torch asks for the first weight or bias if images are empty, even if there are no \
             channels and no weight; here the result is empty, too",
        why: "nothing is computed",
        test: ("opgrid-operators/tests/all/networks.rs", "images_without_channels_are_normalised"),
        when: |seen| seen.torch_refuses("select(): index 0 out of range for tensor of size [0]"),
        directed: None,
    };

    fn inputs(dtype: DType, empty: &[i64]) -> Vec<Sample> {
        let shapes: [&[i64]; 3] = [&[2, 3, 4], &[2, 3, 2, 5], empty];
        let mut samples = Vec::new();
        for sizes in shapes.into_iter().filter(|sizes| !sizes.is_empty()) {
            let c = [sizes[1]];
            let with_parameters = given(generate::numbers(dtype, sizes, 1))
                .and(generate::numbers(dtype, &c, 2))
                .and(generate::numbers(dtype, &c, 3));
            let without = given(generate::numbers(dtype, sizes, 1)).and(Value::None).and(Value::None);
            let elements: Vec<f64> = (1..=c[0]).map(|at| at as f64 / 2.0).collect();
            let running = |sample: Sample| {
                sample.and(generate::numbers(dtype, &c, 4)).and(Plain::from_elements(dtype, &c, &elements))
            };
            let end = |sample: Sample, flag: bool| sample.and(flag).and(0.1).and(1e-5).and(false);
            samples.push(end(with_parameters.clone().and(Value::None).and(Value::None), true));
            // Running statistics would be written, in memory that must not repeat its elements.
            samples.push(end(running(with_parameters), false));
            samples.push(end(running(without), false));
        }
        samples
    }

    /// With statistics over all dimensions but the first `own` ones, where the flag of that name is set, in the order in which
    /// channels stand in front.
    fn reference(it: &Inputs, flag: &str, own: usize) -> Result<Expected> {
        let x = it.tensor("input")?;
        let optional = |name: &str| it.tensor(name).ok();
        let [weight, bias, mean, var] = ["weight", "bias", "running_mean", "running_var"].map(optional);
        let eps: f64 = it.value("eps")?;
        let real = |of: &Plain, position: &[i64]| of.at(position).to_complex().re;
        let mut order: Vec<usize> = (0..x.sizes().len()).collect();
        order.swap(0, 1);
        let (means, rstds) = naive::row_statistics(&x.permuted(&order), own, eps);
        let own_statistics: bool = it.value(flag)?;
        let out = Plain::from_fn(x.dtype(), x.sizes(), |position| {
            let (n, c) = (position[0], &position[1..2]);
            let mut place = vec![0; x.sizes().len()];
            place[0] = c[0];
            if own == 2 {
                place[1] = n;
            }
            let (mean, rstd) = match (mean, var) {
                (Some(mean), Some(var)) if !own_statistics => {
                    (real(mean, c), 1.0 / (real(var, c) + eps).sqrt())
                }
                _ => (real(&means, &place), real(&rstds, &place)),
            };
            let scaled = (real(x, position) - mean) * rstd * weight.map_or(1.0, |weight| real(weight, c));
            Scalar::Float(scaled + bias.map_or(0.0, |bias| real(bias, c)))
        });
        Ok(out.into())
    }
}
