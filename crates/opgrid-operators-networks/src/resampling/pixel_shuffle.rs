//! `aten::pixel_shuffle`, `pixel_unshuffle`, `channel_shuffle`: elements of images in other places.
//!
//! `pixel_shuffle`: `out[…, c, h * r + i, w * r + j] = self[…, c * r * r + i * r + j, h, w]`; `pixel_unshuffle` is its inverse;
//! `channel_shuffle`: `out[n, k * groups + g, …] = self[n, g * size + k, …]`, where `size` is the number of a group's channels.
//!
//! - Shapes: images with channels, however many of them; `channel_shuffle` takes a batch of anything with channels.
//! - Dtypes: all.
//! - Strides: a channels-last batch gives channels-last results.
//! - Aliasing: the `out` forms write `out`, which must not overlap `self`.
//! - Dispatch: `native_channel_shuffle` is a composite of `channel_shuffle`.
//! - Errors: too few dimensions; a factor below 1; channels, heights or widths that it does not divide.
//! - Source: torch.nn.functional.pixel_shuffle and channel_shuffle, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kinds::images::in_format_of;

pub use opgrid_tensor::ops::resampling::pixel_shuffle::*;

/// The family of `aten::pixel_shuffle`, which moves channels to space.
pub const PIXEL_SHUFFLE: Family<PixelShuffle> =
    Family::new(PixelShuffle, &kind::RESAMPLING, |input, factor| {
        let spec = input.spec()?;
        let (outer, [channels, height, width]) = image("upscale_factor", spec, factor)?;
        let square = factor.checked_mul(factor).filter(|square| channels % square == 0);
        let sizes = square.and_then(|square| {
            Some([channels / square, height.checked_mul(factor)?, width.checked_mul(factor)?])
        });
        let Some(sizes) = sizes else {
            let message = format!(
                "argument `self` has {channels} channels, expected a multiple of the square of {factor}"
            );
            return Err(argument(message));
        };
        in_format_of(spec, &[outer, &sizes].concat(), true)
    })
    .same_dtype_out();

/// The family of `aten::pixel_unshuffle`, which moves space to channels.
pub const PIXEL_UNSHUFFLE: Family<PixelUnshuffle> =
    Family::new(PixelUnshuffle, &kind::RESAMPLING, |input, factor| {
        let spec = input.spec()?;
        let (outer, [channels, height, width]) = image("downscale_factor", spec, factor)?;
        let many = factor.checked_mul(factor).and_then(|square| channels.checked_mul(square));
        let Some(many) = many.filter(|_| height % factor == 0 && width % factor == 0) else {
            let message = format!(
                "argument `self` has shape {:?}, expected images of multiples of {factor}",
                spec.sizes()
            );
            return Err(argument(message));
        };
        in_format_of(spec, &[outer, &[many, height / factor, width / factor]].concat(), true)
    })
    .same_dtype_out();

