//! `aten::signbit`: whether elements are negative, minus zero included.
//!
//! `out[i] = self[i] < 0 or self[i] is -0.0`
//!
//! - Shapes: that of `self`.
//! - Dtypes: any but complex ones; the result is bool. NaN has a sign, too.
//! - Aliasing: `signbit.out` writes `out`, a bool tensor.
//! - Errors: complex numbers.
//! - Source: torch.signbit, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;

pub use opgrid_tensor::ops::pointwise::signbit::*;

/// The family of `aten::signbit`: its kind, shape rule and `out` rule.
pub const SIGNBIT: Family<Signbit> =
    Family::new(Signbit, &kind::POINTWISE_UNARY, pointwise::bool_ordered_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&SIGNBIT).cpu(cpu);
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    match input.dtype() {
        dtype if dtype.is_floating_point() => with_dtype!(dtype, T: Float => {
            elementwise::unary::<Bool, T>(out, input, |a| a.is_sign_negative().into())
        }),
        dtype => with_dtype!(dtype, T: Ordered by value => {
            elementwise::unary::<Bool, T>(out, input, |a| a.is_below(Math::<T>::ZERO).into())
        }),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Signbit, ORDERED, DTypeRule::Bool, |x| match x {
            Scalar::Float(x) => Scalar::Bool(x.is_sign_negative()),
            x => Scalar::Bool(number::order(x, Scalar::Int(0)) == Some(std::cmp::Ordering::Less)),
        });
    }
}
