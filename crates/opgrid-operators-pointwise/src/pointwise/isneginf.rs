//! `aten::isneginf`: whether elements are infinite and negative.
//!
//! `out[i] = self[i] == -inf`
//!
//! - Shapes: that of `self`.
//! - Dtypes: any but complex ones; the result is bool, and false for all integers and bools.
//! - Aliasing: `isneginf.out` writes `out`, a bool tensor.
//! - Errors: complex numbers.
//! - Source: torch.isneginf, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::isneginf::*;

/// The family of `aten::isneginf`: its kind, shape rule and `out` rule.
pub const ISNEGINF: Family<Isneginf> =
    Family::new(Isneginf, &kind::POINTWISE_UNARY, pointwise::bool_ordered_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ISNEGINF).cpu(cpu);
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    match input.dtype() {
        dtype if dtype.is_floating_point() => with_dtype!(dtype, T: Float => {
            elementwise::unary::<Bool, T>(out, input, |a| (a == Math::<T>::NEG_INFINITY).into())
        }),
        _ => elementwise::fill_for(out, input, false),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Isneginf, ORDERED, DTypeRule::Bool, |x| {
            Scalar::Bool(x.to_complex().re == f64::NEG_INFINITY)
        });
    }
}
