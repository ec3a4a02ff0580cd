//! `aten::pad_sequence`: sequences of different lengths as one tensor, with a number where a sequence has no elements.
//!
//! - Shapes: `[longest, N, …]` of `N` sequences of `[length, …]`, or `[N, longest, …]` with `batch_first`. What is behind the length is that of
//!   the first sequence, to which the others are stretched.
//! - Dtypes: that of the first sequence, to which the others and `padding_value` are converted.
//! - Dispatch: a composite of `expand`, `constant_pad_nd` and `stack`.
//! - Errors: no sequences; those without dimensions, or that cannot be stretched; a `padding_side` but "left" and "right"; a number beyond
//!   the range of the dtype.
//! - Source: torch.nn.utils.rnn.pad_sequence, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{ConstantPadNd, Expand, Stack};
use opgrid_tensor::tensor::broadcast;

pub use opgrid_tensor::ops::joining::pad_sequence::*;

pub(super) fn register(library: &mut Library) {
    library.define(PadSequence).kind(&kind::JOINING).implicit(pad_sequence);
}

fn pad_sequence(
    sequences: &[Tensor],
    batch_first: bool,
    padding_value: f64,
    padding_side: &str,
) -> Result<Tensor> {
    let is_left = match padding_side {
        "left" => true,
        "right" => false,
        other => {
            return Err(argument(format!(
                "argument `padding_side` is \"{other}\", expected \"left\" or \"right\""
            )));
        }
    };
    let Some(first) = sequences.first() else {
        return Err(argument("argument `sequences` has no tensors, expected at least one"));
    };
    let mut longest = 0;
    for (at, sequence) in sequences.iter().enumerate() {
        match sequence.spec()?.sizes() {
            [] => {
                return Err(argument(format!(
                    "argument `sequences` has a tensor without dimensions at {at}, expected a length for each"
                )));
            }
            [length, ..] => longest = longest.max(*length),
        }
    }
    let (element, dtype) = (&first.sizes()[1..], first.dtype());
    let padded = |sequence: &Tensor| {
        let sizes = [&sequence.sizes()[..1], element].concat();
        if broadcast(&[sizes.as_slice(), sequence.sizes()]).is_ok_and(|all| all.as_slice() != sizes) {
            return Err(argument(format!(
                "argument `sequences` has shapes {:?} and {:?}, expected one shape behind the lengths",
                first.sizes(),
                sequence.sizes()
            )));
        }
        let sequence = Expand.call(sequence, &sizes, false)?.to_dtype(dtype)?;
        let lacking = longest - sizes[0];
        let frame = if is_left { [lacking, 0] } else { [0, lacking] };
        let pad = [vec![0; 2 * element.len()].as_slice(), &frame].concat();
        ConstantPadNd.call(&sequence, &pad, Scalar::Float(padding_value))
    };
    let all = sequences.iter().map(padded).collect::<Result<Vec<_>>>()?;
    Stack.call(&all, if batch_first { 0 } else { 1 })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| generate::numbers(DType::F32, sizes, 0);
        samples
            .operator(PadSequence, ANY, inputs, reference)
            .refuses("no tensors", given(Vec::<Plain>::new()))
            .refuses("without dimensions at 1", given(vec![x(&[2]), x(&[])]))
            .refuses("`padding_side` is \"up\"", given(vec![x(&[2])]).and(false).and(0.0).and("up"))
            .refuses("", given(vec![x(&[2, 3]), x(&[2, 4])]));
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let of = |shapes: &[&[i64]]| {
            given(
                shapes
                    .iter()
                    .zip(0..)
                    .map(|(sizes, seed)| generate::numbers(dtype, sizes, seed))
                    .collect::<Vec<_>>(),
            )
        };
        let several: &[&[i64]] = &[&[2, 3], &[4, 3], &[0, 3]];
        vec![
            of(several),
            of(several).and(true).and(2.0),
            of(several).and(true).and(1.0).and("left"),
            of(several).and(false).and(1.0).and("left"),
            of(&[&[3], &[1]]),
            of(&[&[2, 2, 3], &[1, 1, 3]]).and(true),
            of(&[&[2]]),
            of(&[&[0], &[0]]),
        ]
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let sequences = it.tensors("sequences")?;
        let (batch_first, value): (bool, f64) = (it.value("batch_first")?, it.value("padding_value")?);
        let is_left = it.value::<String>("padding_side")? == "left";
        let longest = sequences.iter().map(|it| it.sizes()[0]).max().unwrap_or(0);
        let count = sequences.len() as i64;
        let front = if batch_first { [count, longest] } else { [longest, count] };
        let sizes = [&front, &sequences[0].sizes()[1..]].concat();
        Ok(Plain::from_fn(sequences[0].dtype(), &sizes, |at| {
            let (n, step) = if batch_first { (at[0], at[1]) } else { (at[1], at[0]) };
            let sequence = &sequences[n as usize];
            let length = sequence.sizes()[0];
            let step = if is_left { step - (longest - length) } else { step };
            if (0..length).contains(&step) {
                sequence.at(&[&[step], &at[2..]].concat())
            } else {
                Scalar::Float(value)
            }
        })
        .into())
    }
}
