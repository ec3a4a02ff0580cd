//! `aten::frac`: the fraction, without the whole number towards zero.
//!
//! `out[i] = self[i] - trunc(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `frac_` writes `self`, `frac.out` writes `out`, which has the dtype of `self`.
//! - Errors: integers, bools and complex numbers.
//! - Source: torch.frac, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::rounding::Whole;

pub use opgrid_tensor::ops::pointwise::frac::*;

/// The family of `aten::frac`: its kind, shape rule and `out` rule.
pub const FRAC: Family<Frac> =
    Family::new(Frac, &kind::POINTWISE_UNARY, pointwise::float_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&FRAC).cpu(cpu).derivative(|d, (input,)| d.by(input, [], |grad, []| Ok(grad.clone())));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => elementwise::unary::<T, T>(out, input, |a| a - Whole::trunc(a)))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Frac, FLOATS, DTypeRule::Promoted, |x| number::inexact(x, |x| x - x.trunc(), |x| x));
    }
}