/// The family of `aten::channel_shuffle`, which interleaves the channels of groups.
pub const CHANNEL_SHUFFLE: Family<ChannelShuffle> =
    Family::new(ChannelShuffle, &kind::RESAMPLING, |input, groups| {
        let spec = input.spec()?;
        match *spec.sizes() {
            [_, channels, _, ..] if groups > 0 && channels % groups == 0 => {
                in_format_of(spec, spec.sizes(), true)
            }
            [_, _, _, ..] => Err(argument(format!(
                "argument `groups` is {groups}, expected a divisor of the channels of `self` of shape {:?}",
                spec.sizes()
            ))),
            _ => Err(argument(format!(
                "argument `self` has shape {:?}, expected a batch of images with channels",
                spec.sizes()
            ))),
        }
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&PIXEL_SHUFFLE)
        .cpu(|input, factor, out| {
            let (outer, [_, height, width]) = image("upscale_factor", input.spec()?, factor)?;
            let channels = out.sizes()[outer.len()];
            let from = [outer, &[channels, factor, factor, height, width]].concat();
            let to = [outer, &[channels, height, factor, width, factor]].concat();
            move_elements(input, &from, out, &to, &[0, 3, 1, 4, 2])
        })
        .derivative(|d, (input, factor)| d.by(input, [], move |grad, []| PixelUnshuffle.call(grad, factor)));
    library
        .family(&PIXEL_UNSHUFFLE)
        .cpu(|input, factor, out| {
            let (outer, [channels, height, width]) = image("downscale_factor", input.spec()?, factor)?;
            let (height, width) = (height / factor, width / factor);
            let from = [outer, &[channels, height, factor, width, factor]].concat();
            let to = [outer, &[channels, factor, factor, height, width]].concat();
            move_elements(input, &from, out, &to, &[0, 2, 4, 1, 3])
        })
        .derivative(|d, (input, factor)| d.by(input, [], move |grad, []| PixelShuffle.call(grad, factor)));
    library
        .family(&CHANNEL_SHUFFLE)
        .cpu(|input, groups, out| {
            let (outer, inner) = (&input.sizes()[..1], &input.sizes()[2..]);
            let size = input.sizes()[1] / groups;
            let order: Vec<i64> = [1, 0].into_iter().chain(2..inner.len() as i64 + 2).collect();
            let (from, to) =
                ([outer, &[groups, size], inner].concat(), [outer, &[size, groups], inner].concat());
            move_elements(input, &from, out, &to, &order)
        })
        .derivative(|d, (input, groups)| {
            let back = input.sizes()[1] / groups;
            d.by(input, [], move |grad, []| match back {
                0 => Ok(grad.clone()),
                back => ChannelShuffle.call(grad, back),
            })
        });
    library
        .define(NativeChannelShuffle)
        .kind(&kind::RESAMPLING)
        .implicit(|input, groups| ChannelShuffle.call(input, groups));
}

/// What is before an image, and its channels, height and width.
///
/// # Errors
///
/// Fewer than three dimensions; a factor below 1.
fn image<'a>(name: &str, spec: &'a TensorSpec, factor: i64) -> Result<(&'a [i64], [i64; 3])> {
    if factor < 1 {
        return Err(argument(format!("argument `{name}` is {factor}, expected at least 1")));
    }
    match spec.sizes() {
        [outer @ .., channels, height, width] => Ok((outer, [*channels, *height, *width])),
        found => {
            Err(argument(format!("argument `self` has shape {found:?}, expected channels, height and width")))
        }
    }
}

