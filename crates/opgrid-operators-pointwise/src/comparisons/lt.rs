//! `aten::lt`: whether elements are smaller.
//!
//! `out[i] = self[i] < other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and with NaN the answer is no.
//! - Aliasing: `lt_` writes `self`, in its dtype; `lt.out` writes `out`, of any dtype.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.lt, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::comparisons::lt::*;

/// The family of `aten::lt.Tensor`: its kind, shape rule and `out` rule.
pub const LT: Family<LtTensor> = Family::new(LtTensor, &kind::COMPARISON, comparison::of_ordered);

pub(super) fn register(library: &mut Library) {
    library
        .family(&LT)
        .cpu(cpu)
        .non_differentiable()
        .number(LtScalar, LtTensor)
        .number(LtInplaceScalar, LtInplaceTensor)
        .number(LtScalarOut, LtTensorOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Ordered by value => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (a.is_below(b)).into())
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        comparison::samples::collect(samples, (LtTensor, LtScalar), ORDERED, |a, b| {
            number::order(a, b).is_some_and(|order| order.is_lt())
        });
    }
}
