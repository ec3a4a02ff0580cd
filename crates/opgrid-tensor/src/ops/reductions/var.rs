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

use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    pub Var = "aten::var(Tensor self, bool unbiased=True) -> Tensor";
    pub VarDim = "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", out("out");
    pub VarCorrection = "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", out;
}

/// Kind, shape rule and `out` rule, for everybody.
pub const VAR_CORRECTION: Family<VarCorrection> =
    Family::new(VarCorrection, &kind::REDUCTION, spread::over_dims);

pub(super) fn register(library: &mut Library) {
    library
        .family(&VAR_CORRECTION)
        .cpu(|input, dim, correction, _, out| spread::fill(input, dim, correction, false, out))
        .derivative(|d, (input, dim, correction, keepdim)| {
            spread::derivative(d, input, (dim, correction, keepdim), false)
        });
    library
        .define(Var)
        .kind(&kind::REDUCTION)
        .implicit(|input, unbiased| VarCorrection.call(input, None, spread::correction(unbiased), false));
    library.define_with_forms(VarDim, &kind::REDUCTION).implicit(|input, dim, unbiased, keepdim| {
        VarCorrection.call(input, dim, spread::correction(unbiased), keepdim)
    });
    library.implement(VarOut).implicit(|input, dim, unbiased, keepdim, out| {
        VarCorrectionOut.call(input, dim, spread::correction(unbiased), keepdim, out)
    });
}

impl Tensor {
    /// The variance over dimensions, all if none is named: the sum of squares is divided by the number of elements less
    /// `correction`.
    ///
    /// # Errors
    ///
    /// Those of [`VarCorrection`].
    pub fn var(&self, dim: &[i64], correction: impl Into<Scalar>, keepdim: bool) -> Result<Self> {
        VarCorrection.call(self, Some(dim), Some(correction.into()), keepdim)
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::ops::reductions::std;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.differs(Var, std::samples::CORRECTIONS);
        spread::samples::collect(samples, (Var, VarDim, VarCorrection), |variance| variance);
    }
}
