//! `aten::floor`: the next whole number that is not larger.
//!
//! `out[i] = the largest integer <= self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; integers stay what they are.
//! - Aliasing: `floor_` writes `self`, `floor.out` writes `out`, which has the dtype of `self`.
//! - Errors: bools and complex numbers.
//! - Source: torch.floor, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::rounding::Whole;

pub use opgrid_tensor::ops::pointwise::floor::*;

/// The family of `aten::floor`: its kind, shape rule and `out` rule.
pub const FLOOR: Family<Floor> =
    Family::new(Floor, &kind::POINTWISE_UNARY, pointwise::real_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&FLOOR)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Real by bits => elementwise::unary::<T, T>(out, input, Whole::floor))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Floor, REAL, DTypeRule::Promoted, |x| number::whole_by(x, f64::floor));
        samples.differs(Floor, departures::arithmetic::SIGN_OF_ZERO);
    }
}
