//! `aten::narrow`: a part of a dimension.
//!
//! `out[…, i, …] = self[…, start + i, …]` for `i` below `length`
//!
//! - Shapes: `length` instead of the size of `dim`; a `start` below zero counts from the end.
//! - Aliasing: a view of `self`; `narrow_copy` copies.
//! - Dispatch: a composite of `slice`; a `start` in a tensor is read.
//! - Errors: a part that does not lie in the dimension, a tensor without dimensions, a `start` that is no integer.
//! - Source: torch.narrow, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Item, SliceTensor};
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::narrow::*;

pub(super) fn register(library: &mut Library) {
    library.define(Narrow).kind(&kind::VIEW).implicit(narrow);
    library.define(NarrowTensor).kind(&kind::VIEW).implicit(|input, dim, start, length| {
        let spec = start.spec()?;
        if !spec.sizes().is_empty() || !spec.dtype().is_integral() || spec.dtype() == DType::Bool {
            let message = format!(
                "argument `start` is {} of shape {:?}, expected an integer tensor without dimensions",
                spec.dtype(),
                spec.sizes()
            );
            return Err(argument(message));
        }
        narrow(input, dim, arithmetic::element(Item.call(start)?)?, length)
    });
    library.copy_of_view(NarrowCopy, Narrow);
}

fn narrow(input: &Tensor, dim: i64, start: i64, length: i64) -> Result<Tensor> {
    let sizes = input.spec()?.sizes();
    if sizes.is_empty() {
        return Err(argument("narrow() cannot be applied to a 0-dim tensor"));
    }
    if length < 0 {
        return Err(argument(format!("argument `length` is {length}, expected 0 or more")));
    }
    let size = sizes[normalise_dim(dim, sizes.len())?];
    if !(-size..=size).contains(&start) {
        let message = format!(
            "argument `start` is {start}, out of range for dimension {dim} of size {size}; expected {} to {size}",
            -size
        );
        return Err(opgrid_array::error::out_of_range(message));
    }
    let start = if start < 0 { start + size } else { start };
    if length > size - start {
        let message =
            format!("start ({start}) + length ({length}) exceeds the size {size} of dimension {dim}");
        return Err(argument(message));
    }
    SliceTensor.call(input, dim, Some(start), Some(start + length), 1)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[4], 0);
        samples
            .operator(Narrow, STORED, inputs, reference)
            .view()
            .refuses("range", given(x.clone()).and(0).and(5).and(0))
            .refuses("exceeds", given(x.clone()).and(0).and(2).and(3))
            .refuses("0 or more", given(x.clone()).and(0).and(2).and(-1))
            .refuses("0-dim", given(Plain::number(DType::F32, 1)).and(0).and(0).and(0));
        let starts = |dtype| {
            let start = Plain::number(DType::I64, 1);
            vec![given(generate::numbers(dtype, &[3, 2], 0)).and(0).and(start).and(2)]
        };
        samples
            .operator(NarrowTensor, STORED, starts, |it| {
                let start = it.tensor("start")?.elements()[0];
                part(it, number::whole(start))
            })
            .view()
            .not_on_meta()
            .refuses("without dimensions", given(x.clone()).and(0).and(x).and(1));
        samples.copy_of_view(NarrowCopy, Narrow);
    }

    fn inputs(dtype: DType) -> Vec<Sample> {
        let cases: [(&[i64], [i64; 3]); 5] = [
            (&[4, 3], [0, 1, 2]),
            (&[2, 5], [-1, -3, 2]),
            (&[4], [0, 4, 0]),
            (&[0, 2], [0, 0, 0]),
            (&[3, 1, 2], [2, 0, 2]),
        ];
        let one = |(sizes, [dim, start, length]): (&[i64], [i64; 3])| {
            given(generate::numbers(dtype, sizes, 0)).and(dim).and(start).and(length)
        };
        cases.map(one).to_vec()
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        part(it, it.value("start")?)
    }

    fn part(it: &Inputs, start: i64) -> Result<Expected> {
        let x = it.tensor("self")?;
        let dim = naive::dimension(it.value("dim")?, x.sizes().len());
        let start = if start < 0 { start + x.sizes()[dim] } else { start };
        let mut sizes = x.sizes().to_vec();
        sizes[dim] = it.value("length")?;
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let mut position = position.to_vec();
            position[dim] += start;
            x.at(&position)
        })
        .into())
    }
}
