//! `aten::silu`: elements times their logistic function.
//!
//! `out[i] = self[i] / (1 + e ^ -self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones.
//! - Aliasing: `silu_` writes `self`, `silu.out` writes `out`, which has the dtype of `self`.
//! - Errors: integers and bools.
//! - Source: torch.nn.functional.silu, PyTorch 2.15; S. Elfwing, E. Uchibe and K. Doya, Sigmoid-Weighted Linear Units for
//!   Neural Network Function Approximation in Reinforcement Learning (2017).

use crate::prelude::*;
use opgrid_kernels::activations;
use opgrid_tensor::ops::SiluBackward;

pub use opgrid_tensor::ops::activations::silu::*;

/// The family of `aten::silu`: its kind, shape rule and `out` rule.
pub const SILU: Family<Silu> =
    Family::new(Silu, &kind::POINTWISE_UNARY, pointwise::only_inexact_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    // The conjugate of the slope is the slope at the conjugate.
    library.family(&SILU).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| SiluBackward.call(grad, &derivatives::conjugate(x)?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Inexact => elementwise::unary_by::<T, T>(out, input, activations::Silu))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .unary(Silu, INEXACT, DTypeRule::Promoted, |x| {
                number::inexact(x, |x| x / (1.0 + (-x).exp()), |x| x / (1.0 + (-x).exp()))
            })
            .tolerance(16.0);
        samples.differs_as(
            Silu,
            &[departures::math::NOT_FINITE, departures::math::IN_RANGE, departures::math::SIGMOIDS],
        );
        samples.rounds(Silu, pointwise::samples::ELEMENTARY);
    }
}
