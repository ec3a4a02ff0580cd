//! `aten::clamp_max`: elements that are not above a bound.
//!
//! `out[i] = min(self[i], max)`
//!
//! - Shapes: that of `self`; a tensor as the bound broadcasts with it.
//! - Dtypes: a number as the bound takes part in promotion if `self` has no fractions, a tensor always.
//! - Values: NaN among elements or bounds gives NaN.
//! - Aliasing: `clamp_max_` writes `self`, the `out` overloads write `out`, which has the dtype of the result beside a number.
//! - Derivative: that of an element at the limit is zero where it is a number; a tensor shares it with the element.
//! - Errors: complex numbers; bools beside a bool number; a number beyond the range of the dtype.
//! - Source: torch.clamp, PyTorch 2.15.

use crate::kinds::clamp;
use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::clamp_max::*;

/// The family of `aten::clamp_max`: its kind, shape rule and `out` rule.
pub const CLAMP_MAX: Family<ClampMax> =
    Family::new(ClampMax, &kind::POINTWISE_UNARY, |input, bound| clamp::by_numbers(input, None, Some(bound)))
        .same_dtype_out();

/// The family of `aten::clamp_max.Tensor`: its kind, shape rule and `out` rule.
pub const CLAMP_MAX_TENSOR: Family<ClampMaxTensor> =
    Family::new(ClampMaxTensor, &kind::POINTWISE_BINARY, |input, bound| {
        clamp::by_tensors(input, None, Some(bound))
    });

pub(super) fn register(library: &mut Library) {
    library
        .family(&CLAMP_MAX)
        .cpu(|input, bound, out| {
            let dtype = clamp::dtype_by_numbers(input, None, Some(bound))?;
            opgrid_kernels::clamp::by_numbers(out.array()?, input.source()?, dtype, None, Some(bound))
        })
        .derivative(|d, (input, max)| {
            d.by(input, [input], move |grad, [x]| derivatives::where_true(&x.lt(max)?, grad))
        });
    library
        .family(&CLAMP_MAX_TENSOR)
        .cpu(|input, bound, out| clamp::write_by_tensors(input, None, Some(bound), out))
        .derivative(|d, (input, max)| {
            d.by(input, [input, max], |grad, [x, max]| extremum::shared(grad, x, max, &x.gt(max)?))?;
            d.by(max, [input, max], |grad, [x, max]| extremum::shared(grad, max, x, &max.gt(x)?))
        });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        clamp::samples::by_numbers(samples, ClampMax, clamp::samples::one_number);
        clamp::samples::by_tensors(samples, ClampMaxTensor, ORDERED, clamp::samples::one_tensor);
        samples.differs_as(
            ClampMax,
            &[departures::arithmetic::SIGN_OF_ZERO, pointwise::samples::NUMBER_IN_RANGE],
        );
    }
}
