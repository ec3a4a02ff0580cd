//! Convolutions: examples are more images where they share filters, and groups of channels where each has its own.

use opgrid_core::{Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{Convolution, ConvolutionBackward, MovedimInt};

use super::Rule;
use super::arguments::{differs, flag, full, given, int, ints, optional};
use super::folded::{fold, unfold};

pub(super) const RULES: &[(&[&str], Rule)] =
    &[(&["convolution"], convolution), (&["convolution_backward"], convolution_backward)];

/// The channels of all examples in a row: `[examples, images, channels, …]` as `[images, examples * channels, …]`.
fn as_channels(images: &Tensor) -> Result<Tensor> {
    let moved = MovedimInt.call(images, 0, 1)?;
    let sizes = moved.sizes();
    moved.reshape([&[sizes[0], sizes[1] * sizes[2]], &sizes[3..]].concat())
}

/// What [`as_channels`] does, undone.
fn from_channels(images: &Tensor, size: i64) -> Result<Tensor> {
    let sizes = images.sizes();
    let parted = images.reshape([&[sizes[0], size, sizes[1] / size.max(1)], &sizes[2..]].concat())?;
    MovedimInt.call(&parted, 1, 0)
}

/// How the window moves.
struct Movement {
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    is_transposed: bool,
    output_padding: Vec<i64>,
    groups: i64,
}

impl Movement {
    /// From the arguments from that place on.
    fn from_call(call: &BatchedCall<'_, '_>, from: usize) -> Result<Self> {
        Ok(Self {
            stride: ints(call, from)?,
            padding: ints(call, from + 1)?,
            dilation: ints(call, from + 2)?,
            is_transposed: flag(call, from + 3),
            output_padding: ints(call, from + 4)?,
            groups: int(call, from + 5)?,
        })
    }

    fn call(&self, input: &Tensor, weight: &Tensor, bias: Option<&Tensor>, groups: i64) -> Result<Tensor> {
        let Self { stride, padding, dilation, is_transposed, output_padding, .. } = self;
        Convolution.call(
            input,
            weight,
            bias,
            stride,
            padding,
            dilation,
            *is_transposed,
            output_padding,
            groups,
        )
    }
}

fn convolution(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let movement = Movement::from_call(call, 3)?;
    let weight = given(call, 1).expect("the schema says that it is a tensor");
    // One image may have no dimension for images.
    let is_alone = given(call, 0).is_some_and(|input| input.dim() + 1 == weight.dim());
    let size = call.size();
    if size == 0 {
        return call.without_examples();
    }
    let images = |call: &BatchedCall<'_, '_>| -> Result<Tensor> {
        let input = full(call, 0)?;
        if is_alone { input.unsqueeze(1) } else { Ok(input) }
    };
    let result = if differs(call, 1) {
        let (weight, bias) = (fold(&full(call, 1)?)?, optional(call, 2)?);
        let bias = bias.map(|bias| bias.reshape(bias.numel())).transpose()?;
        let result =
            movement.call(&as_channels(&images(call)?)?, &weight, bias.as_ref(), movement.groups * size)?;
        from_channels(&result, size)?
    } else {
        let own_bias = optional(call, 2)?.filter(|_| differs(call, 2));
        let bias = given(call, 2).filter(|_| own_bias.is_none());
        let result = unfold(&movement.call(&fold(&images(call)?)?, weight, bias, movement.groups)?, size)?;
        match own_bias {
            Some(bias) => {
                let mut sizes = vec![1; result.dim()];
                (sizes[0], sizes[2]) = (size, bias.sizes()[1]);
                result.add(&bias.reshape(sizes)?)?
            }
            None => result,
        }
    };
    call.push(if is_alone { result.squeeze(1)? } else { result }.into())
}

fn convolution_backward(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let movement = Movement::from_call(call, 4)?;
    let mask = super::arguments::flags(call, 10)?;
    let size = call.size();
    if size == 0 {
        return call.without_examples();
    }
    let (grad, input, weight) = (full(call, 0)?, full(call, 1)?, full(call, 2)?);
    let Movement { stride, padding, dilation, is_transposed, output_padding, groups } = &movement;
    let bias_sizes = match call.args()[3].view() {
        opgrid_core::ValueView::Ints(sizes) => Some(sizes.iter().map(|own| own * size).collect::<Vec<_>>()),
        _ => None,
    };
    let (by_input, by_weight, by_bias) = ConvolutionBackward.call(
        &as_channels(&grad)?,
        &as_channels(&input)?,
        &fold(&weight)?,
        bias_sizes.as_deref(),
        stride,
        padding,
        dilation,
        *is_transposed,
        output_padding,
        groups * size,
        &mask,
    )?;
    let by_input = if mask[0] { from_channels(&by_input, size) } else { Ok(by_input) };
    let by_weight = if mask[1] { unfold(&by_weight, size) } else { Ok(by_weight) };
    let by_bias = if mask[2] { unfold(&by_bias, size) } else { Ok(by_bias) };
    for result in [by_input, by_weight, by_bias] {
        call.push(Value::from(result?))?;
    }
    Ok(())
}
