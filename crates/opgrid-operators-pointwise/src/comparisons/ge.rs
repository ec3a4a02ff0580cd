//! `aten::ge`: whether elements are larger or equal.
//!
//! `out[i] = self[i] >= other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and with NaN the answer is no.
//! - Aliasing: `ge_` writes `self`, in its dtype; `ge.out` writes `out`, of any dtype.
//! - Errors: complex numbers, which have no order.
//! - Source: torch.ge, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::comparisons::ge::*;

/// The family of `aten::ge.Tensor`: its kind, shape rule and `out` rule.
pub const GE: Family<GeTensor> = Family::new(GeTensor, &kind::COMPARISON, comparison::of_ordered);

pub(super) fn register(library: &mut Library) {
    library
        .family(&GE)
        .cpu(cpu)
        .non_differentiable()
        .number(GeScalar, GeTensor)
        .number(GeInplaceScalar, GeInplaceTensor)
        .number(GeScalarOut, GeTensorOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Ordered by value => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (b.is_at_most(a)).into())
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        comparison::samples::collect(samples, (GeTensor, GeScalar), ORDERED, |a, b| {
            number::order(a, b).is_some_and(|order| order.is_ge())
        });
    }
}
