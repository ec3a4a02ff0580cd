//! Normalisations: those with a weight for each example are multiplied by it afterwards; averages over a batch are over channels of each
//! example.

use opgrid_core::{Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{
    CloneTensor, CopyInplace, FusedRmsNorm, MovedimInt, NativeGroupNorm, NativeGroupNormBackward,
    NativeLayerNorm, NativeLayerNormBackward, SumDim,
};

use super::Rule;
use super::arguments::{differs, flag, flags, full, given, int, ints, optional, refused, with_dims};
use super::folded::{fold, unfold};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["native_layer_norm"], layer_norm),
    (&["native_layer_norm_backward"], layer_norm_backward),
    (&["_fused_rms_norm"], rms_norm),
    (&["native_group_norm"], group_norm),
    (&["native_group_norm_backward"], group_norm_backward),
    (
        &[
            "native_batch_norm",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit.no_stats",
            "_native_batch_norm_legit_functional",
            "_native_batch_norm_legit_no_training",
        ],
        batch_norm,
    ),
];

fn number(call: &BatchedCall<'_, '_>, place: usize) -> f64 {
    call.args()[place].as_scalar().and_then(|number| number.to_f64().ok()).unwrap_or_default()
}

/// A factor that differs from example to example, to be multiplied afterwards, or the same one for all.
fn parted<'b>(call: &BatchedCall<'_, 'b>, place: usize) -> Result<(Option<Tensor>, Option<&'b Tensor>)> {
    if differs(call, place) { Ok((optional(call, place)?, None)) } else { Ok((None, given(call, place))) }
}

fn push_all(call: &mut BatchedCall<'_, '_>, results: impl IntoIterator<Item = Tensor>) -> Result<()> {
    results.into_iter().try_for_each(|result| call.push(Value::from(result)))
}

fn layer_norm(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, shape, eps) = (full(call, 0)?, ints(call, 1)?, number(call, 4));
    let ((own_weight, weight), (own_bias, bias)) = (parted(call, 2)?, parted(call, 3)?);
    // What is added comes after the factor.
    let bias = if own_weight.is_some() { None } else { bias };
    let own_bias = if own_weight.is_some() { optional(call, 3)? } else { own_bias };
    let (mut result, mean, rstd) = NativeLayerNorm.call(&input, &shape, weight, bias, eps)?;
    if let Some(weight) = own_weight {
        result = result.mul(&with_dims(&weight, input.dim())?)?;
    }
    if let Some(bias) = own_bias {
        result = result.add(&with_dims(&bias, input.dim())?)?;
    }
    push_all(call, [result, mean, rstd])
}

/// The sum over the dimensions of an example from 1 to `end`.
fn summed(tensor: &Tensor, end: usize) -> Result<Tensor> {
    let dims: Vec<i64> = (1..end as i64).collect();
    if dims.is_empty() { Ok(tensor.clone()) } else { SumDim.call(tensor, Some(&dims), false, None) }
}

fn layer_norm_backward(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (grad, input, shape) = (full(call, 0)?, full(call, 1)?, ints(call, 2)?);
    let (mean, rstd, weight, mask) = (full(call, 3)?, full(call, 4)?, optional(call, 5)?, flags(call, 7)?);
    let end = input.dim() - shape.len();
    let by_weight =
        if mask[1] { summed(&grad.mul(&input.sub(&mean)?.mul(&rstd)?)?, end)? } else { Tensor::undefined() };
    let by_bias = if mask[2] { summed(&grad, end)? } else { Tensor::undefined() };
    let scaled = match weight {
        Some(weight) => grad.mul(&with_dims(&weight, grad.dim())?)?,
        None => grad,
    };
    let only = [mask[0], false, false];
    let (by_input, ..) =
        NativeLayerNormBackward.call(&scaled, &input, &shape, &mean, &rstd, None, None, &only)?;
    push_all(call, [by_input, by_weight, by_bias])
}

fn rms_norm(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, shape) = (full(call, 0)?, ints(call, 1)?);
    let eps = call.args()[3].as_scalar().and_then(|eps| eps.to_f64().ok());
    let (own_weight, weight) = parted(call, 2)?;
    let (mut result, rstd) = FusedRmsNorm.call(&input, &shape, weight, eps)?;
    if let Some(weight) = own_weight {
        result = result.mul(&with_dims(&weight, input.dim())?)?;
    }
    push_all(call, [result, rstd])
}

/// Numbers of channels as factors of images of so many dimensions.
fn of_channels(numbers: &Tensor, dims: usize) -> Result<Tensor> {
    let sizes = numbers.sizes();
    numbers.reshape([&[sizes[0], 1, sizes[1]], vec![1; dims - 3].as_slice()].concat())
}

