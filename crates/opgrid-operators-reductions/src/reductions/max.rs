//! `aten::max`: the largest of all elements, or over a dimension and where it is, or the larger ones of two tensors.
//!
//! `out = max(self[0], self[1], …)`, and `out[i] = max(self[i], other[i])`
//!
//! - Shapes: none of all elements; without the dimension `dim`, or with size 1 for it with `keepdim`; two tensors broadcast.
//! - Dtypes: that of `self`, and int64 for indices; promoted for two. NaN wins over every number. Of several largest elements
//!   the index is that of the first.
//! - Aliasing: `max.unary_out` and `max.out` write `out`, `max.dim_max` writes `max` and `max_values`.
//! - Derivative: of all elements, equal ones share the gradient; along a dimension the one at the index has it.
//! - Dispatch: that of two tensors is made of `maximum`.
//! - Errors: complex numbers; nothing to choose from.
//! - Source: torch.max, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;
use opgrid_kinds::derivatives::ReducedDims;
use opgrid_tensor::ops::{Maximum, MaximumOut};

pub use opgrid_tensor::ops::reductions::max::*;

/// The family of `aten::max`: its kind, shape rule and `out` rule.
pub const MAX: Family<Max> = Family::new(Max, &kind::REDUCTION, extremum::of_all);

/// The family of `aten::max.dim`: its kind, shape rule and `out` rule.
pub const MAX_DIM: Family<MaxDim> =
    Family::new(MaxDim, &kind::REDUCTION, extremum::with_index).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&MAX_DIM)
        .cpu(|input, dim, _, values, indices| {
            opgrid_kernels::indexing::check_apart(values.array()?, input.array()?)?;
            choice::index_of_largest(indices, input, &[dim])?;
            choice::select_along(values.array()?, input.array()?, dim, indices.array()?)
        })
        .derivative(|d, (input, dim, keepdim)| derivatives::selected_values(d, input, dim, keepdim));
    library.family(&MAX).cpu(|input, out| choice::largest(out, input, &[])).derivative(|d, (input,)| {
        let kept = ReducedDims::new(input, None, false)?;
        d.by(input, [input, d.result(0)], move |grad, [x, out]| {
            extremum::distribute_gradient(grad, x, out, &kept)
        })
    });
    library
        .define_with_forms(MaxOther, &kind::POINTWISE_BINARY)
        .implicit(|input, other| Maximum.call(input, other));
    library.implement(MaxOut).implicit(|input, other, out| MaximumOut.call(input, other, out));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::reductions::amax;
    use opgrid_samples::prelude::*;

    /// Differences for the maximum and minimum of all elements.
    pub(crate) const BEYOND_OUTPUTS: Difference = Difference {
        id: "extrema-beyond-the-range-of-an-output",
        what: "torch rejects the maximum or minimum of all elements if it overflows an integer output, \
             although it converts other results; here it is converted, too",
        why: "whether a call is valid must not depend on sizes or elements",
        test: (
            "opgrid-operators/tests/all/differences/computed.rs",
            "what_torch_refuses_by_accident_is_computed",
        ),
        when: |seen| seen.out().is_some() && seen.torch_refuses("cannot be converted to type"),
        directed: Some(Directed {
            operator: "aten::max.unary_out",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::U8, &[2], &[1.0, 253.0]).into()),
                    ("out", Operand::rows(1, DType::I8, &[], &[0.0]).into()),
                ]
            },
            needs: None,
        }),
    };

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs_as(Max, &[amax::samples::OF_NOTHING, BEYOND_OUTPUTS]);
        extremum::samples::of_all(samples, Max, |order| order.is_lt());
        extremum::samples::with_index(samples, MaxDim, |order| order.is_lt());
        extremum::samples::of_two(samples, MaxOther, |order| order.is_lt());
    }
}
