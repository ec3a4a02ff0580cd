//! `aten::leaky_relu`: a small slope for negative elements; and its slope.
//!
//! `out[i] = self[i] if self[i] > 0, negative_slope * self[i] otherwise`
//!
//! - Shapes: that of `self`; `leaky_relu_backward` broadcasts.
//! - Dtypes: floating-point ones; of `leaky_relu_backward` promoted.
//! - Aliasing: `leaky_relu_` writes `self`, `leaky_relu.out` writes `out`, which has the dtype of `self`.
//! - Errors: other dtypes; `leaky_relu_backward` of a result with a negative slope.
//! - Source: torch.nn.functional.leaky_relu, PyTorch 2.15.

use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// A small slope for negative elements.
    pub LeakyRelu = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", in_place, out, method;
    pub LeakyReluBackward = "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor", out("grad_input", grad_input);
}

/// Kind, shape rule and `out` rule, for everybody.
pub const LEAKY_RELU: Family<LeakyRelu> =
    Family::new(LeakyRelu, &kind::POINTWISE_UNARY, shape).same_dtype_out();

/// Kind, shape rule and `out` rule, for everybody.
pub const LEAKY_RELU_BACKWARD: Family<LeakyReluBackward> =
    Family::new(LeakyReluBackward, &kind::POINTWISE_BINARY, backward_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&LEAKY_RELU).cpu(cpu).derivative(|d, (input, slope)| {
        d.by(input, [input], move |grad, [x]| LeakyReluBackward.call(grad, x, slope, false))
    });
    library.family(&LEAKY_RELU_BACKWARD).cpu(backward_cpu).derivative(
        |d, (grad_output, input, slope, is_result)| {
            d.by(grad_output, [input], move |grad, [x]| LeakyReluBackward.call(grad, x, slope, is_result))?;
            d.by(input, [], |grad, []| derivatives::zeros(grad))
        },
    );
}

pub(super) fn samples(samples: &mut Samples) {
    samples
        .of(
            LeakyRelu,
            FLOATS,
            |dtype| activation::with_numbers(dtype, &[&[], &[0.5], &[-2.0]]),
            |it| {
                let slope = activation::real(it, "negative_slope")?;
                it.unary(DTypeRule::Promoted, |x| {
                    number::float_by(x, |x| if x > 0.0 { x } else { slope * x })
                })
            },
        )
        .tolerance(2.0);
    let slopes = |dtype| -> Vec<Sample> {
        let with = |sample: Sample| sample.and(Scalar::Float(0.25)).and(false);
        activation::pairs(dtype).into_iter().map(with).collect()
    };
    samples
        .of(LeakyReluBackward, FLOATS, slopes, |it| {
            let slope = activation::real(it, "negative_slope")?;
            activation::of_two(
                it,
                ["grad_output", "self"],
                |grad, x| if x > 0.0 { grad } else { slope * grad },
            )
        })
        .tolerance(2.0)
        .refuses("`negative_slope`", activation::small_pair().and(-1).and(true));
    samples.differs(LeakyRelu, pointwise::NUMBER_IN_RANGE);
    samples.rounds(LeakyRelu, Roundings::all(Rounding::Result(2)));
    samples.rounds(LeakyReluBackward, Roundings::all(Rounding::Result(2)));
}

fn shape(input: &Tensor, slope: Scalar) -> Result<TensorSpec> {
    let spec = pointwise::float_unary(input)?;
    with_dtype!(spec.dtype(), T: Float => arithmetic::element::<Math<T>>(slope).map(drop))?;
    Ok(spec)
}

fn backward_shape(grad: &Tensor, input: &Tensor, slope: Scalar, is_result: bool) -> Result<TensorSpec> {
    let spec = activation::slope(("grad_output", grad), ("self", input))?;
    with_dtype!(spec.dtype(), T: Float => arithmetic::element::<Math<T>>(slope).map(drop))?;
    if is_result && !(0.0..=f64::INFINITY).contains(&slope.to_complex().re) {
        return Err(argument(format!(
            "argument `negative_slope` is {slope}, with which results do not say on which side of zero elements were; \
             call `leaky_relu` instead of `leaky_relu_`"
        )));
    }
    Ok(spec)
}

fn cpu(input: &Tensor, slope: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        let slope = arithmetic::element::<Math<T>>(slope)?;
        elementwise::unary::<T, T>(out, input, move |x| if x > 0.0 { x } else { x * slope })
    })
}

fn backward_cpu(grad: &Tensor, input: &Tensor, slope: Scalar, _is_result: bool, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Float => {
        let slope = arithmetic::element::<Math<T>>(slope)?;
        elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
            if x > 0.0 { grad } else { grad * slope }
        })
    })
}
