//! `aten::threshold`: a number instead of elements that are not above another one.
//!
//! `out[i] = self[i] if self[i] > threshold, value otherwise`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`, integers or floats. NaN stays NaN. `threshold` keeps its digits beside 16-bit floats.
//! - Aliasing: `threshold_` writes `self`, `threshold.out` writes `out`.
//! - Errors: bools and complex numbers; numbers beyond the range of the dtype.
//! - Source: torch.nn.functional.threshold, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;
use opgrid_tensor::ops::ThresholdBackward;
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::activations::threshold::*;

/// The family of `aten::threshold`: its kind, shape rule and `out` rule.
pub const THRESHOLD: Family<Threshold> = Family::new(Threshold, &kind::POINTWISE_UNARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&THRESHOLD).cpu(cpu).derivative(|d, (input, threshold, _)| {
        d.by(input, [input], move |grad, [x]| ThresholdBackward.call(grad, x, threshold))
    });
}

fn shape(input: &Tensor, threshold: Scalar, value: Scalar) -> Result<TensorSpec> {
    pointwise::real_with_numbers(pointwise::unary(input)?, &[threshold, value])
}

fn cpu(input: &Tensor, threshold: Scalar, value: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Real by value => {
        let (threshold, value) = (arithmetic::element_for::<Math<T>>(threshold, input.dtype())?, arithmetic::element_for::<T>(value, input.dtype())?.widen());
        elementwise::unary::<T, T>(out, input, move |x| if x.is_at_most(threshold) { value } else { x })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| -> Vec<Sample> {
            generate::unary(dtype).into_iter().map(|sample| sample.and(1).and(7)).collect()
        };
        samples
            .operator(Threshold, REAL, inputs, |it| {
                let (threshold, value): (f64, Scalar) =
                    (activation::samples::real(it, "threshold")?, it.value("value")?);
                it.unary(DTypeRule::Promoted, |x| if x.to_complex().re <= threshold { value } else { x })
            })
            .refuses("without overflow", given(generate::numbers(DType::U8, &[2], 0)).and(1).and(300));
        samples.differs(Threshold, pointwise::samples::NUMBER_IN_RANGE);
    }
}
