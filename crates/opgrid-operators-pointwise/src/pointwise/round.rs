//! `aten::round`: the nearest whole number.
//!
//! `out[i] = the nearest integer to self[i], the even one of two`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; integers stay what they are.
//! - Aliasing: `round_` writes `self`, `round.out` writes `out`, which has the dtype of `self`.
//! - Errors: bools and complex numbers.
//! - Source: torch.round, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::rounding::Whole;

pub use opgrid_tensor::ops::pointwise::round::*;

/// The family of `aten::round`: its kind, shape rule and `out` rule.
pub const ROUND: Family<Round> =
    Family::new(Round, &kind::POINTWISE_UNARY, pointwise::real_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&ROUND)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Real by bits => elementwise::unary::<T, T>(out, input, Whole::round))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Round, REAL, DTypeRule::Promoted, |x| number::whole_by(x, f64::round_ties_even));
        samples.differs(Round, departures::arithmetic::SIGN_OF_ZERO);
        samples.rounds(Round, Roundings::all(Rounding::Result(2)));
    }
}
