//! `aten::log_sigmoid_forward`: the logarithm of the logistic function, and what its slope needs.
//!
//! `output[i] = min(self[i], 0) - ln(1 + buffer[i])`, where `buffer[i] = e ^ -|self[i]|`
//!
//! - Shapes: that of `self`, for both.
//! - Dtypes: floating-point ones.
//! - Aliasing: `log_sigmoid_forward.output` writes `output` and `buffer`, which have the dtype of `self`.
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

pub(super) fn register(library: &mut Library) {
    library.family(&LOG_SIGMOID_FORWARD).cpu(cpu).derivative(|d, (input,)| {
        d.differentiable(1);
        d.by(input, [input], |grad, [x]| grad * (-x)?.sigmoid()?)
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
    }
}
