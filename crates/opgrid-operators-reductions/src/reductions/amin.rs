//! `aten::amin`: the smallest element over dimensions.
//!
//! `out[j] = min(self[0, j], self[1, j], …)`
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: that of `self`. NaN wins over every number.
//! - Aliasing: `amin.out` writes `out`.
//! - Derivative: equal elements share the gradient.
//! - Errors: complex numbers; nothing to choose from; a dimension out of range or named twice; an `out` of another
//!   dtype than `self`.
//! - Source: torch.amin, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;
use opgrid_kinds::derivatives::ReducedDims;

pub use opgrid_tensor::ops::reductions::amin::*;

/// The family of `aten::amin`: its kind, shape rule and `out` rule.
pub const AMIN: Family<Amin> = Family::new(Amin, &kind::REDUCTION, extremum::over_dims).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&AMIN).cpu(cpu).derivative(|d, (input, dim, keepdim)| {
        let kept = ReducedDims::new(input, Some(dim), keepdim)?;
        d.by(input, [input, d.result(0)], move |grad, [x, out]| {
            extremum::distribute_gradient(grad, x, out, &kept)
        })
    });
}

fn cpu(input: &Tensor, dim: &[i64], _keepdim: bool, out: &Tensor) -> Result<()> {
    choice::smallest(out, input, dim)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        extremum::samples::over_dims(samples, Amin, |order| order.is_gt());
    }
}
