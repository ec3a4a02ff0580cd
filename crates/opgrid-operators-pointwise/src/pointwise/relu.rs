//! `aten::relu`: zero instead of negative numbers.
//!
//! `out[i] = max(self[i], 0)`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`. NaN stays NaN.
//! - Aliasing: `relu_` writes `self`, `relu.out` writes `out`.
//! - Errors: bools and complex numbers; an `out` of another dtype than `self`.
//! - Source: torch.relu, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::arithmetic::Ordered;
use opgrid_tensor::ops::ThresholdBackward;

pub use opgrid_tensor::ops::pointwise::relu::*;

/// The family of `aten::relu`: its kind, shape rule and `out` rule.
pub const RELU: Family<Relu> = Family::new(Relu, &kind::POINTWISE_UNARY, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&RELU).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [d.result(0)], |grad, [out]| ThresholdBackward.call(grad, out, Scalar::Int(0)))
    });
}

fn shape(input: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input)])?;
    pointwise::check_real(spec.dtype())?;
    Ok(spec)
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Real by value => {
        elementwise::unary::<T, T>(out, input, |a| if a.is_below(Math::<T>::ZERO) { Math::<T>::ZERO } else { a })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Relu, REAL, DTypeRule::Promoted, |x| {
            number::extremum(x, Scalar::Int(0), |order| order.is_lt())
        });
    }
}
