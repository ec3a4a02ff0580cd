//! `aten::isfinite`: whether elements are neither infinite nor NaN.
//!
//! `out[i] = |self[i]| < infinity`, of complex numbers both parts
//!
//! - Shapes: that of `self`.
//! - Dtypes: any; the result is bool, and true for all integers and bools.
//! - Dispatch: a composite of `abs` and `lt`, of complex numbers of `sub` and `eq`.
//! - Source: torch.isfinite, PyTorch 2.15; there it is made of other operators.

use crate::prelude::*;
use opgrid_tensor::ops::{Abs, EmptyLike, EqScalar, FillInplaceScalar, LtScalar, SubTensor};

pub use opgrid_tensor::ops::pointwise::isfinite::*;

pub(super) fn register(library: &mut Library) {
    library
        .define(Isfinite)
        .kind(&kind::POINTWISE_UNARY)
        .kernel(DispatchKey::CompositeImplicitAutograd, isfinite);
}

fn isfinite(input: &Tensor) -> Result<Tensor> {
    let dtype = input.dtype();
    if dtype.is_complex() {
        // The distance from zero may be infinite though both parts are finite; their difference from themselves is 0.
        return EqScalar.call(&SubTensor.call(input, input, Scalar::Int(1))?, Scalar::Int(0));
    }
    if dtype.is_floating_point() {
        return LtScalar.call(&Abs.call(input)?, Scalar::Float(f64::INFINITY));
    }
    let ones = EmptyLike.call(input, Some(DType::Bool), None, None, None, None)?;
    FillInplaceScalar.call(&ones, Scalar::Bool(true))?;
    Ok(ones)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Isfinite, ANY, DTypeRule::Bool, |x| Scalar::Bool(x.to_complex().is_finite()));
    }
}
