//! `aten::atanh`: the inverse of the hyperbolic tangent.
//!
//! `out[i] = artanh(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN beyond 1 and -1, unless they are complex.
//! - Aliasing: `atanh_` writes `self`, `atanh.out` writes `out`.
//! - Dispatch: `arctanh` is another name, in all forms.
//! - Errors: `atanh_` of integers and bools.
//! - Source: torch.atanh, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::atanh::*;

/// The family of `aten::atanh`: its kind, shape rule and `out` rule.
pub const ATANH: Family<Atanh> = Family::new(Atanh, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ATANH).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| derivatives::divided(grad, &(1 - (x * x)?)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::AreaTangent))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Atanh, f64::atanh, complex).tolerance(16.0);
        samples.differs_as(Atanh, &[departures::math::NOT_FINITE, departures::functions::INVERSE_TANGENTS]);
        samples.rounds(Atanh, pointwise::samples::ELEMENTARY);
    }

    /// At the poles the real part is infinite.
    fn complex(x: Complex64) -> Complex64 {
        if x.re.abs() == 1.0 && x.im == 0.0 {
            Complex64::new(x.re * f64::INFINITY, x.im)
        } else {
            number::off_cuts(x).atanh()
        }
    }
}
