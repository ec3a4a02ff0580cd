//! Views whose arguments are not only dimensions.

use opgrid_core::{Result, Value, ValueView};
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{Alias, AsStrided, SqueezeDims};

use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (
        &[
            "alias",
            "detach",
            "lift",
            "lift_fresh",
            "view.dtype",
            "view_as_real",
            "view_as_complex",
            "_conj",
            "detach_",
        ],
        as_it_is,
    ),
    (&["as_strided"], as_strided),
    (&["new_empty_strided"], new_empty_strided),
    (&["squeeze"], squeeze),
    (&["t"], t),
];

/// Positions in memory count from where each example begins.
fn as_strided(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let args = call.args();
    let (Some((input, true)), ValueView::Ints(sizes), ValueView::Ints(strides)) =
        (call.tensor(0), args[1].view(), args[2].view())
    else {
        return call.one_by_one();
    };
    // That of the first example is where they all begin.
    let own = input.geometry().offset();
    let offset = args[3].as_int().unwrap_or(own);
    let stride = input.strides()[0];
    let (sizes, strides) = ([&[call.size()], sizes].concat(), [&[stride], strides].concat());
    call.push(AsStrided.call(&input, &sizes, &strides, Some(offset))?.into())
}

/// The memory of all examples in a row.
fn new_empty_strided(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let args = call.args();
    let (Some((input, true)), ValueView::Ints(sizes), ValueView::Ints(strides)) =
        (call.tensor(0), args[1].view(), args[2].view())
    else {
        return call.one_by_one();
    };
    let reach = sizes.iter().zip(strides).map(|(size, stride)| (size - 1).max(0) * stride).sum::<i64>() + 1;
    let (sizes, strides) = ([&[call.size()], sizes].concat(), [&[reach], strides].concat());
    let mut args: Vec<Value> = args.iter().map(|value| value.to_value()).collect();
    args[0] = (&input).into();
    args[1] = sizes.into();
    args[2] = strides.into();
    call.call_with(args)
}

/// All dimensions of size 1, but not that of the batch.
fn squeeze(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let Some((input, true)) = call.tensor(0) else { return call.one_by_one() };
    let dims: Vec<i64> =
        (1..input.dim()).filter(|dim| input.sizes()[*dim] == 1).map(|dim| dim as i64).collect();
    call.push(if dims.is_empty() { Alias.call(&input)? } else { SqueezeDims.call(&input, &dims)? }.into())
}

fn t(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    match call.tensor(0) {
        Some((input, true)) if input.dim() == 3 => call.push(input.transpose(1, 2)?.into()),
        Some((input, true)) if input.dim() < 3 => call.push(Alias.call(&input)?.into()),
        _ => call.one_by_one(),
    }
}
