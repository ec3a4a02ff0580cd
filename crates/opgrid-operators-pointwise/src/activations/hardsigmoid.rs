//! `aten::hardsigmoid`: a logistic function of straight lines.
//!
//! `out[i] = min(max(self[i] + 3, 0), 6) / 6`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `hardsigmoid_` writes `self`, `hardsigmoid.out` writes `out`, which has the dtype of `self`.
//! - Derivative: zero at the limits.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.hardsigmoid, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::activations::hardsigmoid::*;

/// The family of `aten::hardsigmoid`: its kind, shape rule and `out` rule.
pub const HARDSIGMOID: Family<Hardsigmoid> =
    Family::new(Hardsigmoid, &kind::POINTWISE_UNARY, pointwise::float_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&HARDSIGMOID).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| {
            let is_within = x.gt(-3)?.logical_and(&x.lt(3)?)?;
            derivatives::where_true(&is_within, &(grad * (1.0 / 6.0))?)
        })
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        elementwise::unary::<T, T>(out, input, |x| (x + 3.0).larger(0.0).smaller(6.0) / 6.0)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::collect(samples, Hardsigmoid, activation::samples::hardsigmoid).tolerance(4.0);
        samples.rounds(Hardsigmoid, Roundings::all(Rounding::Result(4)));
    }
}
