//! `aten::isnan`: whether elements are NaN.
//!
//! `out[i] = self[i] != self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: any; the result is bool. A complex number is NaN if one of its parts is.
//! - Aliasing: `isnan.out` writes `out`, a bool tensor.
//! - Source: torch.isnan, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::isnan::*;

/// The family of `aten::isnan`: its kind, shape rule and `out` rule.
pub const ISNAN: Family<Isnan> =
    Family::new(Isnan, &kind::POINTWISE_UNARY, pointwise::bool_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ISNAN).cpu(cpu);
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = input.dtype();
    if dtype.is_floating_point() || dtype.is_complex() {
        return with_dtype!(dtype, T: Inexact => {
            #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
            elementwise::unary::<Bool, T>(out, input, |a| (a != a).into())
        });
    }
    elementwise::fill_for(out, input, false)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Isnan, ANY, DTypeRule::Bool, |x| Scalar::Bool(number::is_nan(x)));
    }
}
