//! `aten::leaky_relu_backward`: the slope of `leaky_relu`, times what stands in front of it.
//!
//! `grad_input[i] = grad_output[i] if self[i] > 0, negative_slope * grad_output[i] otherwise`
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted, floating-point ones.
//! - Aliasing: `leaky_relu_backward.grad_input` writes `grad_input`.
//! - Errors: other dtypes; a result with a negative slope.
//! - Source: torch.ops.aten.leaky_relu_backward, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::activations::leaky_relu_backward::*;

/// The family of `aten::leaky_relu_backward`: its kind, shape rule and `out` rule.
pub const LEAKY_RELU_BACKWARD: Family<LeakyReluBackward> =
    Family::new(LeakyReluBackward, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&LEAKY_RELU_BACKWARD).cpu(cpu).derivative(|d, (grad_output, input, slope, is_result)| {
        d.by(grad_output, [input], move |grad, [x]| LeakyReluBackward.call(grad, x, slope, is_result))?;
        d.by(input, [], |grad, []| derivatives::zeros(grad))
    });
}

fn shape(grad: &Tensor, input: &Tensor, slope: Scalar, is_result: bool) -> Result<TensorSpec> {
    let spec =
        activation::with_factors(activation::slope(("grad_output", grad), ("self", input))?, &[slope])?;
    if is_result && !(0.0..=f64::INFINITY).contains(&slope.to_complex().re) {
        return Err(argument(format!(
            "argument `negative_slope` is {slope}, for which the gradient does not follow from the \
             result; call `leaky_relu` instead of `leaky_relu_`"
        )));
    }
    Ok(spec)
}

fn cpu(grad: &Tensor, input: &Tensor, slope: Scalar, _is_result: bool, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        let slope = arithmetic::element::<Math<T>>(slope)?;
        elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
            if x > 0.0 { grad } else { grad * slope }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let slopes = |dtype| -> Vec<Sample> {
            let with = |sample: Sample| sample.and(Scalar::Float(0.25)).and(false);
            activation::samples::pairs(dtype).into_iter().map(with).collect()
        };
        samples
            .operator(LeakyReluBackward, FLOATS, slopes, |it| {
                let slope = activation::samples::real(it, "negative_slope")?;
                activation::samples::of_two(it, ["grad_output", "self"], |grad, x| {
                    if x > 0.0 { grad } else { slope * grad }
                })
            })
            .tolerance(2.0)
            .refuses("`negative_slope`", activation::samples::small_pair().and(-1).and(true));
        samples.rounds(LeakyReluBackward, Roundings::all(Rounding::Result(2)));
    }
}
