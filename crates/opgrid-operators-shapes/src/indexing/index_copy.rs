//! `aten::index_copy`: slices written at the indices of a dimension.
//!
//! `out[…, index[k], …] = source[…, k, …]`
//!
//! - Shapes: that of `self`, row-major; `source` has as many slices as there are indices.
//! - Dtypes: `source` has that of `self`; `index` is int64.
//! - Values: of several for one index the last one stays.
//! - Aliasing: `index_copy_` writes `self`, `index_copy.out` writes `out`, of the dtype of `self`.
//! - Derivative: values that others overwrite have gradients, too, as in torch.
//! - Errors: an index out of range (negative ones are), before anything is written; other shapes; overlap of what is
//!   written with `index` or `source`.
//! - Source: torch.index_copy, PyTorch 2.15.

use crate::kinds::scatter::{self, Named};
use crate::prelude::*;
use opgrid_kernels::scatter::{self as kernel, Combine};

pub use opgrid_tensor::ops::indexing::index_copy::*;

/// The family of `aten::index_copy`: its kind, shape rule and `out` rule.
pub const INDEX_COPY: Family<IndexCopy> =
    Family::new(IndexCopy, &kind::INDEXING, |input, dim, index, source| {
        scatter::check_long(index)?;
        scatter::shape_of_slices(input, dim, index, source)
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&INDEX_COPY)
        .cpu(|input, dim, index, source, out| {
            let places = scatter::places_of_slices((input, out), (dim, index), &[source], false)?;
            kernel::scatter(out.array()?, &places, source.array()?, Combine::Replace)
        })
        .derivative(|d, (input, dim, index, source)| {
            let sizes = source.sizes().to_vec();
            d.by(input, [index], move |grad, [index]| Named::Slices.cleared(grad, dim, index))?;
            d.by(source, [index], move |grad, [index]| Named::Slices.read(grad, dim, index, &sizes))
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let index = Plain::from_elements(DType::I64, &[2], &[-1, 0]);
        samples
            .operator(IndexCopy, STORED, scatter::samples::inputs_with_slices, |it| {
                scatter::samples::reference_of_slices(it, it.tensor("source")?, &|_, coming| {
                    coming[coming.len() - 1]
                })
            })
            // Values that others overwrite get gradients, too, as in torch.
            .constant(&["source"])
            .refuses_data("out of bounds", given(x.clone()).and(0).and(index.clone()).and(x.clone()))
            .refuses("expected int64", given(x.clone()).and(0).and(index.to(DType::I32)).and(x.clone()))
            .refuses("slices", given(x.clone()).and(1).and(index).and(x));
    }
}
