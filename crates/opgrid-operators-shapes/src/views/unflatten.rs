//! `aten::unflatten`: one dimension as several.
//!
//! - Shapes: `sizes`, of which one may be -1, instead of the size of `dim`.
//! - Aliasing: a view of `self`.
//! - Dispatch: a composite of `view`.
//! - Errors: no sizes, sizes of another product, a dimension out of range.
//! - Source: torch.unflatten, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::View;
use opgrid_tensor::tensor::views::{infer_sizes, normalise_dim};

pub use opgrid_tensor::ops::views::unflatten::*;

pub(super) fn register(library: &mut Library) {
    library.define(UnflattenInt).kind(&kind::VIEW).implicit(unflatten);
}

fn unflatten(input: &Tensor, dim: i64, sizes: &[i64]) -> Result<Tensor> {
    let own = input.spec()?.sizes();
    if own.is_empty() {
        return Err(argument("argument `self` has no dimensions, expected one to split"));
    }
    let dim = normalise_dim(dim, own.len())?;
    if sizes.is_empty() {
        return Err(argument("argument `sizes` is empty, expected one size at least"));
    }
    let cut = infer_sizes(sizes, own[dim])?;
    View.call(input, &[&own[..dim], &cut, &own[dim + 1..]].concat())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64, &[i64]); 5] = [
                (&[2, 6], 1, &[2, 3]),
                (&[2, 6], -1, &[-1, 2, 1]),
                (&[4], 0, &[4]),
                (&[0, 3], 0, &[0, 2]),
                (&[2, 3, 2], 0, &[1, 2]),
            ];
            let one = |(sizes, dim, cut): (&[i64], i64, &[i64])| {
                given(generate::numbers(dtype, sizes, 0)).and(dim).and(cut.to_vec())
            };
            cases.map(one).to_vec()
        };
        let x = generate::numbers(DType::F32, &[2, 6], 0);
        samples
            .operator(UnflattenInt, STORED, inputs, |it| {
                let (x, mut cut): (_, Vec<i64>) = (it.tensor("self")?, it.value("sizes")?);
                let dim = naive::dimension(it.value("dim")?, x.sizes().len());
                let known: i64 = cut.iter().filter(|size| **size >= 0).product();
                let rest = x.sizes()[dim] / known.max(1);
                cut.iter_mut().filter(|size| **size < 0).for_each(|size| *size = rest);
                Ok(x.with_sizes(&[&x.sizes()[..dim], &cut, &x.sizes()[dim + 1..]].concat()).into())
            })
            .view()
            .refuses("empty", given(x.clone()).and(1).and(Vec::<i64>::new()))
            .refuses("size 6", given(x.clone()).and(1).and([4, 2].to_vec()))
            .refuses("range", given(x).and(2).and([2].to_vec()));
    }
}
