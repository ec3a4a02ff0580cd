//! `aten::softmax`: weights that add up to one, exponentials divided by their sum.
//!
//! `out[i] = e ^ self[i] / sum(e ^ self)`, with sums and `i` along dimension `dim`; the derivative is
//! `output * (grad_output - sum(grad_output * output))`
//!
//! - Shapes: that of `self`; row-major.
//! - Dtypes: floating-point ones; 16-bit floats are computed in single precision. `softmax.int` converts to `dtype` first.
//! - Values: NaN for a line in which there is one, or +∞, or nothing but -∞.
//! - Aliasing: `_softmax.out`, `softmax.int_out` write `out`, and `_softmax_backward_data.out` writes `grad_input`.
//! - Dispatch: `softmax.int` is made of `_softmax`, and `special_softmax` another name of it.
//! - Errors: other dtypes; a dimension out of range; `half_to_float`, which is for GPU kernels; a gradient of another
//!   shape or dtype than the result; an output of another dtype.
//! - Source: torch.softmax, PyTorch 2.15.

use crate::kinds::softmax;
use crate::prelude::*;
use opgrid_kernels::softmax as loops;

pub use opgrid_tensor::ops::softmaxes::softmax::*;

/// The family of `aten::_softmax`: its kind, shape rule and `out` rule.
pub const SOFTMAX: Family<Softmax> = Family::new(Softmax, &kind::SOFTMAX, softmax::along).same_dtype_out();

/// The family of `aten::_softmax_backward_data`: its kind, shape rule and `out` rule.
pub const SOFTMAX_BACKWARD_DATA: Family<SoftmaxBackwardData> =
    Family::new(SoftmaxBackwardData, &kind::SOFTMAX, softmax::backward).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&SOFTMAX)
        .cpu(|input, dim, _, out| {
            loops::softmax(out.array()?, input.array()?, softmax::dimension(input, dim)?, false)
        })
        .derivative(|d, (input, dim, _)| {
            let dtype = input.dtype();
            d.by(input, [d.result(0)], move |grad, [out]| SoftmaxBackwardData.call(grad, out, dim, dtype))
        });
    library
        .family(&SOFTMAX_BACKWARD_DATA)
        .cpu(|grad, output, dim, _, out| backward(grad, output, dim, out))
        .derivative(|d, (grad_output, output, dim, dtype)| {
            d.by(grad_output, [output], move |grad, [out]| SoftmaxBackwardData.call(grad, out, dim, dtype))?;
            d.by(output, [grad_output, output], move |grad, [before, out]| {
                let first = (before * (out * grad)?.sum_dim(&[dim], true)?)?;
                let second = (grad * (out * before)?.sum_dim(&[dim], true)?)?;
                ((grad * before)? - first)? - second
            })
        });
    library
        .define_with_forms(SoftmaxInt, &kind::SOFTMAX)
        .implicit(|input, dim, dtype| Softmax.call(&softmax::converted(input, dtype)?, dim, false));
    library
        .define(SpecialSoftmax)
        .kind(&kind::SOFTMAX)
        .implicit(|input, dim, dtype| SoftmaxInt.call(input, dim, dtype));
    library.implement(SoftmaxIntOut).composite(|input, dim, dtype, out| {
        SoftmaxOut.call(&softmax::converted(input, dtype)?, dim, false, out)
    });
}

fn backward(grad: &Tensor, output: &Tensor, dim: i64, out: &Tensor) -> Result<()> {
    loops::backward(out.array()?, grad.array()?, output.array()?, softmax::dimension(grad, dim)?, false)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let of_line = |x: &[f64]| {
            let sum: f64 = x.iter().map(|x| x.exp()).sum();
            x.iter().map(|x| x.exp() / sum).collect()
        };
        let derivative = |grad: &[f64], output: &[f64]| {
            let sum: f64 = grad.iter().zip(output).map(|(grad, output)| grad * output).sum();
            grad.iter().zip(output).map(|(grad, output)| output * (grad - sum)).collect()
        };
        softmax::samples::collect(samples, (Softmax, SoftmaxBackwardData, SoftmaxInt), of_line, derivative);
        samples.alias(SpecialSoftmax, SoftmaxInt);
        samples.differs(SoftmaxBackwardData, softmax::samples::BEYOND_ONE);
    }
}
