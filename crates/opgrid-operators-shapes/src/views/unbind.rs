//! `aten::unbind`: the slices of a dimension, which disappears.
//!
//! - Results: as many as the dimension's size.
//! - Aliasing: views of `self`; `unbind_copy` copies them.
//! - Errors: a dimension out of range, a tensor without dimensions.
//! - Source: torch.unbind, PyTorch 2.15.

use crate::kinds::views::{joined, list_for};
use crate::prelude::*;
use opgrid_tensor::tensor::views::normalise_dim;

pub use opgrid_tensor::ops::views::unbind::*;

/// The view family of `aten::unbind.int`: the places of its parts in the base.
pub const UNBIND: ViewFamily<UnbindInt> = ViewFamily::new(UnbindInt, |input, dim| {
    let geometry = input.spec()?.geometry();
    if geometry.dims() == 0 {
        return Err(opgrid_array::error::out_of_range(
            "argument `self` has no dimensions, expected one to unbind",
        ));
    }
    let size = geometry.sizes()[normalise_dim(dim, geometry.dims())?];
    let mut slices = list_for(size)?;
    for index in 0..size {
        slices.push(geometry.select(dim, index)?);
    }
    Ok(slices)
});

pub(super) fn register(library: &mut Library) {
    library.view(UnbindInt, &UNBIND).derivative(|d, (input, dim)| joined(d, input, dim, true));
    library.copy_of_view(UnbindCopyInt, UnbindInt);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let cases: [(&[i64], i64); 5] =
                [(&[2, 3], 0), (&[2, 3], -1), (&[3], 0), (&[0, 2], 0), (&[2, 0], 0)];
            cases.map(|(sizes, dim)| given(generate::numbers(dtype, sizes, 0)).and(dim)).to_vec()
        };
        samples
            .operator(UnbindInt, STORED, inputs, |it| {
                let x = it.tensor("self")?;
                let dim = naive::dimension(it.value("dim")?, x.sizes().len());
                let mut sizes = x.sizes().to_vec();
                let count = sizes.remove(dim);
                let slice = |index: i64| {
                    Plain::from_fn(x.dtype(), &sizes, |at| x.at(&[&at[..dim], &[index], &at[dim..]].concat()))
                        .into()
                };
                Ok(Expected::Several((0..count).map(slice).collect()))
            })
            .view()
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(1))
            .refuses("no dimensions", given(Plain::number(DType::F32, 1)));
        samples.copy_of_view(UnbindCopyInt, UnbindInt);
    }
}
