//! `aten::gt`: whether elements are larger.
//!
//! `out[i] = self[i] > other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and with NaN the answer is no.
//! - Aliasing: `gt_` writes `self`, in its dtype; `gt.out` writes `out`, of any dtype.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.gt, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::comparisons::gt::*;

/// The family of `aten::gt.Tensor`: its kind, shape rule and `out` rule.
pub const GT: Family<GtTensor> = Family::new(GtTensor, &kind::COMPARISON, comparison::of_ordered);

pub(super) fn register(library: &mut Library) {
    library
        .family(&GT)
        .cpu(cpu)
        .non_differentiable()
        .number(GtScalar, GtTensor)
        .number(GtInplaceScalar, GtInplaceTensor)
        .number(GtScalarOut, GtTensorOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Ordered by value => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (b.is_below(a)).into())
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        comparison::samples::collect(samples, (GtTensor, GtScalar), ORDERED, |a, b| {
            number::order(a, b).is_some_and(|order| order.is_gt())
        });
    }
}
