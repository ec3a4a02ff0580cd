//! `aten::var_mean`: the variance and the average of all elements, or over dimensions.
//!
//! `(var(self), mean(self))`
//!
//! - Shapes, dtypes, values, errors: those of `var` and `mean`.
//! - Aliasing: `var_mean.correction_out` writes `out0` and `out1`.
//! - Dispatch: the overloads with `unbiased` are made of `var_mean.correction`, with a correction of one or zero.
//! - Source: torch.var_mean, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::mean;

pub use opgrid_tensor::ops::reductions::var_mean::*;

/// The family of `aten::var_mean.correction`: its kind, shape rule and `out` rule.
pub const VAR_MEAN_CORRECTION: Family<VarMeanCorrection> =
    Family::new(VarMeanCorrection, &kind::REDUCTION, variance_rules::with_average).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&VAR_MEAN_CORRECTION)
        .cpu(|input, dim, correction, _, spread, average| {
            opgrid_kernels::indexing::check_apart(average.array()?, input.array()?)?;
            variance_rules::fill(input, dim, correction, false, spread)?;
            mean::mean(average, input, dim.unwrap_or(&[]), input.dtype())
        })
        .derivative(|d, (input, dim, correction, keepdim)| {
            variance_rules::derivative(d, input, (dim, correction, keepdim), false)
        });
    library.define(VarMean).kind(&kind::REDUCTION).implicit(|input, unbiased| {
        VarMeanCorrection.call(input, None, variance_rules::correction(unbiased), false)
    });
    library.define(VarMeanDim).kind(&kind::REDUCTION).implicit(|input, dim, unbiased, keepdim| {
        VarMeanCorrection.call(input, dim, variance_rules::correction(unbiased), keepdim)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::reductions::std;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(VarMean, std::samples::CORRECTIONS);
        variance_rules::samples::with_average(
            samples,
            (VarMean, VarMeanDim, VarMeanCorrection),
            |variance| variance,
        );
    }
}
