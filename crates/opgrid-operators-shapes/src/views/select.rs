//! `aten::select`: one index of a dimension, which disappears.
//!
//! - Aliasing: a view of `self`.
//! - Errors: a dimension or an index out of range (negative ones count from the end), no dimensions.
//! - Source: torch.select, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::views::select::*;

/// The view family of `aten::select.int`: its place in the base.
pub const SELECT: ViewFamily<SelectInt> =
    ViewFamily::new(SelectInt, |input, dim, index| input.spec()?.geometry().select(dim, index));

pub(super) fn register(library: &mut Library) {
    library.view(SelectInt, &SELECT);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64, i64); 4] =
                [(&[2, 3], 0, 1), (&[2, 3], -1, -3), (&[4], 0, 2), (&[2, 0], 0, 1)];
            cases
                .map(|(sizes, dim, index)| given(generate::numbers(dtype, sizes, 0)).and(dim).and(index))
                .to_vec()
        };
        samples
            .operator(SelectInt, STORED, inputs, |it| {
                let (x, dim, index): (_, i64, i64) =
                    (it.tensor("self")?, it.value("dim")?, it.value("index")?);
                let dim = naive::dimension(dim, x.sizes().len());
                let index = if index < 0 { index + x.sizes()[dim] } else { index };
                let mut sizes = x.sizes().to_vec();
                sizes.remove(dim);
                let inserted = |position: &[i64]| [&position[..dim], &[index], &position[dim..]].concat();
                Ok(Plain::from_fn(x.dtype(), &sizes, |position| x.at(&inserted(position))).into())
            })
            .view()
            .refuses("", given(generate::numbers(DType::F32, &[2, 3], 0)).and(0).and(2))
            .refuses("", given(Plain::number(DType::F32, 1)).and(0).and(0));
    }
}
