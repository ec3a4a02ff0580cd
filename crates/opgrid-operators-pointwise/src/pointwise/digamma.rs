//! `aten::digamma`: the derivative of the logarithm of the gamma function.
//!
//! `out[i] = gamma'(self[i]) / gamma(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype.
//! - Values: Minus infinity at zero (infinity at -0), NaN at the negative integers.
//! - Aliasing: `digamma_` writes `self`, `digamma.out` writes `out`.
//! - Errors: complex numbers; `digamma_` of integers and bools.
//! - Source: torch.special.digamma, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::special::Special;

pub use opgrid_tensor::ops::pointwise::digamma::*;

/// The family of `aten::digamma`: its kind, shape rule and `out` rule.
pub const DIGAMMA: Family<Digamma> =
    Family::new(Digamma, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&DIGAMMA)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| grad * derivatives::trigamma(x)?));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => elementwise::unary::<T, T>(out, input, Special::digamma))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .unary(Digamma, ORDERED, DTypeRule::Inexact, |x| number::inexact(x, number::digamma, |x| x))
            .tolerance(64.0);
        samples.rounds(Digamma, Roundings::all(Rounding::Near(16)).complex(Rounding::Near(64)));
    }
}
