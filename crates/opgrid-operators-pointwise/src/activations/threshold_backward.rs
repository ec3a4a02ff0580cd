//! `aten::threshold_backward`: the slope of `threshold`, times what stands in front of it.
//!
//! `grad_input[i] = 0 if self[i] <= threshold, grad_output[i] otherwise`
//!
//! - Shapes: both broadcast.
//! - Dtypes: promoted, integers or floats.
//! - Aliasing: `threshold_backward.grad_input` writes `grad_input`.
//! - Errors: bools and complex numbers; a number beyond the range of the dtype.
//! - Source: torch.ops.aten.threshold_backward, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::activations::threshold_backward::*;

/// The family of `aten::threshold_backward`: its kind, shape rule and `out` rule.
pub const THRESHOLD_BACKWARD: Family<ThresholdBackward> =
    Family::new(ThresholdBackward, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&THRESHOLD_BACKWARD).cpu(cpu).derivative(|d, (grad_output, input, threshold)| {
        d.by(grad_output, [input], move |grad, [x]| ThresholdBackward.call(grad, x, threshold))?;
        d.by(input, [], |grad, []| derivatives::zeros(grad))
    });
}

fn shape(grad: &Tensor, input: &Tensor, threshold: Scalar) -> Result<TensorSpec> {
    pointwise::real_with_numbers(pointwise::promoted([("grad_output", grad), ("self", input)])?, &[threshold])
}

fn cpu(grad: &Tensor, input: &Tensor, threshold: Scalar, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[grad, input])?;
    with_dtype!(dtype, T: Real by value => {
        let threshold = arithmetic::element_for::<Math<T>>(threshold, dtype)?;
        elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
            if x.is_at_most(threshold) { Math::<T>::ZERO } else { grad }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let slopes = |dtype| -> Vec<Sample> {
            let pairs = generate::computed_in(REAL, dtype, generate::pairs_to_divide(dtype));
            pairs.into_iter().map(|sample| sample.and(1)).collect()
        };
        samples.operator(ThresholdBackward, REAL, slopes, |it| {
            let threshold = activation::samples::real(it, "threshold")?;
            it.binary(
                DTypeRule::Promoted,
                |grad, x| {
                    if x.to_complex().re <= threshold { Scalar::Int(0) } else { grad }
                },
            )
        });
        samples.differs(ThresholdBackward, pointwise::samples::NUMBER_IN_RANGE);
    }
}
