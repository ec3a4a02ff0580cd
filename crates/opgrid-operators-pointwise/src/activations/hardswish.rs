//! `aten::hardswish`, `aten::hardswish_backward`: elements times a logistic function of straight lines, and the gradient.
//!
//! `out[i] = self[i] * min(max(self[i] + 3, 0), 6) / 6`; `grad_input[i] = 0 if self[i] <= -3, grad_output[i] if self[i] >= 3,`
//! `grad_output[i] * (self[i] / 3 + 1 / 2) otherwise`
//!
//! - Shapes: that of `self`; that both arguments of the gradient broadcast to.
//! - Dtypes: floating-point ones.
//! - Aliasing: `hardswish_` writes `self`, `hardswish.out` writes `out`, which has the dtype of `self`; `hardswish_backward.out`
//!   writes `out`.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.hardswish, PyTorch 2.15; A. Howard et al., Searching for MobileNetV3 (2019).

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::activations::hardswish::*;

/// The family of `aten::hardswish`: its kind, shape rule and `out` rule.
pub const HARDSWISH: Family<Hardswish> =
    Family::new(Hardswish, &kind::POINTWISE_UNARY, pointwise::float_unary).same_dtype_out();

/// The family of `aten::hardswish_backward`: its kind, shape rule and `out` rule.
pub const HARDSWISH_BACKWARD: Family<HardswishBackward> =
    Family::new(HardswishBackward, &kind::POINTWISE_BINARY, |grad, input| {
        activation::slope(("grad_output", grad), ("self", input))
    });

pub(super) fn register(library: &mut Library) {
    library
        .family(&HARDSWISH)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [input], |grad, [x]| HardswishBackward.call(grad, x)));
    library.family(&HARDSWISH_BACKWARD).cpu(backward).derivative(|d, (grad_output, input)| {
        d.by(grad_output, [input], |grad, [x]| HardswishBackward.call(grad, x))?;
        d.by(input, [grad_output, input], |grad, [before, x]| {
            let is_curved = x.gt(-3)?.logical_and(&x.lt(3)?)?;
            derivatives::where_true(&is_curved, &(grad * (before / 3)?)?)
        })
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        elementwise::unary::<T, T>(out, input, |x| x * ((x + 3.0).larger(0.0).smaller(6.0) / 6.0))
    })
}

fn backward(grad: &Tensor, input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        elementwise::binary::<T, T, T>(out, grad, input, |grad, x| {
            let curved = grad * (x / 3.0 + 0.5);
            let upper = if x >= 3.0 { grad } else { curved };
            if x <= -3.0 { 0.0 } else { upper }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::collect(samples, Hardswish, |x| x * activation::samples::hardsigmoid(x))
            .tolerance(4.0);
        samples.rounds(Hardswish, Roundings::all(Rounding::Result(4)));
        samples.differs(Hardswish, activation::samples::HARDSWISH_IN_RANGE);
        samples
            .operator(HardswishBackward, FLOATS, activation::samples::pairs, |it| {
                activation::samples::of_two(it, ["grad_output", "self"], |grad, x| match x {
                    x if x <= -3.0 => 0.0,
                    x if x >= 3.0 => grad,
                    x => grad * (x / 3.0 + 0.5),
                })
            })
            .tolerance(4.0);
        samples.rounds(HardswishBackward, Roundings::all(Rounding::Sum(4)));
    }
}
