//! `aten::sinc`: the sine of pi times elements, divided by its angle.
//!
//! `out[i] = sin(pi self[i]) / (pi self[i]), which is 1 at 0`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `sinc_` writes `self`, `sinc.out` writes `out`.
//! - Errors: `sinc_` of integers and bools.
//! - Source: torch.sinc, PyTorch 2.15.

use std::f64::consts::PI;

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::sinc::*;

/// The family of `aten::sinc`: its kind, shape rule and `out` rule.
pub const SINC: Family<Sinc> = Family::new(Sinc, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&SINC).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| {
            let angle = (x * PI)?;
            let slope = (((&angle * angle.cos()?)? - angle.sin()?)? / (&angle * x)?)?;
            derivatives::where_false(&x.eq(0)?, &derivatives::chained(grad, &slope)?)
        })
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::CardinalSine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        // Beyond, the angle is rounded by more than a turn.
        samples
            .operator(Sinc, ANY, generate::unary_numbers, |it| it.inexact(number::sinc, number::complex_sinc))
            .tolerance(32.0);
        samples.differs(Sinc, departures::math::NOT_FINITE);
        samples.rounds(Sinc, pointwise::samples::ELEMENTARY);
    }
}
