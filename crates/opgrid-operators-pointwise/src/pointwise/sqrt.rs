//! `aten::sqrt`: the square root.
//!
//! `out[i] = self[i] ^ 0.5`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN for negative numbers, unless they are complex.
//! - Aliasing: `sqrt_` writes `self`, `sqrt.out` writes `out`.
//! - Errors: `sqrt_` of integers and bools.
//! - Source: torch.sqrt, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::sqrt::*;

/// The family of `aten::sqrt`: its kind, shape rule and `out` rule.
pub const SQRT: Family<Sqrt> = Family::new(Sqrt, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&SQRT).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [d.result(0)], |grad, [out]| derivatives::divided(grad, &(out * 2)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::square_root::<T>(out, input))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Sqrt, f64::sqrt, Complex64::sqrt).tolerance(4.0);
        samples.differs(Sqrt, departures::math::NOT_FINITE);
        // Correctly rounded here, by a vector library there.
        samples.rounds(Sqrt, Roundings::all(Rounding::Result(1)).complex(Rounding::Result(4)));
    }
}
