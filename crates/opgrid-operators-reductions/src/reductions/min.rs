//! `aten::min`: the smallest of all elements, or over a dimension and where it is, or the smaller ones of two tensors.
//!
//! `out = min(self[0], self[1], …)`, and `out[i] = min(self[i], other[i])`
//!
//! - Shapes: none of all elements; without the dimension `dim`, or with size 1 for it with `keepdim`; two tensors broadcast.
//! - Dtypes: that of `self`, and int64 for indices; promoted for two. NaN wins over every number. Of several smallest elements
//!   the index is that of the first.
//! - Aliasing: `min.unary_out` and `min.out` write `out`, `min.dim_min` writes `min` and `min_indices`.
//! - Derivative: of all elements, equal ones share the gradient; along a dimension the one at the index has it.
//! - Dispatch: that of two tensors is made of `minimum`.
//! - Errors: complex numbers; nothing to choose from.
//! - Source: torch.min, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;
use opgrid_kinds::derivatives::ReducedDims;
use opgrid_tensor::ops::{Minimum, MinimumOut};

pub use opgrid_tensor::ops::reductions::min::*;

/// The family of `aten::min`: its kind, shape rule and `out` rule.
pub const MIN: Family<Min> = Family::new(Min, &kind::REDUCTION, extremum::of_all);

/// The family of `aten::min.dim`: its kind, shape rule and `out` rule.
pub const MIN_DIM: Family<MinDim> =
    Family::new(MinDim, &kind::REDUCTION, extremum::with_index).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&MIN_DIM)
        .cpu(|input, dim, _, values, indices| {
            opgrid_kernels::indexing::check_apart(values.array()?, input.array()?)?;
            choice::index_of_smallest(indices, input, &[dim])?;
            choice::select_along(values.array()?, input.array()?, dim, indices.array()?)
        })
        .derivative(|d, (input, dim, keepdim)| derivatives::selected_values(d, input, dim, keepdim));
    library.family(&MIN).cpu(|input, out| choice::smallest(out, input, &[])).derivative(|d, (input,)| {
        let kept = ReducedDims::new(input, None, false)?;
        d.by(input, [input, d.result(0)], move |grad, [x, out]| {
            extremum::distribute_gradient(grad, x, out, &kept)
        })
    });
    library
        .define_with_forms(MinOther, &kind::POINTWISE_BINARY)
        .implicit(|input, other| Minimum.call(input, other));
    library.implement(MinOut).implicit(|input, other, out| MinimumOut.call(input, other, out));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::reductions::amax;
    use crate::reductions::max;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs_as(Min, &[amax::samples::OF_NOTHING, max::samples::BEYOND_OUTPUTS]);
        extremum::samples::of_all(samples, Min, |order| order.is_gt());
        extremum::samples::with_index(samples, MinDim, |order| order.is_gt());
        extremum::samples::of_two(samples, MinOther, |order| order.is_gt());
    }
}
