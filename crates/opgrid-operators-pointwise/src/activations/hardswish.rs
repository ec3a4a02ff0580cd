//! `aten::hardswish`: elements times a logistic function of straight lines.
//!
//! `out[i] = self[i] * min(max(self[i] + 3, 0), 6) / 6`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point ones.
//! - Aliasing: `hardswish_` writes `self`, `hardswish.out` writes `out`, which has the dtype of `self`.
//! - Errors: other dtypes.
//! - Source: torch.nn.functional.hardswish, PyTorch 2.15; A. Howard et al., Searching for MobileNetV3 (2019).

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;
use opgrid_tensor::ops::WhereSelf;

pub use opgrid_tensor::ops::activations::hardswish::*;

/// The family of `aten::hardswish`: its kind, shape rule and `out` rule.
pub const HARDSWISH: Family<Hardswish> =
    Family::new(Hardswish, &kind::POINTWISE_UNARY, pointwise::float_unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&HARDSWISH).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| {
            let inner = (grad * ((x / 3)? + 0.5)?)?;
            let upper = WhereSelf.call(&x.lt(3)?, &inner, grad)?;
            derivatives::where_true(&x.gt(-3)?, &upper)
        })
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Float => {
        elementwise::unary::<T, T>(out, input, |x| x * ((x + 3.0).larger(0.0).smaller(6.0) / 6.0))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        activation::samples::collect(samples, Hardswish, |x| x * activation::samples::hardsigmoid(x))
            .tolerance(4.0);
        samples.rounds(Hardswish, Roundings::all(Rounding::Result(4)));
        samples.differs(Hardswish, activation::samples::HARDSWISH_IN_RANGE);
    }
}
