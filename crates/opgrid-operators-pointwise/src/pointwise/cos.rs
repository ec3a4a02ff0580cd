//! `aten::cos`: the cosine of angles in radians.
//!
//! `out[i] = cos(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `cos_` writes `self`, `cos.out` writes `out`.
//! - Errors: `cos_` of integers and bools.
//! - Source: torch.cos, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::functions::Cosine;

pub use opgrid_tensor::ops::pointwise::cos::*;

/// The family of `aten::cos`: its kind, shape rule and `out` rule.
pub const COS: Family<Cos> = Family::new(Cos, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&COS).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| derivatives::chained(grad, &(-x.sin()?)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, Cosine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Cos, f64::cos, Complex64::cos).tolerance(16.0);
        samples.differs(Cos, departures::math::NOT_FINITE);
        samples.rounds(Cos, pointwise::samples::ELEMENTARY);
    }
}
