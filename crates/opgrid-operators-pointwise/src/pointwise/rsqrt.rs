//! `aten::rsqrt`: one divided by the square root.
//!
//! `out[i] = self[i] ^ -0.5`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN for negative numbers, unless they are complex.
//! - Aliasing: `rsqrt_` writes `self`, `rsqrt.out` writes `out`.
//! - Errors: `rsqrt_` of integers and bools.
//! - Source: torch.rsqrt, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::rsqrt::*;

/// The family of `aten::rsqrt`: its kind, shape rule and `out` rule.
pub const RSQRT: Family<Rsqrt> = Family::new(Rsqrt, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&RSQRT).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [d.result(0)], |grad, [out]| {
            derivatives::chained(&(grad * -0.5)?, &(out * (out * out)?)?)
        })
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, math::ReciprocalRoot))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Rsqrt, |x| 1.0 / x.sqrt(), |x| x.sqrt().inv()).tolerance(8.0);
        samples.differs(Rsqrt, departures::math::NOT_FINITE);
        samples.rounds(Rsqrt, pointwise::samples::ELEMENTARY);
    }
}
