//! `aten::eq`: whether elements are equal.
//!
//! `out[i] = self[i] == other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool. NaN equals nothing.
//! - Aliasing: `eq_` writes `self`, in its dtype; `eq.out` writes `out`, of any dtype.
//! - Source: torch.eq, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::comparisons::eq::*;

/// The family of `aten::eq.Tensor`: its kind, shape rule and `out` rule.
pub const EQ: Family<EqTensor> = Family::new(EqTensor, &kind::COMPARISON, pointwise::bool_binary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&EQ)
        .cpu(cpu)
        .non_differentiable()
        .number(EqScalar, EqTensor)
        .number(EqInplaceScalar, EqInplaceTensor)
        .number(EqScalarOut, EqTensorOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Stored => elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (a == b).into()))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        comparison::samples::collect(samples, (EqTensor, EqScalar), STORED, number::same);
    }
}
