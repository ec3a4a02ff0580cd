//! `aten::ne`: whether elements differ.
//!
//! `out[i] = self[i] != other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: compared in the promoted dtype; the result is bool, and NaN differs from everything, itself too.
//! - Aliasing: `ne_` writes `self`, in its dtype; `ne.out` writes `out`, of any dtype.
//! - Source: torch.ne, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::comparisons::ne::*;

/// The family of `aten::ne.Tensor`: its kind, shape rule and `out` rule.
pub const NE: Family<NeTensor> = Family::new(NeTensor, &kind::COMPARISON, pointwise::bool_binary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&NE)
        .cpu(cpu)
        .non_differentiable()
        .number(NeScalar, NeTensor)
        .number(NeInplaceScalar, NeInplaceTensor)
        .number(NeScalarOut, NeTensorOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Stored => {
        elementwise::binary::<Bool, T, T>(out, input, other, |a, b| (a != b).into())
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        comparison::samples::collect(samples, (NeTensor, NeScalar), STORED, |a, b| !number::same(a, b));
    }
}
