//! Views, and what gives memory other sizes.

use opgrid_core::{Result, Value};
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{Alias, AsStrided, AsStridedScatter, ConstantPadNd, Permute, SqueezeDims, Stack};

use super::arguments::{behind, full, int, ints, others, refused, rows};
use super::dimensions::along_dimensions;
use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (
        &[
            "alias",
            "detach",
            "detach_",
            "lift",
            "lift_fresh",
            "view.dtype",
            "view_as_real",
            "view_as_complex",
        ],
        as_it_is,
    ),
    (&["_unsafe_view", "unsafe_split.Tensor"], along_dimensions),
    (&["as_strided"], as_strided),
    (&["as_strided_scatter"], as_strided_scatter),
    (&["new_empty_strided"], new_empty_strided),
    (&["permute"], permute),
    (&["squeeze"], squeeze),
    (&["stack"], stack),
    (&["t"], t),
    (&["resize"], resize),
    (
        &[
            "as_strided_",
            "resize_",
            "resize_as_",
            "set_",
            "set_.source_Tensor",
            "set_.source_Tensor_storage_offset",
            "squeeze_",
            "squeeze_.dim",
            "squeeze_.dims",
            "t_",
            "transpose_",
            "unsqueeze_",
        ],
        keeps_sizes,
    ),
];

/// What a tensor stands for keeps its sizes.
fn keeps_sizes(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let base = call.operator().name().base().trim_end_matches('_');
    Err(refused(format!(
        "a tensor that stands for the examples of a batch cannot get other sizes, strides or memory; use the result of `{base}`"
    )))
}

/// Positions in memory count from where each example begins.
fn as_strided(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let Some((input, true)) = call.tensor(0) else { return call.one_by_one() };
    // That of the first example is where they all begin.
    let offset = call.args()[3].as_int().unwrap_or(input.geometry().offset());
    let stride = input.strides()[0];
    let sizes = [&[call.size()], ints(call, 1)?.as_slice()].concat();
    let strides = [&[stride], ints(call, 2)?.as_slice()].concat();
    call.push(AsStrided.call(&input, &sizes, &strides, Some(offset))?.into())
}

fn as_strided_scatter(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, source) = (full(call, 0)?.contiguous()?, full(call, 1)?);
    let (sizes, strides, offset) = (ints(call, 2)?, ints(call, 3)?, call.args()[4].as_int().unwrap_or(0));
    let example: i64 = input.sizes()[1..].iter().product();
    let last = sizes.iter().zip(&strides).map(|(size, stride)| (size - 1).max(0) * stride).sum::<i64>();
    if !sizes.contains(&0) && offset + last >= example {
        let message = format!(
            "sizes {sizes:?}, strides {strides:?} and offset {offset} reach beyond the {example} elements of an example"
        );
        return Err(refused(message));
    }
    let (sizes, strides) =
        ([&[call.size()], sizes.as_slice()].concat(), [&[example], strides.as_slice()].concat());
    call.push(AsStridedScatter.call(&input, &source, &sizes, &strides, Some(offset))?.into())
}

/// The memory of all examples in a row.
fn new_empty_strided(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, sizes, strides) = (full(call, 0)?, ints(call, 1)?, ints(call, 2)?);
    let reach = sizes.iter().zip(&strides).map(|(size, stride)| (size - 1).max(0) * stride).sum::<i64>() + 1;
    let (sizes, strides) =
        ([&[call.size()], sizes.as_slice()].concat(), [&[reach], strides.as_slice()].concat());
    let args: Vec<Value> = vec![input.into(), sizes.into(), strides.into()];
    call.call_with([args, others(call, 3)].concat())
}

fn permute(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, dims) = (full(call, 0)?, ints(call, 1)?);
    let rank = input.dim() as i64 - 1;
    let dims: Vec<i64> = std::iter::once(0).chain(dims.iter().map(|dim| behind(*dim, rank))).collect();
    call.push(Permute.call(&input, &dims)?.into())
}

/// All dimensions of size 1, but not that of the batch.
fn squeeze(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let input = full(call, 0)?;
    let dims: Vec<i64> =
        (1..input.dim()).filter(|dim| input.sizes()[*dim] == 1).map(|dim| dim as i64).collect();
    call.push(if dims.is_empty() { Alias.call(&input)? } else { SqueezeDims.call(&input, &dims)? }.into())
}

/// The new dimension may stand behind all others.
fn stack(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (dim, rank) = (int(call, 1)?, call.example_rank().unwrap_or(0));
    let parts = super::joining::list(call, 0)?;
    call.push(Stack.call(&parts, behind(dim, rank + 1))?.into())
}

fn t(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let input = full(call, 0)?;
    call.push(if input.dim() == 3 { input.transpose(1, 2)? } else { Alias.call(&input)? }.into())
}

/// The first elements of each example, and zeros where there are not as many.
fn resize(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, sizes) = (rows(&full(call, 0)?)?, ints(call, 1)?);
    let more = sizes.iter().product::<i64>() - input.sizes()[1];
    let elements = ConstantPadNd.call(&input, &[0, more], 0.into())?;
    call.push(elements.reshape([&[call.size()], sizes.as_slice()].concat())?.into())
}