fn group_norm(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, size) = (full(call, 0)?, call.size());
    let [images, channels, pixels, groups] = [3, 4, 5, 6].map(|place| int(call, place));
    let ((own_weight, weight), (own_bias, bias)) = (parted(call, 1)?, parted(call, 2)?);
    let bias = if own_weight.is_some() { None } else { bias };
    let own_bias = if own_weight.is_some() { optional(call, 2)? } else { own_bias };
    let eps = number(call, 7);
    let (result, mean, rstd) = NativeGroupNorm.call(
        &fold(&input)?,
        weight,
        bias,
        images? * size,
        channels?,
        pixels?,
        groups?,
        eps,
    )?;
    let [mut result, mean, rstd] = [unfold(&result, size)?, unfold(&mean, size)?, unfold(&rstd, size)?];
    if let Some(weight) = own_weight {
        result = result.mul(&of_channels(&weight, result.dim())?)?;
    }
    if let Some(bias) = own_bias {
        result = result.add(&of_channels(&bias, result.dim())?)?;
    }
    push_all(call, [result, mean, rstd])
}

fn group_norm_backward(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (grad, input, mean, rstd) = (full(call, 0)?, full(call, 1)?, full(call, 2)?, full(call, 3)?);
    let (weight, mask, size) = (optional(call, 4)?, flags(call, 9)?, call.size());
    let [images, channels, pixels, groups] = [5, 6, 7, 8].map(|place| int(call, place));
    let (images, channels, pixels, groups) = (images?, channels?, pixels?, groups?);
    // Sums over images and their elements.
    let over_images = |numbers: &Tensor| {
        SumDim.call(&numbers.reshape([size, images, channels, pixels])?, Some(&[1, 3]), false, None)
    };
    let by_weight = if mask[1] {
        let parts = [size, images, groups, channels / groups.max(1) * pixels];
        let of_groups = |numbers: &Tensor| numbers.reshape([size, images, groups, 1]);
        let normal = input.reshape(parts)?.sub(&of_groups(&mean)?)?.mul(&of_groups(&rstd)?)?;
        over_images(&grad.reshape(parts)?.mul(&normal)?)?
    } else {
        Tensor::undefined()
    };
    let by_bias = if mask[2] { over_images(&grad)? } else { Tensor::undefined() };
    let scaled = match weight {
        Some(weight) => grad.mul(&of_channels(&weight, grad.dim())?)?,
        None => grad,
    };
    let by_input = if mask[0] {
        let (by_input, ..) = NativeGroupNormBackward.call(
            &fold(&scaled)?,
            &fold(&input)?,
            &fold(&mean)?,
            &fold(&rstd)?,
            None,
            images * size,
            channels,
            pixels,
            groups,
            &[true, false, false],
        )?;
        unfold(&by_input, size)?
    } else {
        Tensor::undefined()
    };
    push_all(call, [by_input, by_weight, by_bias])
}

/// The channels of all examples in a row, which have their own averages.
fn batch_norm(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let Some(schema) = call.schema() else { return call.one_by_one() };
    let (input, size) = (full(call, 0)?, call.size());
    let is_training = schema.argument_index("training").is_some_and(|place| flag(call, place));
    let updates = is_training && !call.operator().name().base().ends_with("functional");
    let moved = MovedimInt.call(&input, 0, 1)?;
    let sizes = moved.sizes().to_vec();
    let channels = [&[sizes[0], sizes[1] * sizes[2]], &sizes[3..]].concat();
    let mut args: Vec<Value> = vec![moved.reshape(channels)?.into()];
    let mut running = Vec::new();
    for place in 1..call.args().len() {
        args.push(match optional(call, place)? {
            Some(numbers) => {
                let mut row = numbers.reshape(numbers.numel())?;
                if updates && schema.arguments[place].name.starts_with("running") {
                    if !differs(call, place) {
                        return Err(refused(format!(
                            "argument `{}` comes from outside the function that `vmap` transforms, and cannot be written \
                             with what the function computes; pass it as an input, or use the functional form",
                            schema.arguments[place].name
                        )));
                    }
                    // What is written back is not the memory itself, seen in another way.
                    row = CloneTensor.call(&row, None)?;
                    running.push((numbers, row.clone()));
                }
                row.into()
            }
            None => call.args()[place].to_value(),
        });
    }
    let results = call.operator().call_values(args)?;
    for (numbers, row) in running {
        CopyInplace.call(&numbers, &row.reshape(numbers.sizes())?, false)?;
    }
    for (place, result) in results.into_iter().enumerate() {
        let result = Tensor::try_from(result)?;
        let of_examples = match (place, result.sizes()) {
            (0, _) => MovedimInt.call(&result.reshape(&sizes)?, 1, 0)?,
            (_, [0]) => result.reshape([size, 0])?,
            (_, [all, ..]) => result.reshape([size, all / size.max(1)])?,
            (_, []) => result,
        };
        call.push(of_examples.into())?;
    }
    Ok(())
}
