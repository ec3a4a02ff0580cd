//! `aten::cosh`: the hyperbolic cosine.
//!
//! `out[i] = (e ^ self[i] + e ^ -self[i]) / 2`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `cosh_` writes `self`, `cosh.out` writes `out`.
//! - Errors: `cosh_` of integers and bools.
//! - Source: torch.cosh, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::cosh::*;

/// The family of `aten::cosh`: its kind, shape rule and `out` rule.
pub const COSH: Family<Cosh> = Family::new(Cosh, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&COSH)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| derivatives::chained(grad, &x.sinh()?)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::HyperbolicCosine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Cosh, f64::cosh, Complex64::cosh).tolerance(16.0);
        samples.differs_as(Cosh, &[departures::math::NOT_FINITE, departures::math::HALF_OF_EXPONENTIALS]);
        samples.rounds(Cosh, pointwise::samples::ELEMENTARY);
    }
}
