//! `aten::log2`: the logarithm to base 2.
//!
//! `out[i] = log2(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN for negative numbers, unless they are complex. Powers of two have whole logarithms.
//! - Aliasing: `log2_` writes `self`, `log2.out` writes `out`.
//! - Errors: `log2_` of integers and bools.
//! - Source: torch.log2, PyTorch 2.15.

use std::f64::consts::LN_2;

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::log2::*;

/// The family of `aten::log2`: its kind, shape rule and `out` rule.
pub const LOG2: Family<Log2> = Family::new(Log2, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&LOG2)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| derivatives::divided(grad, &(x * LN_2)?)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::BinaryLogarithm))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Log2, f64::log2, |x| x.ln() / std::f64::consts::LN_2).tolerance(16.0);
        samples.differs(Log2, departures::math::NOT_FINITE);
        samples.rounds(Log2, pointwise::samples::ELEMENTARY);
    }
}
