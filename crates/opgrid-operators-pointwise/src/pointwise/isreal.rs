//! `aten::isreal`: whether elements have no imaginary part.
//!
//! `out[i] = imag(self[i]) == 0`
//!
//! - Shapes: that of `self`.
//! - Dtypes: any; the result is bool, and true for all that are not complex.
//! - Dispatch: a composite of `imag` and `eq`.
//! - Source: torch.isreal, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{EqScalar, Imag, OnesLike};

pub use opgrid_tensor::ops::pointwise::isreal::*;

pub(super) fn register(library: &mut Library) {
    library.define(Isreal).kind(&kind::POINTWISE_UNARY).implicit(|input| {
        if input.spec()?.dtype().is_complex() {
            return EqScalar.call(&Imag.call(input)?, Scalar::Int(0));
        }
        OnesLike.call(input, Some(DType::Bool), None, None, None, Some(MemoryFormat::Preserve))
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Isreal, ANY, DTypeRule::Bool, |x| Scalar::Bool(x.to_complex().im == 0.0));
    }
}
