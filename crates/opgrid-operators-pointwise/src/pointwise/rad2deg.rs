//! `aten::rad2deg`: radians as degrees.
//!
//! `out[i] = self[i] * 180 / pi`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `rad2deg_` writes `self`, `rad2deg.out` writes `out`.
//! - Errors: complex numbers; `rad2deg_` of integers and bools.
//! - Source: torch.rad2deg, PyTorch 2.15.

use std::f64::consts::PI;

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::rad2deg::*;

/// The family of `aten::rad2deg`: its kind, shape rule and `out` rule.
pub const RAD2DEG: Family<Rad2deg> =
    Family::new(Rad2deg, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&RAD2DEG)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| grad.mul(180.0 / PI)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => {
        let factor = arithmetic::element::<Math<T>>(Scalar::Float(180.0 / PI))?;
        elementwise::unary::<T, T>(out, input, move |x| x.times(factor))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let degrees = |x: Scalar| Scalar::Float(x.to_complex().re * (180.0 / PI));
        samples.unary(Rad2deg, ORDERED, DTypeRule::Inexact, degrees).tolerance(2.0);
        samples.rounds(Rad2deg, Roundings::all(Rounding::Result(2)));
    }
}
