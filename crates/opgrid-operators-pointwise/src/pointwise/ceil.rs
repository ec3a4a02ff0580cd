//! `aten::ceil`: the next whole number that is not smaller.
//!
//! `out[i] = the smallest integer >= self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; integers stay what they are.
//! - Aliasing: `ceil_` writes `self`, `ceil.out` writes `out`, which has the dtype of `self`.
//! - Errors: bools and complex numbers.
//! - Source: torch.ceil, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::rounding::Whole;

pub use opgrid_tensor::ops::pointwise::ceil::*;

/// The family of `aten::ceil`: its kind, shape rule and `out` rule.
pub const CEIL: Family<Ceil> =
    Family::new(Ceil, &kind::POINTWISE_UNARY, pointwise::real_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&CEIL)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Real by bits => elementwise::unary::<T, T>(out, input, Whole::ceil))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Ceil, REAL, DTypeRule::Promoted, |x| number::whole_by(x, f64::ceil));
        samples.differs(Ceil, departures::arithmetic::SIGN_OF_ZERO);
    }
}
