//! `aten::asin`: the inverse of the sine.
//!
//! `out[i] = arcsin(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN beyond 1 and -1, unless they are complex.
//! - Aliasing: `asin_` writes `self`, `asin.out` writes `out`.
//! - Dispatch: `arcsin` is another name, in all forms.
//! - Errors: `asin_` of integers and bools.
//! - Source: torch.asin, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::asin::*;

/// The family of `aten::asin`: its kind, shape rule and `out` rule.
pub const ASIN: Family<Asin> = Family::new(Asin, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ASIN).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| derivatives::divided(grad, &(1 - (x * x)?)?.sqrt()?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::ArcSine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Asin, f64::asin, |x| number::off_cuts(x).asin()).tolerance(16.0);
        samples.differs(Asin, departures::math::NOT_FINITE);
        samples.rounds(Asin, pointwise::samples::ELEMENTARY);
    }
}
