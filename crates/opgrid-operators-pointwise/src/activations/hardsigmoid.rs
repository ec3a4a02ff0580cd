//! `aten::hardsigmoid`, `aten::hardsigmoid_backward`: a logistic function of straight lines, and its gradient.
//!
//! `out[i] = min(max(self[i] + 3, 0), 6) / 6`; `grad_input[i] = grad_output[i] / 6 if -3 < self[i] < 3, 0 otherwise`
//!
//! - Shapes: that of `self`; that both arguments of the gradient broadcast to.
//! - Dtypes: floating-point ones.
//! - Aliasing: `hardsigmoid_` writes `self`, `hardsigmoid.out` writes `out`, which has the dtype of `self`;
//!   `hardsigmoid_backward.grad_input` writes `grad_input`.
//! - Derivative: zero at the limits.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.hardsigmoid, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::activations::hardsigmoid::*;

/// The family of `aten::hardsigmoid`: its kind, shape rule and `out` rule.
pub const HARDSIGMOID: Family<Hardsigmoid> =
    Family::new(Hardsigmoid, &kind::POINTWISE_UNARY, pointwise::float_unary).same_dtype_out();

/// The family of `aten::hardsigmoid_backward`: its kind, shape rule and `out` rule.
pub const HARDSIGMOID_BACKWARD: Family<HardsigmoidBackward> =
    Family::new(HardsigmoidBackward, &kind::POINTWISE_BINARY, |grad, input| {
        activation::slope(("grad_output", grad), ("self", input))
    });

pub(super) fn register(library: &mut Library) {
    library
        .family(&HARDSIGMOID)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| HardsigmoidBackward.call(grad, x)));
    library.family(&HARDSIGMOID_BACKWARD).cpu(backward).derivative(|d, (grad_output, input)| {
        d.by(grad_output, [input], |grad, [x]| HardsigmoidBackward.call(grad, x))?;
        d.by(input, [], |grad, []| derivatives::zeros(grad))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        elementwise::unary::<T, T>(out, input, |x| (x + 3.0).larger(0.0).smaller(6.0) / 6.0)
    })
}

fn backward(grad: &Tensor, input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        elementwise::binary::<T, T, T>(out, grad, input, |grad, x| {
            if (x > -3.0) & (x < 3.0) { grad * (1.0 / 6.0) } else { 0.0 }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::collect(samples, Hardsigmoid, activation::samples::hardsigmoid).tolerance(4.0);
        samples.rounds(Hardsigmoid, Roundings::all(Rounding::Result(4)));
        samples
            .operator(HardsigmoidBackward, FLOATS, activation::samples::pairs, |it| {
                activation::samples::of_two(it, ["grad_output", "self"], |grad, x| {
                    if x.abs() < 3.0 { grad / 6.0 } else { 0.0 }
                })
            })
            .tolerance(2.0);
        samples.rounds(HardsigmoidBackward, Roundings::all(Rounding::Result(4)));
        samples.differs(
            HardsigmoidBackward,
            Difference {
                id: "sixths-keep-their-digits",
                what: "torch multiplies gradients of `hardsigmoid` in double precision by a sixth in single precision; \
                     here by a sixth in double precision",
                why: "the mathematical result",
                test: (
                    "opgrid-operators/tests/all/differences/kernels.rs",
                    "slopes_keep_their_digits",
                ),
                when: |seen| {
                    seen.each(|(_, ours, torch)| (ours.re - torch.re).abs() <= 6e-8 * ours.re.abs())
                },
                directed: None,
            },
        );
    }
}
