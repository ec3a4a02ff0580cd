//! `aten::log10`: the logarithm to base 10.
//!
//! `out[i] = log10(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN for negative numbers, unless they are complex.
//! - Aliasing: `log10_` writes `self`, `log10.out` writes `out`.
//! - Errors: `log10_` of integers and bools.
//! - Source: torch.log10, PyTorch 2.15.

use std::f64::consts::LN_10;

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::log10::*;

/// The family of `aten::log10`: its kind, shape rule and `out` rule.
pub const LOG10: Family<Log10> = Family::new(Log10, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&LOG10).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| derivatives::divided(grad, &(x * LN_10)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::DecimalLogarithm))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Log10, f64::log10, |x| x.ln() / std::f64::consts::LN_10).tolerance(16.0);
        samples.differs(Log10, departures::math::NOT_FINITE);
        samples.rounds(Log10, pointwise::samples::ELEMENTARY);
    }
}
