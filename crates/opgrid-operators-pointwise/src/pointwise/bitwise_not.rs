//! `aten::bitwise_not`: the other bits.
//!
//! `out[i] = ~self[i]`
//!
//! - Shapes: that of `self`.
//! - Dtypes: integers and bools, which are one bit.
//! - Aliasing: `bitwise_not_` writes `self`, `bitwise_not.out` writes `out`, which has the dtype of `self`.
//! - Errors: floating-point and complex numbers.
//! - Source: torch.bitwise_not, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::bits::Bits;

pub use opgrid_tensor::ops::pointwise::bitwise_not::*;

/// The family of `aten::bitwise_not`: its kind, shape rule and `out` rule.
pub const BITWISE_NOT: Family<BitwiseNot> =
    Family::new(BitwiseNot, &kind::POINTWISE_UNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&BITWISE_NOT).cpu(cpu);
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    pointwise::check_integral(input.spec()?.dtype())?;
    pointwise::promoted([("self", input)])
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Integral by bits => elementwise::unary::<T, T>(out, input, Bits::inverted))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(BitwiseNot, INTEGRAL, DTypeRule::Promoted, |x| match x {
            Scalar::Bool(x) => Scalar::Bool(!x),
            x => Scalar::Int(-1 - number::whole(x)),
        });
    }
}
