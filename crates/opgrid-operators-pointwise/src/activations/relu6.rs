//! `aten::relu6`: elements limited to what lies from 0 to 6.
//!
//! `out[i] = min(max(self[i], 0), 6)`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`, integers or floats.
//! - Aliasing: `relu6_` writes `self`.
//! - Dispatch: a composite of `hardtanh` with 0 and 6.
//! - Errors: bools and complex numbers.
//! - Source: torch.nn.functional.relu6, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::{Hardtanh, HardtanhInplace};

pub use opgrid_tensor::ops::activations::relu6::*;

const LOW: Scalar = Scalar::Int(0);
const HIGH: Scalar = Scalar::Int(6);

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(Relu6, &kind::POINTWISE_UNARY)
        .implicit(|input| Hardtanh.call(input, LOW, HIGH));
    library.implement(Relu6Inplace).implicit(|input| HardtanhInplace.call(input, LOW, HIGH));
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.operator(Relu6, REAL, generate::unary, |it| activation::samples::limited(it, 0.0, 6.0));
        samples.differs(Relu6, departures::arithmetic::SIGN_OF_ZERO);
    }
}
