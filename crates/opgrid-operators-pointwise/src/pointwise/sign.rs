//! `aten::sign`: one with the sign of elements, or zero.
//!
//! `out[i] = 1 if self[i] > 0, -1 if self[i] < 0, 0 otherwise`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`. A bool is its own sign, and NaN has the sign 0.
//! - Aliasing: `sign_` writes `self`, `sign.out` writes `out`, which has the dtype of `self`.
//! - Errors: complex numbers; those have `sgn`.
//! - Source: torch.sign, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::math::Direction;

pub use opgrid_tensor::ops::pointwise::sign::*;

/// The family of `aten::sign`: its kind, shape rule and `out` rule.
pub const SIGN: Family<Sign> =
    Family::new(Sign, &kind::POINTWISE_UNARY, pointwise::ordered_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&SIGN)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Ordered by value => elementwise::unary::<T, T>(out, input, Direction::direction))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Sign, ORDERED, DTypeRule::Promoted, number::direction);
        samples.differs(Sign, departures::arithmetic::SIGN_OF_ZERO);
    }
}
