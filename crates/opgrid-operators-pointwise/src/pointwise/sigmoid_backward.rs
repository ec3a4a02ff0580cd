//! `aten::sigmoid_backward`: the slope of `sigmoid` by its result, times what stands in front of it.
//!
//! `grad_input[i] = grad_output[i] * conj((1 - output[i]) * output[i])`
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted; floating-point and complex ones.
//! - Aliasing: `sigmoid_backward.grad_input` writes `grad_input`.
//! - Errors: integers and bools.
//! - Source: torch.ops.aten.sigmoid_backward, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::math::Conjugate;

pub use opgrid_tensor::ops::pointwise::sigmoid_backward::*;

/// The family of `aten::sigmoid_backward`: its kind, shape rule and `out` rule.
pub const SIGMOID_BACKWARD: Family<SigmoidBackward> =
    Family::new(SigmoidBackward, &kind::POINTWISE_BINARY, activation::slope_by_result);

pub(super) fn register(library: &mut Library) {
    library.family(&SIGMOID_BACKWARD).cpu(cpu).derivative(|d, (grad_output, output)| {
        d.by(grad_output, [output], |grad, [out]| SigmoidBackward.call(grad, &derivatives::conjugate(out)?))?;
        d.by(output, [grad_output, output], |grad, [before, out]| {
            let conjugate = derivatives::conjugate(out)?;
            derivatives::conjugate(grad)?.mul(&(before * (1 - (&conjugate * 2)?)?)?)
        })
    });
}

fn cpu(grad: &Tensor, output: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, output])?, T: Inexact => {
        elementwise::binary::<T, T, T>(out, grad, output, |grad, output| {
            let one = Math::<T>::ONE;
            grad.times(one.minus(output).conjugate()).times(output.conjugate())
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::inexact_slopes(samples, SigmoidBackward, |grad, y| {
            grad * ((1.0 - y) * y).conj()
        })
        .tolerance(16.0);
        samples.differs_as(
            SigmoidBackward,
            &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE, departures::math::IN_RANGE],
        );
        samples.differs(
            SigmoidBackward,
            Difference {
                id: "slopes-of-sigmoids-beyond-the-range",
                what: "torch multiplies three factors in another order, and 16-bit ones in 16 bits, so \
                     that intermediate products may overflow in one order but not in the other",
                why: "one of the factors is near the limit of the dtype",
                test: ("opgrid-operators/tests/all/differences/numbers.rs", "results_that_are_not_finite"),
                when: |seen| {
                    let is_extreme = seen.inputs().iter().any(|input| {
                        let far = if input.dtype == DType::F16 { 255.0 } else { 1e18 };
                        input.elements.iter().any(|x| !x.is_finite() || x.norm() > far)
                    });
                    let is_such = |(dtype, ours, torch): &differences::Pair| {
                        (dtype.is_complex() || *dtype == DType::F16)
                            && (!ours.is_finite() || !torch.is_finite())
                    };
                    is_extreme && seen.each(is_such)
                },
                directed: None,
            },
        );
        // A product of three.
        samples.rounds(SigmoidBackward, Roundings::all(Rounding::Near(64)));
    }
}
