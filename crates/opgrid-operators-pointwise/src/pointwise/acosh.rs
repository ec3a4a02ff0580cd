//! `aten::acosh`: the inverse of the hyperbolic cosine.
//!
//! `out[i] = arcosh(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN below 1, unless they are complex.
//! - Aliasing: `acosh_` writes `self`, `acosh.out` writes `out`.
//! - Dispatch: `arccosh` is another name, in all forms.
//! - Errors: `acosh_` of integers and bools.
//! - Source: torch.acosh, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::acosh::*;

/// The family of `aten::acosh`: its kind, shape rule and `out` rule.
pub const ACOSH: Family<Acosh> = Family::new(Acosh, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ACOSH).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| {
            if x.dtype().is_complex() {
                // The root of a product has another cut than the product of roots.
                derivatives::chained(grad, &((x + 1)?.rsqrt()? * (x - 1)?.rsqrt()?)?)
            } else {
                grad * ((x * x)? - 1)?.rsqrt()?
            }
        })
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::AreaCosine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Acosh, f64::acosh, |x| number::off_cuts(x).acosh()).tolerance(16.0);
        samples.differs(Acosh, departures::math::NOT_FINITE);
        samples.rounds(Acosh, pointwise::samples::ELEMENTARY);
    }
}
