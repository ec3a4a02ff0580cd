//! `aten::isposinf`: whether elements are infinite and positive.
//!
//! `out[i] = self[i] == inf`
//!
//! - Shapes: that of `self`.
//! - Dtypes: any but complex ones; the result is bool, and false for all integers and bools.
//! - Aliasing: `isposinf.out` writes `out`, a bool tensor.
//! - Errors: complex numbers.
//! - Source: torch.isposinf, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::isposinf::*;

/// The family of `aten::isposinf`: its kind, shape rule and `out` rule.
pub const ISPOSINF: Family<Isposinf> =
    Family::new(Isposinf, &kind::POINTWISE_UNARY, pointwise::bool_ordered_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&ISPOSINF).cpu(cpu);
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    match input.dtype() {
        dtype if dtype.is_floating_point() => with_dtype!(dtype, T: Float => {
            elementwise::unary::<Bool, T>(out, input, |a| (a == Math::<T>::INFINITY).into())
        }),
        _ => elementwise::fill_for(out, input, false),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .unary(Isposinf, ORDERED, DTypeRule::Bool, |x| Scalar::Bool(x.to_complex().re == f64::INFINITY));
    }
}
