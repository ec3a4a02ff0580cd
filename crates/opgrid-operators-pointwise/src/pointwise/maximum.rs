//! `aten::maximum`: the larger one of two elements.
//!
//! `out[i] = max(self[i], other[i])`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted. NaN wins over every number.
//! - Aliasing: `maximum.out` writes `out`.
//! - Derivative: equal elements share the gradient.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.maximum, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::pointwise::maximum::*;

/// The family of `aten::maximum`: its kind, shape rule and `out` rule.
pub const MAXIMUM: Family<Maximum> = Family::new(Maximum, &kind::POINTWISE_BINARY, extremum::of_two);

pub(super) fn register(library: &mut Library) {
    library.family(&MAXIMUM).cpu(cpu).derivative(|d, (input, other)| {
        d.by(input, [input, other], |grad, [a, b]| extremum::shared(grad, a, b, &a.lt(b)?))?;
        d.by(other, [other, input], |grad, [a, b]| extremum::shared(grad, a, b, &a.lt(b)?))
    });
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Ordered by value => elementwise::binary::<T, T, T>(out, input, other, Math::<T>::larger))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        extremum::samples::of_two(samples, Maximum, |order| order.is_lt());
    }
}
