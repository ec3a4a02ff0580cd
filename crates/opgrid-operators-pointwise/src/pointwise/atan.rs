//! `aten::atan`: the inverse of the tangent.
//!
//! `out[i] = arctan(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `atan_` writes `self`, `atan.out` writes `out`.
//! - Dispatch: `arctan` is another name, in all forms.
//! - Errors: `atan_` of integers and bools.
//! - Source: torch.atan, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::atan::*;

/// The family of `aten::atan`: its kind, shape rule and `out` rule.
pub const ATAN: Family<Atan> = Family::new(Atan, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ATAN).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| derivatives::divided(grad, &((x * x)? + 1)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::ArcTangent))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Atan, f64::atan, complex).tolerance(16.0);
        samples.differs_as(Atan, &[departures::math::NOT_FINITE, departures::functions::INVERSE_TANGENTS]);
        samples.rounds(Atan, pointwise::samples::ELEMENTARY);
    }

    /// On the real axis the result is real, that of NaN too.
    fn complex(x: Complex64) -> Complex64 {
        if x.re.is_nan() && x.im == 0.0 { x } else { number::off_cuts(x).atan() }
    }
}
