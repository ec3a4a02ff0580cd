//! `aten::log`: the natural logarithm.
//!
//! `out[i] = ln(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN for negative numbers, unless they are complex; negative infinity for zero.
//! - Aliasing: `log_` writes `self`, `log.out` writes `out`.
//! - Errors: `log_` of integers and bools.
//! - Source: torch.log, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::log::*;

/// The family of `aten::log`: its kind, shape rule and `out` rule.
pub const LOG: Family<Log> = Family::new(Log, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&LOG)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| derivatives::divided(grad, x)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, math::Logarithm))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Log, f64::ln, Complex64::ln).tolerance(4.0);
        samples.differs(Log, departures::math::NOT_FINITE);
        // Polynomials here, vector libraries there: one or two units in the last place each.
        samples.rounds(Log, Roundings::all(Rounding::Result(4)));
    }
}
