//! `aten::mish`, `aten::mish_backward`: elements times the hyperbolic tangent of their softplus, and the gradient.
//!
//! `out[i] = self[i] * tanh(ln(1 + e ^ self[i]))`
//!
//! - Shapes: that of `self`; that both arguments of the gradient broadcast to.
//! - Dtypes: floating-point ones.
//! - Aliasing: `mish_` writes `self`, `mish.out` writes `out`, which has the dtype of `self`.
//! - Dispatch: `mish_backward` is a composite of `softplus`, `tanh`, `sigmoid` and arithmetic.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.mish, PyTorch 2.15; D. Misra, Mish: A Self Regularized Non-Monotonic Activation Function (2019).

use crate::prelude::*;
use opgrid_kernels::activations;
use opgrid_tensor::ops::Softplus;

pub use opgrid_tensor::ops::activations::mish::*;

/// The family of `aten::mish`: its kind, shape rule and `out` rule.
pub const MISH: Family<Mish> =
    Family::new(Mish, &kind::POINTWISE_UNARY, pointwise::float_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&MISH).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| activation::by_composite(grad, x, gradient))
    });
    library.implicit(MishBackward, &kind::POINTWISE_BINARY, |grad, input| {
        activation::by_composite(grad, input, gradient)
    });
}

fn gradient(grad: &Tensor, x: &Tensor) -> Result<Tensor> {
    let gate = Softplus.call(x, Scalar::Int(1), Scalar::Int(20))?.tanh()?;
    let slope = ((x * x.sigmoid()?)? * (1 - (&gate * &gate)?)?)?;
    grad * (slope + gate)?
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => elementwise::unary_by::<T, T>(out, input, activations::Mish))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::collect(samples, Mish, |x| x * x.exp().ln_1p().tanh()).tolerance(16.0);
        samples.rounds(Mish, pointwise::samples::ELEMENTARY);
        samples.differs(Mish, departures::activations::SMALLEST_OF_MISH);
        samples
            .operator(MishBackward, FLOATS, activation::samples::pairs, |it| {
                activation::samples::of_two(it, ["grad_output", "self"], |grad, x| {
                    let gate = x.exp().ln_1p().tanh();
                    grad * (gate + x / (1.0 + (-x).exp()) * (1.0 - gate * gate))
                })
            })
            .tolerance(64.0);
        samples.rounds(MishBackward, Roundings::all(Rounding::Sum(16)));
    }
}
