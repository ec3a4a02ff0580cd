//! `aten::amax`: the largest element over dimensions.
//!
//! `out[j] = max(self[0, j], self[1, j], …)`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: that of `self`. NaN wins over every number.
//! - Aliasing: `amax.out` writes `out`.
//! - Derivative: equal elements share the gradient.
//! - Errors: complex numbers; nothing to choose from; a dimension out of range or named twice; an `out` of another
//!   dtype than `self`.
//! - Source: torch.amax, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;
use opgrid_kinds::derivatives::ReducedDims;

pub use opgrid_tensor::ops::reductions::amax::*;

/// The family of `aten::amax`: its kind, shape rule and `out` rule.
pub const AMAX: Family<Amax> = Family::new(Amax, &kind::REDUCTION, extremum::over_dims).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&AMAX).cpu(cpu).derivative(|d, (input, dim, keepdim)| {
        let kept = ReducedDims::new(input, Some(dim), keepdim)?;
        d.by(input, [input, d.result(0)], move |grad, [x, out]| {
            extremum::distribute_gradient(grad, x, out, &kept)
        })
    });
}

fn cpu(input: &Tensor, dim: &[i64], _keepdim: bool, out: &Tensor) -> Result<()> {
    choice::largest(out, input, dim)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    /// Differences for the maximum and minimum of empty inputs.
    pub(crate) const OF_NOTHING: Difference = Difference {
        id: "extremes-of-nothing",
        what: "torch returns the limit of the dtype as the maximum or minimum of an empty tensor if an \
             output is given; here that is rejected as without an output",
        why: "all overloads behave alike",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| seen.we_refuse("has no elements to reduce"),
        directed: None,
    };

    pub(crate) fn collect(samples: &mut Samples) {
        extremum::samples::over_dims(samples, Amax, |order| order.is_lt());
    }
}