/// Copies elements to an output: both are seen under other sizes, and the last dimensions of the input in another order.
fn move_elements(input: &Tensor, from: &[i64], out: &Tensor, to: &[i64], order: &[i64]) -> Result<()> {
    let (input, out) = (input.array()?, out.array()?);
    if out.spec().numel() == 0 {
        return Ok(());
    }
    let outer = from.len() - order.len();
    let order: Vec<i64> = (0..outer as i64).chain(order.iter().map(|dim| dim + outer as i64)).collect();
    let moved = input.view(input.geometry().view(from)?.permute(&order)?)?;
    elementwise::copy(&out.view(out.geometry().view(to)?)?, &moved)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(
            PixelUnshuffle,
            Difference {
                id: "images-of-nothing",
                what: "torch gives an empty image another shape in `pixel_unshuffle`; here it has the \
                     same shape as others",
                why: "the shape of a result must not depend on the number of elements",
                test: ("opgrid-operators/tests/all/differences/computed.rs", "images_of_nothing"),
                when: |seen| {
                    let is_empty = seen.inputs().iter().any(|input| input.is_empty());
                    is_empty && matches!(seen.part, Part::Sizes | Part::Strides)
                },
                directed: None,
            },
        );
        let orders = Difference {
            id: "shuffled-volumes-of-any-order",
            what: "torch rejects batches of images in the memory format of volumes; here images may \
                 have any strides",
            why: "results must not depend on strides",
            test: ("opgrid-operators/tests/all/differences/layouts.rs", "shuffled_images_of_any_order"),
            when: |seen| seen.torch_refuses("Unsupported memory format"),
            directed: None,
        };
        samples.differs(PixelShuffle, orders);
        samples.differs(PixelUnshuffle, orders);
        samples.differs(ChannelShuffle, READ_AFTER_WRITTEN);
        samples.differs(
            ChannelShuffle,
            Difference {
                id: "shuffled-channels-are-new",
                what: "torch returns a view if shuffling channels moves none; here always a new tensor",
                why: "whether a result is a view must not depend on sizes",
                test: ("opgrid-operators/tests/all/differences/computed.rs", "images_of_nothing"),
                when: |seen| matches!(seen.part, Part::Identity | Part::Strides) || seen.begins_memory_here(),
                directed: None,
            },
        );
        let x = generate::numbers(DType::F32, &[3, 3, 3], 0);
        samples
            .operator(PixelShuffle, ANY, shuffle_inputs, |it| {
                let (x, r): (_, i64) = (it.tensor("self")?, it.value("upscale_factor")?);
                let first = x.sizes().len() - 3;
                let sizes = [x.sizes()[first] / (r * r), x.sizes()[first + 1] * r, x.sizes()[first + 2] * r];
                Ok(Plain::from_fn(x.dtype(), &[&x.sizes()[..first], &sizes].concat(), |at| {
                    let (outer, own) = at.split_at(first);
                    let channel = own[0] * r * r + own[1] % r * r + own[2] % r;
                    x.at(&[outer, &[channel, own[1] / r, own[2] / r]].concat())
                })
                .into())
            })
            .refuses("multiple of the square", given(x.clone()).and(2))
            .refuses("`upscale_factor` is 0", given(x.clone()).and(0))
            .refuses("multiple of the square", given(x.clone()).and(i64::MAX))
            .refuses("expected channels", given(x.with_sizes(&[9, 3])).and(1));
        samples
            .operator(PixelUnshuffle, ANY, unshuffle_inputs, |it| {
                let (x, r): (_, i64) = (it.tensor("self")?, it.value("downscale_factor")?);
                let first = x.sizes().len() - 3;
                let sizes = [x.sizes()[first] * r * r, x.sizes()[first + 1] / r, x.sizes()[first + 2] / r];
                Ok(Plain::from_fn(x.dtype(), &[&x.sizes()[..first], &sizes].concat(), |at| {
                    let (outer, own) = at.split_at(first);
                    let (down, right) = (own[0] / r % r, own[0] % r);
                    x.at(&[outer, &[own[0] / (r * r), own[1] * r + down, own[2] * r + right]].concat())
                })
                .into())
            })
            .refuses("multiples of 2", given(x.clone()).and(2))
            .refuses("`downscale_factor` is -1", given(x.clone()).and(-1));
        samples
            .operator(ChannelShuffle, ANY, channel_inputs, shuffled_channels)
            .refuses("expected a divisor", given(x.clone()).and(2))
            .refuses("expected a batch", given(x.with_sizes(&[9, 3])).and(3));
        samples
            .operator(NativeChannelShuffle, ANY, channel_inputs, shuffled_channels)
            .refuses("expected a divisor", given(x).and(0));
    }

    fn shuffled_channels(it: &Inputs) -> Result<Expected> {
        let (x, groups): (_, i64) = (it.tensor("self")?, it.value("groups")?);
        Ok(Plain::from_fn(x.dtype(), x.sizes(), |at| {
            let channel = at[1] % groups * (x.sizes()[1] / groups) + at[1] / groups;
            x.at(&[&[at[0], channel], &at[2..]].concat())
        })
        .into())
    }

    fn samples_for(dtype: DType, cases: &[(&[i64], i64)]) -> Vec<Sample> {
        cases.iter().map(|(sizes, factor)| given(generate::numbers(dtype, sizes, 1)).and(*factor)).collect()
    }

    fn shuffle_inputs(dtype: DType) -> Vec<Sample> {
        samples_for(
            dtype,
            &[
                (&[8, 2, 3], 2),
                (&[2, 9, 2, 1], 3),
                (&[1, 2, 4, 3, 2], 2),
                (&[0, 4, 2, 2], 2),
                (&[2, 2, 3], 1),
            ],
        )
    }

    fn unshuffle_inputs(dtype: DType) -> Vec<Sample> {
        samples_for(
            dtype,
            &[
                (&[2, 4, 6], 2),
                (&[2, 1, 6, 3], 3),
                (&[1, 2, 1, 2, 4], 2),
                (&[0, 1, 4, 4], 2),
                (&[2, 2, 3], 1),
            ],
        )
    }

    fn channel_inputs(dtype: DType) -> Vec<Sample> {
        samples_for(
            dtype,
            &[
                (&[2, 6, 2, 2], 3),
                (&[1, 4, 3], 2),
                (&[2, 4, 1, 2, 3], 4),
                (&[0, 4, 2], 2),
                (&[2, 0, 2], 2),
                (&[1, 3, 2], 1),
            ],
        )
    }
}
