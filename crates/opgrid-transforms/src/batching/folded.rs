//! Operators on images: examples are more images.

use opgrid_core::{Result, Value, ValueView};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::levels::map_tensors;
use opgrid_tensor::layers::vmap::BatchedCall;

use super::arguments::{full, given};
use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["grid_sampler_2d", "grid_sampler_3d", "channel_shuffle", "affine_grid_generator"], folded),
    (&["constant_pad_nd", "pixel_shuffle", "pixel_unshuffle"], as_it_is),
    (&["col2im"], |call| if call.example_rank() == Some(3) { folded(call) } else { beside(call) }),
    // Samples for single images have a dimension of images, too.
    (&["fractional_max_pool2d", "fractional_max_pool3d"], |call| call.one_by_one()),
    (&["_scaled_dot_product_flash_attention_for_cpu"], attention),
];

/// An operator on images with channels, alone or several of them: an example of one image is one of the images, the images of an example
/// of several are put in a row with those of the others.
pub(super) fn images(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let name = call.operator().name().base();
    let spatial = ["1d", "2d", "3d"].iter().position(|dims| name.contains(dims)).map(|at| at as i64 + 1);
    // Those without a number in the name are of two dimensions.
    let spatial = spatial.unwrap_or(2);
    match call.example_rank() {
        Some(rank) if rank == spatial + 1 => beside(call),
        Some(rank) if rank == spatial + 2 => folded(call),
        _ => call.one_by_one(),
    }
}

/// An operator whose tensors are one image each.
fn beside(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let args = (0..call.args().len()).map(|place| with_size(call, place, false)).collect::<Result<_>>()?;
    call.call_with(args)
}

/// An operator whose tensors have images along their dimension 0: those of all examples are put in a row.
pub(super) fn folded(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let args = (0..call.args().len()).map(|place| with_size(call, place, true)).collect::<Result<_>>()?;
    let size = call.size();
    call.call_and(args, &mut |result| unfold(result, size))
}

/// An argument for images: stretched tensors, and the sizes of all images where an argument says them.
fn with_size(call: &BatchedCall<'_, '_>, place: usize, is_folded: bool) -> Result<Value> {
    let value = call.args()[place];
    let name = call.schema().map(|schema| schema.arguments[place].name.as_str());
    match (name, value.view()) {
        (Some("input_size" | "size"), ValueView::Ints(sizes)) if !sizes.is_empty() => Ok(if is_folded {
            [&[sizes[0] * call.size()], &sizes[1..]].concat().into()
        } else {
            [&[call.size()], sizes].concat().into()
        }),
        _ => map_tensors(value, &mut |tensor| {
            let tensor = call.stretched(tensor)?;
            if is_folded && tensor.is_defined() { fold(&tensor) } else { Ok(tensor) }
        }),
    }
}

/// Dimensions 0 and 1 as one.
pub(super) fn fold(tensor: &Tensor) -> Result<Tensor> {
    let sizes = tensor.sizes();
    match sizes {
        [batch, images, rest @ ..] => tensor.reshape([&[batch * images], rest].concat()),
        _ => Ok(tensor.clone()),
    }
}

/// Dimension 0 as the examples and the images of each.
pub(super) fn unfold(tensor: &Tensor, size: i64) -> Result<Tensor> {
    let sizes = tensor.sizes();
    tensor.reshape([&[size, sizes[0] / size.max(1)], &sizes[1..]].concat())
}

/// A mask is stretched to the queries of all examples.
fn attention(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let mut args: Vec<Value> =
        (0..call.args().len()).map(|place| with_size(call, place, true)).collect::<Result<_>>()?;
    const MASK: usize = 5;
    let query = full(call, 0)?;
    if let Some(given) = given(call, MASK) {
        let mask = call.stretched(given)?;
        let mask = match given.dim() {
            2 => mask.unsqueeze(1)?.unsqueeze(1)?,
            _ => mask,
        };
        let sizes = [&query.sizes()[..2], &mask.sizes()[2..]].concat();
        args[MASK] = fold(&mask.expand(sizes)?)?.into();
    }
    let size = call.size();
    call.call_and(args, &mut |result| unfold(result, size))
}
