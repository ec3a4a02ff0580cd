//! `aten::sin`: the sine of angles in radians.
//!
//! `out[i] = sin(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `sin_` writes `self`, `sin.out` writes `out`.
//! - Errors: `sin_` of integers and bools.
//! - Source: torch.sin, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::functions::Sine;

pub use opgrid_tensor::ops::pointwise::sin::*;

/// The family of `aten::sin`: its kind, shape rule and `out` rule.
pub const SIN: Family<Sin> = Family::new(Sin, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SIN)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| derivatives::chained(grad, &x.cos()?)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, Sine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Sin, f64::sin, Complex64::sin).tolerance(16.0);
        samples.differs(Sin, departures::math::NOT_FINITE);
        samples.rounds(Sin, pointwise::samples::ELEMENTARY);
    }
}
