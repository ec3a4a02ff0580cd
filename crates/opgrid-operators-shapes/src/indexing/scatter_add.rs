//! `aten::scatter_add`: values added at the places of a dimension that indices name.
//!
//! `out[i, index[i, j, k], k] += src[i, j, k]` for dimension 1
//!
//! - Shapes, dtypes, errors: as [`ScatterSrc`](opgrid_tensor::ops::ScatterSrc).
//! - Aliasing: `scatter_add_` writes `self`, `scatter_add.out` writes `out`, of the dtype of `self`.
//! - Source: torch.scatter_add, PyTorch 2.15.

use crate::kinds::scatter::{self, Named, Reduction, Source};
use crate::prelude::*;
use opgrid_kernels::scatter::Combine;

pub use opgrid_tensor::ops::indexing::scatter_add::*;

/// The family of `aten::scatter_add`: its kind, shape rule and `out` rule.
pub const SCATTER_ADD: Family<ScatterAdd> =
    Family::new(ScatterAdd, &kind::INDEXING, |input, dim, index, src| {
        SUM.check_dtype(input.spec()?.dtype())?;
        scatter::shape(input, dim, index, Source::Tensor(src))
    })
    .same_dtype_out();

const SUM: Reduction = Reduction::new(Combine::Sum);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SCATTER_ADD)
        .cpu(|input, dim, index, src, out| {
            scatter::scatter((input, out), (dim, index), Source::Tensor(src), SUM)
        })
        .derivative(|d, (input, dim, index, src)| {
            scatter::reduction_derivative(d, Named::Elements, [input, src], (dim, index), "sum", true)
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        let index = Plain::from_elements(DType::I64, &[1, 3], &[-1]);
        samples
            .operator(ScatterAdd, ANY, scatter::samples::inputs_with_values, |it| {
                let combine = scatter::samples::reduced("sum", true, it.tensor("self")?.dtype());
                scatter::samples::reference_of_each(it, it.tensor("src")?, &combine)
            })
            .tolerance(4.0)
            .refuses_data("out of bounds", given(x.clone()).and(0).and(index.clone()).and(x.clone()))
            .refuses("expected int32 or int64", given(x.clone()).and(0).and(index.to(DType::I16)).and(x));
        samples.rounds(ScatterAdd, Roundings::all(Rounding::Sum(2)));
    }
}
