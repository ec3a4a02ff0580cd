//! `aten::logical_not`: whether elements are zero.
//!
//! `out[i] = self[i] == 0`
//!
//! - Shapes: that of `self`.
//! - Dtypes: any; the result is bool. NaN is other than zero.
//! - Aliasing: `logical_not_` writes `self`, in its dtype; `logical_not.out` writes `out`, of any dtype.
//! - Source: torch.logical_not, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::logical_not::*;

/// The family of `aten::logical_not`: its kind, shape rule and `out` rule.
pub const LOGICAL_NOT: Family<LogicalNot> =
    Family::new(LogicalNot, &kind::POINTWISE_UNARY, pointwise::bool_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&LOGICAL_NOT).cpu(cpu).non_differentiable();
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    elementwise::unary::<Bool, Bool>(out, input, |a| (!a.is_true()).into())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(LogicalNot, ANY, DTypeRule::Bool, |x| Scalar::Bool(!x.to_bool()));
    }
}
