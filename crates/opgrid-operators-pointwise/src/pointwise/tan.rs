//! `aten::tan`: the tangent of angles in radians.
//!
//! `out[i] = sin(self[i]) / cos(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `tan_` writes `self`, `tan.out` writes `out`.
//! - Errors: `tan_` of integers and bools.
//! - Source: torch.tan, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::functions::Tangent;

pub use opgrid_tensor::ops::pointwise::tan::*;

/// The family of `aten::tan`: its kind, shape rule and `out` rule.
pub const TAN: Family<Tan> = Family::new(Tan, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&TAN).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [d.result(0)], |grad, [out]| derivatives::chained(grad, &((out * out)? + 1)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, Tangent))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Tan, f64::tan, Complex64::tan).tolerance(64.0);
        samples.differs(Tan, departures::math::NOT_FINITE);
        samples.rounds(Tan, pointwise::samples::ELEMENTARY);
    }
}
