//! `aten::elu_backward`: the slope of `elu`, times what stands in front of it.
//!
//! `grad_input[i] = scale * grad_output[i] if self[i] > 0,`
//! `input_scale * scale * alpha * e ^ (input_scale * self[i]) * grad_output[i] otherwise`
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted, floating-point ones.
//! - Values: with `is_result`, `self_or_result` is what `elu` gave.
//! - Aliasing: `elu_backward.grad_input` writes `grad_input`.
//! - Errors: other dtypes; numbers beyond the range of the dtype; a result with a negative `alpha`.
//! - Source: torch.ops.aten.elu_backward, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::activations::elu_backward::*;

/// The family of `aten::elu_backward`: its kind, shape rule and `out` rule.
pub const ELU_BACKWARD: Family<EluBackward> = Family::new(EluBackward, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&ELU_BACKWARD).cpu(cpu).derivative(
        |d, (grad_output, alpha, scale, input_scale, is_result, x)| {
            d.by(grad_output, [x], move |grad, [x]| {
                EluBackward.call(grad, alpha, scale, input_scale, is_result, x)
            })?;
            d.by(x, [grad_output, x], move |grad, [before, x]| {
                let product = ((grad * before)? * input_scale)?;
                let curved = if is_result {
                    product
                } else {
                    EluBackward.call(&product, alpha, scale, input_scale, false, x)?
                };
                derivatives::where_true(&x.lt(0)?, &curved)
            })
        },
    );
}

fn shape(
    grad: &Tensor,
    alpha: Scalar,
    scale: Scalar,
    input_scale: Scalar,
    is_result: bool,
    input: &Tensor,
) -> Result<TensorSpec> {
    let spec = activation::slope(("grad_output", grad), ("self_or_result", input))?;
    let spec = activation::with_factors(spec, &[alpha, scale, input_scale])?;
    // A NaN is not positive either.
    if is_result && !alpha.to_complex().re.ge(&0.0) {
        return Err(argument(format!(
            "argument `alpha` is {alpha}, for which the gradient does not follow from the result; call \
             `elu` instead of `elu_`"
        )));
    }
    Ok(spec)
}

fn cpu(
    grad: &Tensor,
    alpha: Scalar,
    scale: Scalar,
    input_scale: Scalar,
    is_result: bool,
    input: &Tensor,
    out: &Tensor,
) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        let [alpha, scale, input_scale] = [alpha, scale, input_scale].map(arithmetic::element::<Math<T>>);
        let (alpha, scale, input_scale) = (alpha?, scale?, input_scale?);
        let factor = alpha * scale;
        if is_result {
            elementwise::binary::<T, T, T>(out, grad, input, move |grad, result| {
                if result <= 0.0 { grad * input_scale * (result + factor) } else { grad * scale }
            })
        } else {
            elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
                let below = grad * input_scale * factor * Inexact::exp(x * input_scale);
                if x <= 0.0 { below } else { grad * scale }
            })
        }
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let slopes = |dtype| -> Vec<Sample> {
            let with = |sample: Sample| {
                let mut tensors = sample.positional.into_iter();
                let grad = Sample { positional: tensors.by_ref().take(1).collect(), ..Sample::default() };
                let grad = grad.and(Scalar::Float(0.5)).and(2).and(Scalar::Float(0.25));
                let of = |is_result: bool| {
                    let mut sample = grad.clone().and(is_result);
                    sample.positional.extend(tensors.clone());
                    sample
                };
                [of(false), of(true)]
            };
            activation::samples::pairs(dtype).into_iter().flat_map(with).collect()
        };
        let x = || generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(EluBackward, FLOATS, slopes, |it| {
                let [alpha, scale, input_scale] = activation::samples::elu_numbers(it)?;
                let is_result: bool = it.value("is_result")?;
                activation::samples::of_two(it, ["grad_output", "self_or_result"], |grad, x| {
                    if x > 0.0 {
                        grad * scale
                    } else if is_result {
                        grad * input_scale * (x + alpha * scale)
                    } else {
                        grad * input_scale * alpha * scale * (x * input_scale).exp()
                    }
                })
            })
            .tolerance(8.0)
            .refuses("`alpha`", given(x()).and(-1).and(1).and(1).and(true).and(x()));
        samples.differs(EluBackward, activation::samples::AT_NAN);
        samples.rounds(EluBackward, Roundings::all(Rounding::Sum(32)));
    }
}
