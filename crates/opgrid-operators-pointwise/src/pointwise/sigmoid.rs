//! `aten::sigmoid`: the logistic function.
//!
//! `out[i] = 1 / (1 + e ^ -self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `sigmoid_` writes `self`, `sigmoid.out` writes `out`.
//! - Errors: `sigmoid_` of integers and bools.
//! - Source: torch.sigmoid, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::SigmoidBackward;

pub use opgrid_tensor::ops::pointwise::sigmoid::*;

/// The family of `aten::sigmoid`: its kind, shape rule and `out` rule.
pub const SIGMOID: Family<Sigmoid> = Family::new(Sigmoid, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SIGMOID)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [d.result(0)], |grad, [out]| SigmoidBackward.call(grad, out)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, math::Logistic))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), |x| (1.0 + (-x).exp()).inv()).tolerance(8.0);
        samples.differs(Sigmoid, departures::math::SIGMOIDS);
        // Polynomials here, vector libraries there; near its poles the sum below the line loses digits.
        samples.rounds(Sigmoid, Roundings::all(Rounding::Result(4)).complex(Rounding::Result(512)));
    }
}
