//! `aten::silu_backward`: the slope of `silu`, times what stands in front of it.
//!
//! `grad_input[i] = grad_output[i] * s * (1 + self[i] * (1 - s))`, where `s = 1 / (1 + e ^ -self[i])`
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted, floating-point and complex ones; complex slopes are not conjugated, as in torch.
//! - Aliasing: `silu_backward.grad_input` writes `grad_input`.
//! - Errors: integers and bools.
//! - Source: torch.ops.aten.silu_backward, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::activations::silu_backward::*;

/// The family of `aten::silu_backward`: its kind, shape rule and `out` rule.
pub const SILU_BACKWARD: Family<SiluBackward> =
    Family::new(SiluBackward, &kind::POINTWISE_BINARY, activation::inexact_slope);

pub(super) fn register(library: &mut Library) {
    library.family(&SILU_BACKWARD).cpu(cpu).derivative(|d, (grad_output, input)| {
        // The conjugate of the slope is the slope at the conjugate.
        d.by(grad_output, [input], |grad, [x]| SiluBackward.call(grad, &derivatives::conjugate(x)?))?;
        d.by(input, [grad_output, input], |grad, [before, x]| {
            let gate = x.sigmoid()?;
            let rest = (1 - &gate)?;
            let curve = (((&rest - &gate)? * x)? + 2)?;
            derivatives::chained(grad, &(before * ((gate * rest)? * curve)?)?)
        })
    });
}

fn cpu(grad: &Tensor, input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Inexact => {
        elementwise::binary::<T, T, T>(out, grad, input, |grad, x| {
            let (one, sigmoid) = (Math::<T>::ONE, Inexact::sigmoid(x));
            grad.times(sigmoid).times(one.plus(x.times(one.minus(sigmoid))))
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::inexact_slopes(samples, SiluBackward, |grad, x| {
            let sigmoid = (1.0 + (-x).exp()).inv();
            grad * sigmoid * (1.0 + x * (1.0 - sigmoid))
        })
        .tolerance(32.0);
        samples.differs_as(SiluBackward, &[departures::math::NOT_FINITE, departures::math::IN_RANGE]);
        // Terms are larger than the inputs near the poles of the complex function.
        samples.rounds(SiluBackward, Roundings::all(Rounding::Sum(16)).complex(Rounding::Products(64)));
    }
}
