//! `aten::exp`: the exponential function.
//!
//! `out[i] = e ^ self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `exp_` writes `self`, `exp.out` writes `out`.
//! - Errors: `exp_` of integers and bools.
//! - Source: torch.exp, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::exp::*;

/// The family of `aten::exp`: its kind, shape rule and `out` rule.
pub const EXP: Family<Exp> = Family::new(Exp, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&EXP)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [d.result(0)], |grad, [out]| grad.mul(&out.conj()?)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, math::Exponential))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Exp, f64::exp, Complex64::exp).tolerance(4.0);
        // Polynomials here, vector libraries there: one or two units in the last place each.
        samples.rounds(Exp, Roundings::all(Rounding::Result(4)));
    }
}
