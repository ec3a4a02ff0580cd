//! `aten::reciprocal`: one divided by each element.
//!
//! `out[i] = 1 / self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `reciprocal_` writes `self`, `reciprocal.out` writes `out`.
//! - Errors: `reciprocal_` of integers and bools.
//! - Source: torch.reciprocal, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::reciprocal::*;

/// The family of `aten::reciprocal`: its kind, shape rule and `out` rule.
pub const RECIPROCAL: Family<Reciprocal> =
    Family::new(Reciprocal, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&RECIPROCAL).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [d.result(0)], |grad, [out]| derivatives::chained(&(-grad)?, &(out * out)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, math::Reciprocal))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Reciprocal, f64::recip, |x| x.inv()).tolerance(4.0);
        samples.differs(Reciprocal, departures::math::NOT_FINITE);
        samples.rounds(Reciprocal, pointwise::samples::COMPLEX_ARITHMETIC);
    }
}
