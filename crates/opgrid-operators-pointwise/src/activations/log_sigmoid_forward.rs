//! `aten::log_sigmoid_forward`, `aten::log_sigmoid_backward`: the logarithm of the logistic function with what its slope needs, and
//! the gradient.
//!
//! `output[i] = min(self[i], 0) - ln(1 + buffer[i])`, where `buffer[i] = e ^ -|self[i]|`;
//! `grad_input[i] = grad_output[i] / (1 + e ^ self[i])`
//!
//! - Shapes: that of `self`, for both; `grad_output`, `self` and a `buffer` with elements broadcast in the gradient.
//! - Values: the gradient does not look at `buffer`, which follows from `self`, and which other devices leave empty in torch.
//! - Dtypes: floating-point ones, one for all.
//! - Aliasing: `log_sigmoid_forward.output` writes `output` and `buffer`, which have the dtype of `self`;
//!   `log_sigmoid_backward.grad_input` writes `grad_input`.
//! - Derivative: the buffer is constant.
//! - Errors: other dtypes.
//! - Source: torch.ops.aten.log_sigmoid_forward, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::activations::log_sigmoid_forward::*;

/// The family of `aten::log_sigmoid_forward`: its kind, shape rule and `out` rule.
pub const LOG_SIGMOID_FORWARD: Family<LogSigmoidForward> =
    Family::new(LogSigmoidForward, &kind::POINTWISE_UNARY, |input| {
        let spec = pointwise::float_unary(input)?;
        Ok((spec.clone(), spec))
    });

/// The family of `aten::log_sigmoid_backward`: its kind, shape rule and `out` rule.
pub const LOG_SIGMOID_BACKWARD: Family<LogSigmoidBackward> =
    Family::new(LogSigmoidBackward, &kind::POINTWISE_TERNARY, |grad, input, buffer| {
        let spec = if buffer.spec()?.numel() == 0 {
            activation::slope(("grad_output", grad), ("self", input))?
        } else {
            pointwise::promoted([("grad_output", grad), ("self", input), ("buffer", buffer)])?
        };
        pointwise::check_float(spec.dtype())?;
        for argument in [("grad_output", grad), ("buffer", buffer)] {
            pointwise::check_one_dtype(("self", input), argument)?;
        }
        Ok(spec)
    });

pub(super) fn register(library: &mut Library) {
    library.family(&LOG_SIGMOID_FORWARD).cpu(cpu).derivative(|d, (input,)| {
        d.differentiable(1);
        d.by(input, [input, d.result(1)], |grad, [x, buffer]| LogSigmoidBackward.call(grad, x, buffer))
    });
    library.family(&LOG_SIGMOID_BACKWARD).cpu(backward).derivative(|d, (grad_output, input, buffer)| {
        d.by(grad_output, [input, buffer], |grad, [x, buffer]| LogSigmoidBackward.call(grad, x, buffer))?;
        d.by(input, [grad_output, input], |grad, [before, x]| {
            let gate = x.sigmoid()?;
            grad * (((&gate - 1)? * gate)? * before)?
        })
    });
    library.define(LogSigmoidForwardOutput).kind(&kind::POINTWISE_UNARY).on_every_backend(
        |input, out, buffer| {
            let (made, power) = LogSigmoidForward.call(input)?;
            result::same_dtype(out, made.spec()?)?;
            result::same_dtype(buffer, power.spec()?)?;
            result::converted(&[(out, &made), (buffer, &power)])
        },
    );
}

/// The buffer first: `self` may lie where the result does.
fn cpu(input: &Tensor, out: &Tensor, buffer: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        elementwise::unary::<T, T>(buffer, input, |x| Inexact::exp(-x.abs()))?;
        elementwise::binary::<T, T, T>(out, input, buffer, |x, power| {
            let below = if x > 0.0 { 0.0 } else { x };
            below - Functions::ln_1p(power)
        })
    })
}

fn backward(grad: &Tensor, input: &Tensor, _buffer: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        elementwise::binary::<T, T, T>(out, grad, input, |grad, x| grad * Inexact::sigmoid(-x))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let both = |it: &Inputs| {
            let of =
                |function: fn(f64) -> f64| it.unary(DTypeRule::Promoted, |x| number::float_by(x, function));
            Ok([of(number::log_sigmoid)?, of(|x| (-x.abs()).exp())?].into())
        };
        samples
            .operator(LogSigmoidForward, FLOATS, generate::unary, both)
            .tolerance(8.0)
            .constant(&["buffer"]);
        let with_outputs = |dtype| -> Vec<Sample> {
            let shapes: [&[i64]; 3] = [&[2, 3], &[], &[0]];
            let x = |sizes: &[i64], seed| generate::numbers(dtype, sizes, seed);
            let one =
                |sizes: &[i64]| given(x(sizes, 1)).named("output", x(sizes, 2)).named("buffer", x(sizes, 3));
            shapes.map(one).to_vec()
        };
        samples.operator(LogSigmoidForwardOutput, FLOATS, with_outputs, both).tolerance(8.0);
        samples.differs(LogSigmoidForward, activation::samples::LOG_SIGMOID_IN_ROWS);
        samples.rounds(LogSigmoidForward, pointwise::samples::ELEMENTARY);
        samples
            .operator(LogSigmoidBackward, FLOATS, gradients, |it| {
                activation::samples::of_two(it, ["grad_output", "self"], |grad, x| grad / (1.0 + x.exp()))
            })
            .tolerance(8.0)
            .constant(&["buffer"]);
        samples.rounds(LogSigmoidBackward, Roundings::all(Rounding::Result(4)));
        samples.differs(
            LogSigmoidBackward,
            Difference {
                id: "buffers-follow-from-their-inputs",
                what: "torch computes the gradient of `log_sigmoid` on the CPU from `buffer`, whatever it holds, and rejects the \
                     empty one of other devices; here the buffer is not read",
                why: "an argument that follows from another one cannot contradict it",
                test: (
                    "opgrid-operators/tests/all/differences/kernels.rs",
                    "saved_results_follow_from_the_inputs",
                ),
                when: |seen| {
                    let (x, buffer) = (seen.elements_of("self"), seen.elements_of("buffer"));
                    let is_its = |(x, buffer): (&Complex64, &Complex64)| {
                        (buffer.re - (-x.re.abs()).exp()).abs() <= 4e-3
                    };
                    let is_other = x.len() != buffer.len() || !x.iter().zip(&buffer).all(is_its);
                    is_other && (!seen.elements.is_empty() || seen.torch_refuses("must match the size"))
                },
                directed: None,
            },
        );
    }

    /// Gradients and elements with the buffers of these, or none.
    fn gradients(dtype: DType) -> Vec<Sample> {
        let buffer = |x: &Plain| {
            Plain::from_fn(x.dtype(), x.sizes(), |position| {
                number::float_by(x.at(position), |x| (-x.abs()).exp())
            })
        };
        let with = |sample: Sample| {
            let buffer = sample.positional[1].tensors().first().map(|x| buffer(x));
            sample.clone().and(buffer.unwrap_or(Plain::number(dtype, 0)))
        };
        let pairs = generate::of_one_dtype(activation::samples::pairs(dtype));
        let without = given(generate::numbers(dtype, &[2, 3], 1)).and(generate::numbers(dtype, &[3], 2));
        let without = without.and(Plain::from_elements::<i64>(dtype, &[0], &[]));
        pairs.into_iter().map(with).chain([without]).collect()
    }
}
