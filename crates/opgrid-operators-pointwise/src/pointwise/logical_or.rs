//! `aten::logical_or`: whether at least one of two elements is other than zero.
//!
//! `out[i] = (self[i] != 0) || (other[i] != 0)`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: any, each converted to bool by itself; the result is bool. NaN is other than zero.
//! - Aliasing: `logical_or_` writes `self`, in its dtype; `logical_or.out` writes `out`, of any dtype.
//! - Source: torch.logical_or, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::logical_or::*;

/// The family of `aten::logical_or`: its kind, shape rule and `out` rule.
pub const LOGICAL_OR: Family<LogicalOr> =
    Family::new(LogicalOr, &kind::POINTWISE_BINARY, pointwise::bool_binary);

pub(super) fn register(library: &mut Library) {
    library.family(&LOGICAL_OR).cpu(cpu).non_differentiable();
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    elementwise::binary::<Bool, Bool, Bool>(out, input, other, |a, b| (a.is_true() | b.is_true()).into())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.binary(LogicalOr, ANY, DTypeRule::Bool, |a, b| Scalar::Bool(a.to_bool() || b.to_bool()));
        samples.differs(LogicalOr, pointwise::samples::TRUTH_OF_WHOLE);
    }
}
