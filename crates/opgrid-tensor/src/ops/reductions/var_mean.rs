//! `aten::var_mean`: the variance and the average of all elements, or over dimensions.
//!
//! `(var(self), mean(self))`
//!
//! - Shapes, dtypes, values, errors: those of `var` and `mean`.
//! - Aliasing: `var_mean.correction_out` writes `out0` and `out1`.
//! - Dispatch: the overloads with `unbiased` are made of `var_mean.correction`, with a correction of one or zero.
//! - Source: torch.var_mean, PyTorch 2.15.

use crate::kernels::mean;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    pub VarMean = "aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)";
    pub VarMeanDim = "aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)";
    pub VarMeanCorrection = "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", out;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const VAR_MEAN_CORRECTION: Family<VarMeanCorrection> =
    Family::new(VarMeanCorrection, &kind::REDUCTION, spread::with_average).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&VAR_MEAN_CORRECTION)
        .cpu(|input, dim, correction, _, spread, average| {
            crate::kernels::choice::check_apart(average, input)?;
            spread::fill(input, dim, correction, false, spread)?;
            mean::mean(average, input, dim.unwrap_or(&[]), input.dtype())
        })
        .derivative(|d, (input, dim, correction, keepdim)| {
            spread::derivative(d, input, (dim, correction, keepdim), false)
        });
    library
        .define(VarMean)
        .kind(&kind::REDUCTION)
        .implicit(|input, unbiased| VarMeanCorrection.call(input, None, spread::correction(unbiased), false));
    library.define(VarMeanDim).kind(&kind::REDUCTION).implicit(|input, dim, unbiased, keepdim| {
        VarMeanCorrection.call(input, dim, spread::correction(unbiased), keepdim)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::ops::reductions::std;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(VarMean, std::samples::CORRECTIONS);
        spread::samples::with_average(samples, (VarMean, VarMeanDim, VarMeanCorrection), |variance| variance);
    }
}
