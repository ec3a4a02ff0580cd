//! `aten::lgamma`: the logarithm of the gamma function.
//!
//! `out[i] = ln|gamma(self[i])|`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones stay what they are; integers and bools give the default dtype.
//! - Values: Infinite at zero and the negative integers.
//! - Aliasing: `lgamma_` writes `self`, `lgamma.out` writes `out`.
//! - Errors: complex numbers; `lgamma_` of integers and bools.
//! - Source: torch.lgamma, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::special::Special;

pub use opgrid_tensor::ops::pointwise::lgamma::*;

/// The family of `aten::lgamma`: its kind, shape rule and `out` rule.
pub const LGAMMA: Family<Lgamma> = Family::new(Lgamma, &kind::POINTWISE_UNARY, pointwise::inexact_real_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&LGAMMA)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| grad * x.digamma()?));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Float => elementwise::unary::<T, T>(out, input, Special::lgamma))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .unary(Lgamma, ORDERED, DTypeRule::Inexact, |x| number::inexact(x, libm::lgamma, |x| x))
            .tolerance(16.0);
        samples.rounds(Lgamma, Roundings::all(Rounding::Near(16)).complex(Rounding::Near(64)));
    }
}
