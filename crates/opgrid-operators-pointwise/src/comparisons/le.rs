//! `aten::le`: whether elements are smaller or equal.
//!
//! `out[i] = self[i] <= other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and with NaN the answer is no.
//! - Aliasing: `le_` writes `self`, in its dtype; `le.out` writes `out`, of any dtype.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.le, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::comparisons::le::*;

/// The family of `aten::le.Tensor`: its kind, shape rule and `out` rule.
pub const LE: Family<LeTensor> = Family::new(LeTensor, &kind::COMPARISON, comparison::of_ordered);

pub(super) fn register(library: &mut Library) {
    library
        .family(&LE)
        .cpu(cpu)
        .non_differentiable()
        .number(LeScalar, LeTensor)
        .number(LeInplaceScalar, LeInplaceTensor)
        .number(LeScalarOut, LeTensorOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Ordered by value => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (a.is_at_most(b)).into())
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        comparison::samples::collect(samples, (LeTensor, LeScalar), ORDERED, |a, b| {
            number::order(a, b).is_some_and(|order| order.is_le())
        });
    }
}
