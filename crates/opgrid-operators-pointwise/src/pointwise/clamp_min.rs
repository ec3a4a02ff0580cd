//! `aten::clamp_min`: elements that are not below a bound.
//!
//! `out[i] = max(self[i], min)`
//!
//! - Shapes: that of `self`; a tensor as the bound broadcasts with it.
//! - Dtypes: a number as the bound takes part in promotion if `self` has no fractions, a tensor always.
//! - Values: NaN among elements or bounds gives NaN.
//! - Aliasing: `clamp_min_` writes `self`, the `out` overloads write `out`, which has the dtype of the result beside a number.
//! - Derivative: that of an element at the limit is zero where it is a number; a tensor shares it with the element.
//! - Errors: complex numbers; bools beside a bool number; a number beyond the range of the dtype.
//! - Source: torch.clamp, PyTorch 2.15.

use crate::kinds::clamp;
use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::clamp_min::*;

/// The family of `aten::clamp_min`: its kind, shape rule and `out` rule.
pub const CLAMP_MIN: Family<ClampMin> =
    Family::new(ClampMin, &kind::POINTWISE_UNARY, |input, bound| clamp::by_numbers(input, Some(bound), None))
        .same_dtype_out();

/// The family of `aten::clamp_min.Tensor`: its kind, shape rule and `out` rule.
pub const CLAMP_MIN_TENSOR: Family<ClampMinTensor> =
    Family::new(ClampMinTensor, &kind::POINTWISE_BINARY, |input, bound| {
        clamp::by_tensors(input, Some(bound), None)
    });

pub(super) fn register(library: &mut Library) {
    library
        .family(&CLAMP_MIN)
        .cpu(|input, bound, out| {
            let dtype = clamp::dtype_by_numbers(input, Some(bound), None)?;
            opgrid_kernels::clamp::by_numbers(out.array()?, input.source()?, dtype, Some(bound), None)
        })
        .derivative(|d, (input, min)| {
            d.by(input, [input], move |grad, [x]| derivatives::where_true(&x.gt(min)?, grad))
        });
    library
        .family(&CLAMP_MIN_TENSOR)
        .cpu(|input, bound, out| clamp::write_by_tensors(input, Some(bound), None, out))
        .derivative(|d, (input, min)| {
            d.by(input, [input, min], |grad, [x, min]| extremum::shared(grad, x, min, &x.lt(min)?))?;
            d.by(min, [input, min], |grad, [x, min]| extremum::shared(grad, min, x, &min.lt(x)?))
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        clamp::samples::by_numbers(samples, ClampMin, clamp::samples::one_number);
        clamp::samples::by_tensors(samples, ClampMinTensor, ORDERED, clamp::samples::one_tensor);
        samples.differs_as(
            ClampMin,
            &[departures::arithmetic::SIGN_OF_ZERO, pointwise::samples::NUMBER_IN_RANGE],
        );
    }
}
