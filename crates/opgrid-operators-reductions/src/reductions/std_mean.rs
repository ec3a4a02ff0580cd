//! `aten::std_mean`: the standard deviation and the average of all elements, or over dimensions.
//!
//! `(std(self), mean(self))`
//!
//! - Shapes, dtypes, values, errors: those of `std` and `mean`.
//! - Aliasing: `std_mean.correction_out` writes `out0` and `out1`.
//! - Derivative: zero where the deviation is.
//! - Dispatch: the overloads with `unbiased` are made of `std_mean.correction`, with a correction of one or zero.
//! - Source: torch.std_mean, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::mean;

pub use opgrid_tensor::ops::reductions::std_mean::*;

/// The family of `aten::std_mean.correction`: its kind, shape rule and `out` rule.
pub const STD_MEAN_CORRECTION: Family<StdMeanCorrection> =
    Family::new(StdMeanCorrection, &kind::REDUCTION, variance_rules::with_average).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&STD_MEAN_CORRECTION)
        .cpu(|input, dim, correction, _, spread, average| {
            opgrid_kernels::indexing::check_apart(average.array()?, input.array()?)?;
            variance_rules::fill(input, dim, correction, true, spread)?;
            mean::mean(average, input, dim.unwrap_or(&[]), input.dtype())
        })
        .derivative(|d, (input, dim, correction, keepdim)| {
            variance_rules::derivative(d, input, (dim, correction, keepdim), true)
        });
    library.define(StdMean).kind(&kind::REDUCTION).implicit(|input, unbiased| {
        StdMeanCorrection.call(input, None, variance_rules::correction(unbiased), false)
    });
    library.define(StdMeanDim).kind(&kind::REDUCTION).implicit(|input, dim, unbiased, keepdim| {
        StdMeanCorrection.call(input, dim, variance_rules::correction(unbiased), keepdim)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::reductions::std;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs_as(StdMean, &[std::samples::CORRECTIONS, std::samples::OF_LARGE_NUMBERS]);
        variance_rules::samples::with_average(samples, (StdMean, StdMeanDim, StdMeanCorrection), f64::sqrt);
    }
}
