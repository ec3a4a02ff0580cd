//! `aten::tanh_backward`: the slope of `tanh` by its result, times what stands in front of it.
//!
//! `grad_input[i] = grad_output[i] * conj(1 - output[i] ^ 2)`
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted; floating-point and complex ones.
//! - Aliasing: `tanh_backward.grad_input` writes `grad_input`.
//! - Errors: integers and bools.
//! - Source: torch.ops.aten.tanh_backward, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::math::Conjugate;

pub use opgrid_tensor::ops::pointwise::tanh_backward::*;

/// The family of `aten::tanh_backward`: its kind, shape rule and `out` rule.
pub const TANH_BACKWARD: Family<TanhBackward> =
    Family::new(TanhBackward, &kind::POINTWISE_BINARY, activation::slope_by_result);

pub(super) fn register(library: &mut Library) {
    library.family(&TANH_BACKWARD).cpu(cpu).derivative(|d, (grad_output, output)| {
        d.by(grad_output, [output], |grad, [out]| TanhBackward.call(grad, &derivatives::conjugate(out)?))?;
        d.by(output, [grad_output, output], |grad, [before, out]| {
            let conjugate = derivatives::conjugate(out)?;
            derivatives::conjugate(grad)?.mul(&(before * (&conjugate * -2)?)?)
        })
    });
}

fn cpu(grad: &Tensor, output: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, output])?, T: Inexact => {
        elementwise::binary::<T, T, T>(out, grad, output, |grad, output| {
            let one = Math::<T>::ONE;
            grad.times(one.minus(output.times(output)).conjugate())
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::inexact_slopes(samples, TanhBackward, |grad, y| grad * (1.0 - y * y).conj())
            .tolerance(16.0);
        samples
            .differs_as(TanhBackward, &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE]);
        samples.rounds(TanhBackward, Roundings::all(Rounding::Sum(8)).complex(Rounding::Result(64)));
    }
}
