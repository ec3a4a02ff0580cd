//! `aten::log1p`: the logarithm of one and elements.
//!
//! `out[i] = ln(1 + self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: All digits near zero; NaN below -1, unless they are complex.
//! - Aliasing: `log1p_` writes `self`, `log1p.out` writes `out`.
//! - Errors: `log1p_` of integers and bools.
//! - Source: torch.log1p, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::log1p::*;

/// The family of `aten::log1p`: its kind, shape rule and `out` rule.
pub const LOG1P: Family<Log1p> = Family::new(Log1p, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&LOG1P)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| derivatives::divided(grad, &(x + 1)?)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::LogarithmOfOneAnd))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Log1p, f64::ln_1p, |x| (x + 1.0).ln()).tolerance(16.0);
        samples.differs_as(Log1p, &[departures::math::NOT_FINITE, departures::math::IN_RANGE]);
        samples.rounds(Log1p, pointwise::samples::ELEMENTARY);
    }
}
