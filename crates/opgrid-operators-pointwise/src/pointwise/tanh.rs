//! `aten::tanh`: the hyperbolic tangent.
//!
//! `out[i] = (e ^ self[i] - e ^ -self[i]) / (e ^ self[i] + e ^ -self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Aliasing: `tanh_` writes `self`, `tanh.out` writes `out`.
//! - Errors: `tanh_` of integers and bools.
//! - Source: torch.tanh, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::ops::TanhBackward;

pub use opgrid_tensor::ops::pointwise::tanh::*;

/// The family of `aten::tanh`: its kind, shape rule and `out` rule.
pub const TANH: Family<Tanh> = Family::new(Tanh, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&TANH)
        .cpu(cpu)
        .derivative(|d, (input,)| d.by(input, [d.result(0)], |grad, [out]| TanhBackward.call(grad, out)));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, math::HyperbolicTangent))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Tanh, f64::tanh, complex).tolerance(8.0);
        samples.differs(Tanh, departures::math::NOT_FINITE);
        // Polynomials here, vector libraries there: one or two units in the last place each.
        samples.rounds(Tanh, Roundings::all(Rounding::Result(4)));
    }

    /// Real numbers stay real, NaN as well.
    fn complex(x: Complex64) -> Complex64 {
        if x.im == 0.0 { Complex64::new(x.re.tanh(), x.im) } else { x.tanh() }
    }
}
