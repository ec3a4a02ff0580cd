//! `aten::asinh`: the inverse of the hyperbolic sine.
//!
//! `out[i] = arsinh(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `asinh_` writes `self`, `asinh.out` writes `out`.
//! - Dispatch: `arcsinh` is another name, in all forms.
//! - Errors: `asinh_` of integers and bools.
//! - Source: torch.asinh, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::asinh::*;

/// The family of `aten::asinh`: its kind, shape rule and `out` rule.
pub const ASINH: Family<Asinh> = Family::new(Asinh, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ASINH).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| derivatives::divided(grad, &((x * x)? + 1)?.sqrt()?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::AreaSine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Asinh, f64::asinh, |x| number::off_cuts(x).asinh()).tolerance(16.0);
        samples.differs(Asinh, departures::math::NOT_FINITE);
        samples.rounds(Asinh, pointwise::samples::ELEMENTARY);
    }
}
