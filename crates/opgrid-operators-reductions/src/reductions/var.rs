//! `aten::var`: the variance of all elements, or over dimensions.
//!
//! `out[j] = (|self[0, j] - m[j]|² + |self[1, j] - m[j]|² + …) / (n - correction)`, where `m[j]` is the average
//!
//! - Shapes: without the dimensions of `dim`, or with size 1 for them with `keepdim`; no `dim` means all.
//! - Dtypes: that of `self`; that of the parts for complex numbers, which are points in the plane.
//! - Values: NaN for no elements; infinite, or NaN, where there are no more elements than `correction`.
//! - Aliasing: `var.correction_out` and `var.out` write `out`.
//! - Dispatch: the overloads with `unbiased` are made of `var.correction`, with a correction of one or zero.
//! - Errors: integers and bools; a dimension out of range or named twice; a complex `correction`.
//! - Source: torch.var, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::reductions::var::*;

/// The family of `aten::var.correction`: its kind, shape rule and `out` rule.
pub const VAR_CORRECTION: Family<VarCorrection> =
    Family::new(VarCorrection, &kind::REDUCTION, variance_rules::over_dims);

pub(super) fn register(library: &mut Library) {
    library
        .family(&VAR_CORRECTION)
        .cpu(|input, dim, correction, _, out| variance_rules::fill(input, dim, correction, false, out))
        .derivative(|d, (input, dim, correction, keepdim)| {
            variance_rules::derivative(d, input, (dim, correction, keepdim), false)
        });
    library.define(Var).kind(&kind::REDUCTION).implicit(|input, unbiased| {
        VarCorrection.call(input, None, variance_rules::correction(unbiased), false)
    });
    library.define_with_forms(VarDim, &kind::REDUCTION).implicit(|input, dim, unbiased, keepdim| {
        VarCorrection.call(input, dim, variance_rules::correction(unbiased), keepdim)
    });
    library.implement(VarOut).implicit(|input, dim, unbiased, keepdim, out| {
        VarCorrectionOut.call(input, dim, variance_rules::correction(unbiased), keepdim, out)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::reductions::std;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(Var, std::samples::CORRECTIONS);
        variance_rules::samples::collect(samples, (Var, VarDim, VarCorrection), |variance| variance);
    }
}
