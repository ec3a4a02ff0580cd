//! `aten::trunc`: the whole number towards zero.
//!
//! `out[i] = self[i] without its fraction`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; integers stay what they are.
//! - Aliasing: `trunc_` writes `self`, `trunc.out` writes `out`, which has the dtype of `self`.
//! - Dispatch: `fix` is another name, in all forms.
//! - Errors: bools and complex numbers.
//! - Source: torch.trunc, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::rounding::Whole;

pub use opgrid_tensor::ops::pointwise::trunc::*;

/// The family of `aten::trunc`: its kind, shape rule and `out` rule.
pub const TRUNC: Family<Trunc> =
    Family::new(Trunc, &kind::POINTWISE_UNARY, pointwise::real_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&TRUNC)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [], |grad, []| derivatives::zeros(grad)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Real by bits => elementwise::unary::<T, T>(out, input, Whole::trunc))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Trunc, REAL, DTypeRule::Promoted, |x| number::whole_by(x, f64::trunc));
        samples.differs(Trunc, departures::arithmetic::SIGN_OF_ZERO);
    }
}
