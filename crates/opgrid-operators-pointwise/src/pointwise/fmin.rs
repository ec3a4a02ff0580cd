//! `aten::fmin`: the smaller one of two elements, where a number wins over NaN.
//!
//! `out[i] = min(self[i], other[i])`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted. NaN only of two NaN.
//! - Aliasing: `fmin.out` writes `out`.
//! - Derivative: equal elements count as the first.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.fmin, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::pointwise::fmin::*;

/// The family of `aten::fmin`: its kind, shape rule and `out` rule.
pub const FMIN: Family<Fmin> = Family::new(Fmin, &kind::POINTWISE_BINARY, extremum::of_two);

pub(super) fn register(library: &mut Library) {
    library.family(&FMIN).cpu(cpu).derivative(|d, (input, other)| {
        d.by(input, [input, other], |grad, [a, b]| extremum::shared(grad, a, b, &is_second(a, b)?))?;
        d.by(other, [input, other], |grad, [a, b]| extremum::shared(grad, b, a, &is_first(a, b)?))
    });
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Ordered by value => elementwise::binary::<T, T, T>(out, input, other, Math::<T>::smaller_number))
}

/// Whether the second of two elements alone is chosen.
fn is_second(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    b.lt(a)?.logical_or(&a.isnan()?.logical_and(&b.eq(b)?)?)
}

/// Whether the first of two elements alone is chosen, as it is of two NaN.
fn is_first(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.lt(b)?.logical_or(&b.isnan()?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .binary(Fmin, ORDERED, DTypeRule::Promoted, |a, b| {
                if number::is_nan(a) {
                    b
                } else if number::is_nan(b) {
                    a
                } else {
                    number::extremum(a, b, |order| order.is_gt())
                }
            })
            .refuses("does not broadcast", generate::misfits());
        samples.differs(Fmin, departures::arithmetic::SIGN_OF_ZERO);
    }
}
