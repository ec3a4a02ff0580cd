//! `aten::gelu_backward`, `aten::infinitely_differentiable_gelu_backward`: the slope of `gelu`, times what stands in front of it.
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted, floating-point ones.
//! - Aliasing: `gelu_backward.grad_input` writes `grad_input`.
//! - Dispatch: `infinitely_differentiable_gelu_backward` is a composite of `erf`, `exp` and arithmetic, without approximation.
//! - Errors: other dtypes; an `approximate` that is neither "none" nor "tanh".
//! - Source: torch.ops.aten.gelu_backward, PyTorch 2.15.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use crate::prelude::*;
use opgrid_kernels::activations::{GeluByTanhSlope, GeluSlope};

pub use opgrid_tensor::ops::activations::gelu_backward::*;

/// The family of `aten::gelu_backward`: its kind, shape rule and `out` rule.
pub const GELU_BACKWARD: Family<GeluBackward> = Family::new(GeluBackward, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&GELU_BACKWARD).cpu(cpu).derivative(|d, (grad_output, input, approximate)| {
        let (first, second) = (approximate.to_owned(), approximate.to_owned());
        d.by(grad_output, [input], move |grad, [x]| GeluBackward.call(grad, x, &first))?;
        d.by(input, [grad_output, input], move |grad, [before, x]| {
            let curve = if second == "tanh" { approximate_curve(x)? } else { exact_curve(x)? };
            grad * (before * curve)?
        })
    });
    library.implicit(InfinitelyDifferentiableGeluBackward, &kind::POINTWISE_BINARY, |grad, input| {
        activation::by_composite(grad, input, differentiable)
    });
}

/// The slope by the distribution and its density, of operators that have derivatives of any order.
fn differentiable(grad: &Tensor, x: &Tensor) -> Result<Tensor> {
    let below = (((x * FRAC_1_SQRT_2)?.erf()? + 1)? * 0.5)?;
    let density = (((x * x)? * -0.5)?.exp()? * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2))?;
    // Where both tensors have strides of their own, the result has those of `self`.
    (below + (x * density)?)? * grad
}

fn shape(grad: &Tensor, input: &Tensor, approximate: &str) -> Result<TensorSpec> {
    activation::is_exact(approximate)?;
    activation::slope(("grad_output", grad), ("self", input))
}

fn cpu(grad: &Tensor, input: &Tensor, approximate: &str, out: &Tensor) -> Result<()> {
    let is_exact = activation::is_exact(approximate)?;
    with_dtype!(result_type(&[grad, input])?, T: Float => if is_exact {
        elementwise::binary_by::<T, T, T>(out, grad, input, GeluSlope)
    } else {
        elementwise::binary_by::<T, T, T>(out, grad, input, GeluByTanhSlope)
    })
}

/// The slope of the slope: `(2 - x ^ 2) * e ^ (-x ^ 2 / 2) / sqrt(2 * pi)`.
fn exact_curve(x: &Tensor) -> Result<Tensor> {
    let square = (x * x)?;
    let density = ((&square * -0.5)?.exp()? * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2))?;
    density * (2 - square)?
}

/// The slope of the slope of `x / 2 * (1 + t)`, where `t` is the hyperbolic tangent of `u = k * (x + 0.044715 * x ^ 3)`:
/// `(1 - t ^ 2) * (u' + x / 2 * (u'' - 2 * t * u' ^ 2))`.
fn approximate_curve(x: &Tensor) -> Result<Tensor> {
    const K: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
    const CUBE: f64 = 0.044_715;
    let square = (x * x)?;
    let tanh = ((((&square * CUBE)? + 1)? * x)? * K)?.tanh()?;
    let first = (((square * (3.0 * CUBE))? + 1)? * K)?;
    let second = (x * (6.0 * CUBE * K))?;
    let bend = (second - ((&tanh * (&first * &first)?)? * 2)?)?;
    (1 - (&tanh * &tanh)?)? * (first + ((bend * x)? * 0.5)?)?
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::differences::DIED;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let pairs = |dtype| generate::and_named(activation::samples::pairs(dtype), "approximate", "tanh");
        samples
            .operator(GeluBackward, FLOATS, pairs, |it| {
                let function = activation::samples::gelu(it)?;
                // The slope by a difference, whose error is of the order of the fourth power of the step.
                activation::samples::of_two(it, ["grad_output", "self"], |grad, x| {
                    let step = 1e-3;
                    let difference = |step: f64| (function(x + step) - function(x - step)) / (2.0 * step);
                    grad * (4.0 * difference(step) - difference(2.0 * step)) / 3.0
                })
            })
            .tolerance(1e5);
        samples.differs(
            GeluBackward,
            Difference {
                id: "slopes-of-gelu-of-any-strides",
                what: "torch's neural network library rejects gradients with some strides and dtypes, \
                     or crashes; here gradients are converted, and keep their strides",
                why: "results must not depend on strides",
                test: (
                    "opgrid-operators/tests/all/differences/computed.rs",
                    "what_torch_refuses_by_accident_is_computed",
                ),
                when: |seen| {
                    seen.torch_refuses("could not create a primitive")
                        || seen.torch_refuses("could not construct a memory descriptor")
                        || seen.torch_refuses("itensor_view_from_dense expects float")
                        || seen.torch_refuses(DIED)
                },
                directed: Some(Directed {
                    operator: "aten::gelu_backward",
                    arguments: || {
                        vec![
                            ("grad_output", Operand::rows(0, DType::I64, &[2], &[1.0, 2.0]).into()),
                            ("self", Operand::rows(1, DType::F32, &[2], &[0.5, 1.0]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.rounds(GeluBackward, Roundings::all(Rounding::Sum(16)));
        samples
            .operator(InfinitelyDifferentiableGeluBackward, FLOATS, activation::samples::pairs, |it| {
                activation::samples::of_two(it, ["grad", "self"], |grad, x| {
                    let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
                    grad * (0.5 * libm::erfc(-x * FRAC_1_SQRT_2) + x * density)
                })
            })
            .tolerance(16.0);
        samples.rounds(InfinitelyDifferentiableGeluBackward, Roundings::all(Rounding::Sum(16)));
    }
}
