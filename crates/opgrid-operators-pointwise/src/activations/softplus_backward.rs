//! `aten::softplus_backward`: the slope of `softplus`, times what stands in front of it.
//!
//! `grad_input[i] = grad_output[i] / (1 + e ^ (-beta * self[i]))`, and `grad_output[i]` where the exponent is above `threshold`
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted, floating-point ones.
//! - Aliasing: `softplus_backward.grad_input` writes `grad_input`.
//! - Errors: other dtypes; numbers beyond the range of the dtype.
//! - Source: torch.ops.aten.softplus_backward, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::activations::softplus_backward::*;

/// The family of `aten::softplus_backward`: its kind, shape rule and `out` rule.
pub const SOFTPLUS_BACKWARD: Family<SoftplusBackward> =
    Family::new(SoftplusBackward, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&SOFTPLUS_BACKWARD).cpu(cpu).derivative(|d, (grad_output, input, beta, threshold)| {
        d.by(grad_output, [input], move |grad, [x]| SoftplusBackward.call(grad, x, beta, threshold))?;
        d.by(input, [grad_output, input], move |grad, [before, x]| {
            let scaled = (x * beta)?;
            let gate = scaled.sigmoid()?;
            let curve = (((&gate * (1 - &gate)?)? * beta)? * before)?;
            derivatives::where_true(&scaled.le(threshold)?, &(grad * curve)?)
        })
    });
}

fn shape(grad: &Tensor, input: &Tensor, beta: Scalar, threshold: Scalar) -> Result<TensorSpec> {
    activation::with_factors(activation::slope(("grad_output", grad), ("self", input))?, &[beta, threshold])
}

fn cpu(grad: &Tensor, input: &Tensor, beta: Scalar, threshold: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        let (beta, threshold) = (arithmetic::element::<Math<T>>(beta)?, arithmetic::element::<Math<T>>(threshold)?);
        elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
            let exponent = x * beta;
            let soft = grad * Inexact::sigmoid(exponent);
            if exponent > threshold { grad } else { soft }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let slopes = |dtype| -> Vec<Sample> {
            activation::samples::pairs(dtype).into_iter().map(|sample| sample.and(2).and(3)).collect()
        };
        samples
            .operator(SoftplusBackward, FLOATS, slopes, |it| {
                let [beta, threshold] =
                    [activation::samples::real(it, "beta")?, activation::samples::real(it, "threshold")?];
                activation::samples::of_two(it, ["grad_output", "self"], |grad, x| {
                    if beta * x > threshold { grad } else { grad / (1.0 + (-beta * x).exp()) }
                })
            })
            .tolerance(8.0);
        samples.differs(
            SoftplusBackward,
            Difference {
                id: "slopes-of-softplus-of-large-gradients",
                what: "torch multiplies a gradient by the exponential before it divides by a larger \
                     number, so that large gradients, or those with an infinite exponential, become \
                     infinite or NaN, and others lose precision; here the gradient is multiplied by \
                     the quotient",
                why: "the mathematical result",
                test: ("opgrid-operators/tests/all/ends_of_ranges.rs", "slopes_of_softplus_stay_in_range"),
                when: |seen| {
                    let Some(threshold) = seen.number("threshold").and_then(|number| number.to_f64().ok())
                    else {
                        return false;
                    };
                    let computed = seen
                        .tensor("grad_output")
                        .and_then(|grad| opgrid_tensor::tensor::finfo(grad.dtype).ok());
                    let gradient = seen.tensor("grad_output").map_or(0.0, |grad| {
                        let sizes = grad.elements.iter().map(|element| element.norm());
                        sizes.filter(|size| size.is_finite()).fold(0.0, f64::max)
                    });
                    seen.each(|(dtype, ours, torch)| {
                        let Ok(limits) = opgrid_tensor::tensor::finfo(*dtype) else { return false };
                        let product = ours.re.abs() * (1.0 + threshold.exp());
                        let steps =
                            computed.map_or(0.0, |limits| limits.smallest_normal).max(limits.smallest_normal);
                        let smallest = gradient.max(1.0) * steps;
                        // Zero times an infinite exponential, and a threshold of NaN, are no product in range either.
                        let leaves = product.is_nan() || product > limits.max;
                        let is_lost = ours.is_finite() && !torch.is_finite()
                            || ours.re.is_infinite() && torch.re.is_nan();
                        is_lost && leaves
                            || ours.is_nan() && torch.re.is_infinite()
                            || ours.norm().max(torch.norm()) < smallest
                    })
                },
                directed: None,
            },
        );
        samples.rounds(SoftplusBackward, pointwise::samples::ELEMENTARY);
    }
}
