//! `aten::exp2`: two to the power of elements.
//!
//! `out[i] = 2 ^ self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `exp2_` writes `self`, `exp2.out` writes `out`.
//! - Errors: `exp2_` of integers and bools.
//! - Source: torch.exp2, PyTorch 2.15.

use std::f64::consts::LN_2;

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::exp2::*;

/// The family of `aten::exp2`: its kind, shape rule and `out` rule.
pub const EXP2: Family<Exp2> = Family::new(Exp2, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&EXP2).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [d.result(0)], |grad, [out]| derivatives::chained(grad, &(out * LN_2)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::PowerOfTwo))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Exp2, f64::exp2, |x| (x * std::f64::consts::LN_2).exp()).tolerance(16.0);
        samples.differs(Exp2, departures::math::NOT_FINITE);
        samples.rounds(Exp2, pointwise::samples::ELEMENTARY);
    }
}
