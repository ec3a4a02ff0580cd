//! `aten::log_softmax`: the logarithm of softmax, without a loss of digits.
//!
//! `out[i] = self[i] - log(sum(e ^ self))`, with sums and `i` along dimension `dim`; the derivative is
//! `grad_output - e ^ output * sum(grad_output)`
//!
//! - Shapes: that of `self`; row-major.
//! - Dtypes: floating-point ones; 16-bit floats are computed in single precision. `log_softmax.int` converts to `dtype` first.
//! - Values: NaN for a line in which there is one, or +∞, or nothing but -∞.
//! - Aliasing: `_log_softmax.out`, `log_softmax.int_out` write `out`, `_log_softmax_backward_data.out`, too.
//! - Dispatch: `log_softmax.int` is made of `_log_softmax`, and `special_log_softmax` another name of it.
//! - Errors: other dtypes; a dimension out of range; `half_to_float`, which is for GPU kernels; a gradient of another
//!   shape or dtype than the result; an output of another dtype.
//! - Source: torch.log_softmax, PyTorch 2.15.

use crate::kinds::softmax;
use crate::prelude::*;
use opgrid_kernels::softmax as loops;

pub use opgrid_tensor::ops::softmaxes::log_softmax::*;

/// The family of `aten::_log_softmax`: its kind, shape rule and `out` rule.
pub const LOG_SOFTMAX: Family<LogSoftmax> =
    Family::new(LogSoftmax, &kind::SOFTMAX, softmax::along).same_dtype_out();

/// The family of `aten::_log_softmax_backward_data`: its kind, shape rule and `out` rule.
pub const LOG_SOFTMAX_BACKWARD_DATA: Family<LogSoftmaxBackwardData> =
    Family::new(LogSoftmaxBackwardData, &kind::SOFTMAX, softmax::backward).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&LOG_SOFTMAX)
        .cpu(|input, dim, _, out| {
            loops::softmax(out.array()?, input.array()?, softmax::dimension(input, dim)?, true)
        })
        .derivative(|d, (input, dim, _)| {
            let dtype = input.dtype();
            d.by(input, [d.result(0)], move |grad, [out]| LogSoftmaxBackwardData.call(grad, out, dim, dtype))
        });
    library
        .family(&LOG_SOFTMAX_BACKWARD_DATA)
        .cpu(|grad, output, dim, _, out| backward(grad, output, dim, out))
        .derivative(|d, (grad_output, output, dim, _)| {
            d.by(grad_output, [output], move |grad, [out]| {
                grad - (grad * out.exp()?)?.sum_dim(&[dim], true)?
            })?;
            d.by(output, [grad_output, output], move |grad, [before, out]| {
                (grad * out.exp()?)? * (-before.sum_dim(&[dim], true)?)?
            })
        });
    library
        .define_with_forms(LogSoftmaxInt, &kind::SOFTMAX)
        .implicit(|input, dim, dtype| LogSoftmax.call(&softmax::converted(input, dtype)?, dim, false));
    library
        .define(SpecialLogSoftmax)
        .kind(&kind::SOFTMAX)
        .implicit(|input, dim, dtype| LogSoftmaxInt.call(input, dim, dtype));
    library.implement(LogSoftmaxIntOut).composite(|input, dim, dtype, out| {
        LogSoftmaxOut.call(&softmax::converted(input, dtype)?, dim, false, out)
    });
}

fn backward(grad: &Tensor, output: &Tensor, dim: i64, out: &Tensor) -> Result<()> {
    loops::backward(out.array()?, grad.array()?, output.array()?, softmax::dimension(grad, dim)?, true)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let of_line = |x: &[f64]| {
            let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = x.iter().map(|x| (x - largest).exp()).sum();
            x.iter().map(|x| (x - largest) - sum.ln()).collect()
        };
        let derivative = |grad: &[f64], output: &[f64]| {
            let sum: f64 = grad.iter().sum();
            grad.iter().zip(output).map(|(grad, output)| grad - output.exp() * sum).collect()
        };
        softmax::samples::collect(
            samples,
            (LogSoftmax, LogSoftmaxBackwardData, LogSoftmaxInt),
            of_line,
            derivative,
        );
        let special = move |it: &Inputs| {
            let x = it.tensor("self")?;
            let dtype = it.option::<DType>("dtype")?.unwrap_or(x.dtype());
            let line = |x: &[Vec<Scalar>]| {
                let x: Vec<f64> = x[0].iter().map(|x| x.to_complex().re).collect();
                of_line(&x).into_iter().map(Scalar::Float).collect()
            };
            Ok(Plain::of_lines(&[&x.to(dtype)], it.value("dim")?, dtype, line).into())
        };
        let in_f64 = |dtype| {
            let samples = generate::along_dim(dtype).into_iter();
            samples.map(|sample| sample.named("dtype", DType::F64)).collect()
        };
        samples
            .operator_with(SpecialLogSoftmax, softmax::FLOATS, generate::along_dim, special)
            .tolerance(8.0);
        samples.operator_with(SpecialLogSoftmax, STORED, in_f64, special).tolerance(8.0);
        samples.rounds(SpecialLogSoftmax, Roundings::all(Rounding::Sum(8)));
        samples.differs(LogSoftmaxBackwardData, softmax::samples::BEYOND_ONE);
        samples.differs(
            LogSoftmaxBackwardData,
            Difference {
                id: "shapes-of-logarithms-are-checked",
                what: "torch reads results of `log_softmax` whose shape is not that of the gradient as \
                     far as they go, or out of bounds; here they are rejected, as in `softmax`",
                why: "memory that is not the result's must not be read",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("argument `output` has shape"),
                directed: None,
            },
        );
    }
}
