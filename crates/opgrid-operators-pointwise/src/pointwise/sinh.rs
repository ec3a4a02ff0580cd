//! `aten::sinh`: the hyperbolic sine.
//!
//! `out[i] = (e ^ self[i] - e ^ -self[i]) / 2`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `sinh_` writes `self`, `sinh.out` writes `out`.
//! - Errors: `sinh_` of integers and bools.
//! - Source: torch.sinh, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::sinh::*;

/// The family of `aten::sinh`: its kind, shape rule and `out` rule.
pub const SINH: Family<Sinh> = Family::new(Sinh, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SINH)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| derivatives::chained(grad, &x.cosh()?)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::HyperbolicSine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .inexact(Sinh, f64::sinh, |x| if x.im == 0.0 { x.re.sinh().into() } else { x.sinh() })
            .tolerance(16.0);
        samples.differs_as(Sinh, &[departures::math::NOT_FINITE, departures::math::HALF_OF_EXPONENTIALS]);
        samples.rounds(Sinh, pointwise::samples::ELEMENTARY);
    }
}
