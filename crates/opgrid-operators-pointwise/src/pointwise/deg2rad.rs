//! `aten::deg2rad`: degrees as radians.
//!
//! `out[i] = self[i] * pi / 180`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `deg2rad_` writes `self`, `deg2rad.out` writes `out`.
//! - Errors: complex numbers; `deg2rad_` of integers and bools.
//! - Source: torch.deg2rad, PyTorch 2.15.

use std::f64::consts::PI;

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::deg2rad::*;

/// The family of `aten::deg2rad`: its kind, shape rule and `out` rule.
pub const DEG2RAD: Family<Deg2rad> =
    Family::new(Deg2rad, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&DEG2RAD)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| grad.mul(PI / 180.0)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => {
        let factor = arithmetic::element::<Math<T>>(Scalar::Float(PI / 180.0))?;
        elementwise::unary::<T, T>(out, input, move |x| x.times(factor))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let radians = |x: Scalar| Scalar::Float(x.to_complex().re * (PI / 180.0));
        samples.unary(Deg2rad, ORDERED, DTypeRule::Inexact, radians).tolerance(2.0);
        samples.rounds(Deg2rad, Roundings::all(Rounding::Result(2)));
    }
}
