//! `aten::expm1`: the exponential function less one.
//!
//! `out[i] = e ^ self[i] - 1`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: All digits near zero, where the exponential function is next to one.
//! - Aliasing: `expm1_` writes `self`, `expm1.out` writes `out`.
//! - Errors: `expm1_` of integers and bools.
//! - Source: torch.expm1, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::expm1::*;

/// The family of `aten::expm1`: its kind, shape rule and `out` rule.
pub const EXPM1: Family<Expm1> = Family::new(Expm1, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&EXPM1).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [d.result(0)], |grad, [out]| derivatives::chained(grad, &(out + 1)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::ExponentialLessOne))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Expm1, f64::exp_m1, |x| x.exp() - 1.0).tolerance(16.0);
        samples.differs(Expm1, departures::math::NOT_FINITE);
        samples.rounds(Expm1, pointwise::samples::ELEMENTARY);
    }
}
