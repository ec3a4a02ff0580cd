//! `aten::threshold`: a number instead of elements that are not above another one; and its slope.
//!
//! `out[i] = self[i] if self[i] > threshold, value otherwise`
//!
//! - Shapes: that of `self`; `threshold_backward` broadcasts.
//! - Dtypes: that of `self`, integers or floats; of `threshold_backward` promoted. NaN stays NaN. `threshold` keeps its digits
//!   beside 16-bit floats.
//! - Aliasing: `threshold_` writes `self`, `threshold.out` writes `out`.
//! - Errors: bools and complex numbers; numbers beyond the range of the dtype.
//! - Source: torch.nn.functional.threshold, PyTorch 2.15.

use crate::kernels::arithmetic::Ordered;
use crate::ops::prelude::*;
use crate::tensor::Element;

operator! {
    home = crate::home_of(register);
    /// A number instead of elements that are not above another one.
    pub Threshold = "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", in_place, out, method;
    pub ThresholdBackward = "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", out("grad_input", grad_input);
}

/// Kind, shape rule and `out` rule, for everybody.
pub const THRESHOLD: Family<Threshold> = Family::new(Threshold, &kind::POINTWISE_UNARY, shape);

/// Kind, shape rule and `out` rule, for everybody.
pub const THRESHOLD_BACKWARD: Family<ThresholdBackward> =
    Family::new(ThresholdBackward, &kind::POINTWISE_BINARY, backward_shape);

pub(super) fn register(library: &mut Library) {
    library.family(&THRESHOLD).cpu(cpu).derivative(|d, (input, threshold, _)| {
        d.by(input, [input], move |grad, [x]| ThresholdBackward.call(grad, x, threshold))
    });
    library.family(&THRESHOLD_BACKWARD).cpu(backward_cpu).derivative(|d, (grad_output, input, threshold)| {
        d.by(grad_output, [input], move |grad, [x]| ThresholdBackward.call(grad, x, threshold))?;
        d.by(input, [], |grad, []| derivatives::zeros(grad))
    });
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| -> Vec<Sample> {
        make::unary(dtype).into_iter().map(|sample| sample.and(1).and(7)).collect()
    };
    samples
        .of(Threshold, REAL, inputs, |it| {
            let (threshold, value): (f64, Scalar) = (activation::real(it, "threshold")?, it.value("value")?);
            it.unary(DTypeRule::Promoted, |x| if x.to_complex().re <= threshold { value } else { x })
        })
        .refuses("without overflow", given(make::numbers(DType::U8, &[2], 0)).and(1).and(300));
    let slopes = |dtype| -> Vec<Sample> {
        let pairs = make::computed_in(REAL, dtype, make::pairs_to_divide(dtype));
        pairs.into_iter().map(|sample| sample.and(1)).collect()
    };
    samples.of(ThresholdBackward, REAL, slopes, |it| {
        let threshold = activation::real(it, "threshold")?;
        it.binary(
            DTypeRule::Promoted,
            |grad, x| {
                if x.to_complex().re <= threshold { Scalar::Int(0) } else { grad }
            },
        )
    });
    samples.differs(Threshold, pointwise::NUMBER_IN_RANGE);
    samples.differs(ThresholdBackward, pointwise::NUMBER_IN_RANGE);
}

/// # Errors
///
/// Numbers beyond the range of the dtype, which has integers or floats.
fn check(spec: TensorSpec, numbers: &[Scalar]) -> Result<TensorSpec> {
    pointwise::check_real(spec.dtype())?;
    for number in numbers {
        with_dtype!(spec.dtype(), T: Real => arithmetic::element::<T>(*number).map(drop))?;
    }
    Ok(spec)
}

fn shape(input: &Tensor, threshold: Scalar, value: Scalar) -> Result<TensorSpec> {
    check(pointwise::promoted([("self", input)])?, &[threshold, value])
}

fn backward_shape(grad: &Tensor, input: &Tensor, threshold: Scalar) -> Result<TensorSpec> {
    check(pointwise::promoted([("grad_output", grad), ("self", input)])?, &[threshold])
}

fn cpu(input: &Tensor, threshold: Scalar, value: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Real => {
        let (threshold, value) = (arithmetic::element::<Math<T>>(threshold)?, arithmetic::element::<T>(value)?.widen());
        elementwise::unary::<T, T>(out, input, move |x| if x.is_at_most(threshold) { value } else { x })
    })
}

fn backward_cpu(grad: &Tensor, input: &Tensor, threshold: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(result_type(&[grad, input])?, T: Real => {
        let threshold = arithmetic::element::<Math<T>>(threshold)?;
        elementwise::binary::<T, T, T>(out, grad, input, move |grad, x| {
            if x.is_at_most(threshold) { Math::<T>::ZERO } else { grad }
        })
    })
}
