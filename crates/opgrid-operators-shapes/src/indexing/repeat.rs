//! `aten::repeat`, `aten::tile`: a tensor several times along each dimension.
//!
//! `out[…, i, …] = self[…, i mod size, …]`
//!
//! - Shapes: each size times its number of repeats, row-major; more repeats than dimensions add dimensions in front.
//!   `tile` takes fewer, too: then the first dimensions are not repeated.
//! - Aliasing: `repeat.out` writes `out`, of the dtype of `self`, and gives it its shape if it has no elements.
//! - Dispatch: `tile` is `repeat`.
//! - Errors: fewer repeats than dimensions, negative ones.
//! - Source: torch.Tensor.repeat, torch.tile, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::runs::{self, Run, Runs};

pub use opgrid_tensor::ops::indexing::repeat::*;

/// The family of `aten::repeat`: its kind, shape rule and `out` rule.
pub const REPEAT: Family<Repeat> = Family::new(Repeat, &kind::INDEXING, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&REPEAT).cpu(cpu).derivative(|d, (input, repeats)| {
        let missing = repeats.len() - input.dim();
        let sizes = std::iter::repeat_n(1, missing).chain(input.sizes().iter().copied());
        let split: Vec<i64> = repeats.iter().zip(sizes).flat_map(|(count, size)| [*count, size]).collect();
        let copies: Vec<i64> = (0..repeats.len() as i64).map(|dim| 2 * dim).collect();
        d.by(input, [], move |grad, []| {
            if copies.is_empty() { Ok(grad.clone()) } else { grad.reshape(&split)?.sum_dim(&copies, false) }
        })
    });
    library.define(Tile).kind(&kind::INDEXING).implicit(|input, dims| {
        let missing = input.spec()?.sizes().len().saturating_sub(dims.len());
        Repeat.call(input, &[vec![1; missing].as_slice(), dims].concat())
    });
}

fn shape(input: &Tensor, repeats: &[i64]) -> Result<TensorSpec> {
    let spec = input.spec()?;
    if repeats.len() < spec.sizes().len() {
        let message = format!(
            "argument `repeats` is {repeats:?}, expected at least as many numbers as {:?} has dimensions",
            spec.sizes()
        );
        return Err(argument(message));
    }
    if repeats.iter().any(|count| *count < 0) {
        return Err(argument(format!("argument `repeats` is {repeats:?}, expected no negative number")));
    }
    let own = spec.geometry().padded(repeats.len())?;
    let overflow =
        || argument(format!("the sizes {:?}, repeated {repeats:?} times, overflow 64 bits", spec.sizes()));
    let sizes = own.sizes().iter().zip(repeats).map(|(size, count)| size.checked_mul(*count));
    let sizes = sizes.collect::<Option<Vec<i64>>>().ok_or_else(overflow)?;
    TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())
}

fn cpu(input: &Tensor, repeats: &[i64], out: &Tensor) -> Result<()> {
    if out.numel() == 0 {
        return Ok(());
    }
    let from = input.array()?.view(input.geometry().padded(repeats.len())?)?;
    let again = |(&size, &count): (&i64, &i64)| match size {
        1 => Runs::from_iter([Run::again(0, count)]),
        _ => Runs::from_elem(Run::forwards(0, size), count as usize),
    };
    let along: Vec<Runs> = from.sizes().iter().zip(repeats).map(again).collect();
    runs::read(out.array()?, &from, &along)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(Repeat, STORED, |dtype| inputs(dtype, false), |it| reference(it, it.value("repeats")?))
            .refuses("as many", given(x.clone()).and([2].to_vec()))
            .refuses("negative", given(x.clone()).and([2, -1].to_vec()))
            .refuses("", given(x).and([i64::MAX, i64::MAX].to_vec()));
        samples.operator(Tile, STORED, |dtype| inputs(dtype, true), |it| reference(it, it.value("dims")?));
    }

    fn inputs(dtype: DType, with_fewer: bool) -> Vec<Sample> {
        let cases: [(&[i64], &[i64]); 7] = [
            (&[2, 3], &[2, 1]),
            (&[2, 3], &[1, 3]),
            (&[3], &[2, 2]),
            (&[], &[3]),
            (&[], &[]),
            (&[2, 0], &[2, 2]),
            (&[1, 2], &[37, 0]),
        ];
        let fewer: [(&[i64], &[i64]); 2] = [(&[2, 3], &[2]), (&[2, 3], &[])];
        let all = cases.into_iter().chain(fewer.into_iter().filter(|_| with_fewer));
        all.map(|(sizes, repeats)| given(generate::numbers(dtype, sizes, 0)).and(repeats.to_vec())).collect()
    }

    fn reference(it: &Inputs, mut repeats: Vec<i64>) -> Result<Expected> {
        let x = it.tensor("self")?;
        while repeats.len() < x.sizes().len() {
            repeats.insert(0, 1);
        }
        let added = repeats.len() - x.sizes().len();
        let own: Vec<i64> = std::iter::repeat_n(1, added).chain(x.sizes().iter().copied()).collect();
        let sizes: Vec<i64> = own.iter().zip(&repeats).map(|(size, count)| size * count).collect();
        Ok(Plain::from_fn(x.dtype(), &sizes, |position| {
            let source: Vec<i64> = position.iter().zip(&own).map(|(at, size)| at % size).collect();
            x.at(&source)
        })
        .into())
    }
}
