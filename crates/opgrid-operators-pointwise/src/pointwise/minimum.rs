//! `aten::minimum`: the smaller one of two elements.
//!
//! `out[i] = min(self[i], other[i])`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted. NaN wins over every number.
//! - Aliasing: `minimum.out` writes `out`.
//! - Derivative: equal elements share the gradient.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.minimum, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::pointwise::minimum::*;

/// The family of `aten::minimum`: its kind, shape rule and `out` rule.
pub const MINIMUM: Family<Minimum> = Family::new(Minimum, &kind::POINTWISE_BINARY, extremum::of_two);

pub(super) fn register(library: &mut Library) {
    library.family(&MINIMUM).cpu(cpu).derivative(|d, (input, other)| {
        d.by(input, [input, other], |grad, [a, b]| extremum::shared(grad, a, b, &a.gt(b)?))?;
        d.by(other, [other, input], |grad, [a, b]| extremum::shared(grad, a, b, &a.gt(b)?))
    });
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Ordered by value => elementwise::binary::<T, T, T>(out, input, other, Math::<T>::smaller))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        extremum::samples::of_two(samples, Minimum, |order| order.is_gt());
    }
}
