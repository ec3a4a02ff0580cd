//! `aten::erf`: the error function.
//!
//! `out[i] = 2 / sqrt(pi) * (integral of e ^ -t^2 for t from 0 to self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `erf_` writes `self`, `erf.out` writes `out`.
//! - Errors: complex numbers; `erf_` of integers and bools.
//! - Source: torch.special.erf, PyTorch 2.15.

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::prelude::*;
use opgrid_kernels::special;

pub use opgrid_tensor::ops::pointwise::erf::*;

/// The family of `aten::erf`: its kind, shape rule and `out` rule.
pub const ERF: Family<Erf> = Family::new(Erf, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ERF).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| grad * ((-(x * x)?)?.exp()? * FRAC_2_SQRT_PI)?)
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => elementwise::unary_by::<T, T>(out, input, special::ErrorFunction))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .unary(Erf, ORDERED, DTypeRule::Inexact, |x| number::inexact(x, libm::erf, |x| x))
            .tolerance(16.0);
        samples.rounds(Erf, pointwise::samples::ELEMENTARY);
        samples.differs(Erf, departures::special::SMALLEST_OF_ERF);
    }
}
