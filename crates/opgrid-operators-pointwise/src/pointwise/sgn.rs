//! `aten::sgn`: the number at distance one from zero in the direction of elements, or zero.
//!
//! `out[i] = self[i] / |self[i]|, which is 0 at 0`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`. As `sign` for all but complex numbers.
//! - Aliasing: `sgn_` writes `self`, `sgn.out` writes `out`, which has the dtype of `self`.
//! - Source: torch.sgn, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::math::Direction;

pub use opgrid_tensor::ops::pointwise::sgn::*;

/// The family of `aten::sgn`: its kind, shape rule and `out` rule.
pub const SGN: Family<Sgn> = Family::new(Sgn, &kind::POINTWISE_UNARY, pointwise::unary).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&SGN).cpu(cpu).derivative(|d, (input,)| d.by(input, [input, d.result(0)], gradient));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Any by value => elementwise::unary::<T, T>(out, input, Direction::direction))
}

/// The gradient, which turns a complex number around zero; the sign of a real one is a step.
fn gradient(grad: &Tensor, [x, out]: [&Tensor; 2]) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return derivatives::zeros(grad);
    }
    let distance = x.abs()?;
    let along = (grad * out.conj()?)?.real()?;
    derivatives::where_false(&distance.eq(0)?, &((grad - (out * along)?)? / &distance)?)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Sgn, ANY, DTypeRule::Promoted, number::direction).tolerance(4.0);
        samples.differs_as(
            Sgn,
            &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE, departures::math::IN_RANGE],
        );
        samples.rounds(Sgn, pointwise::samples::COMPLEX_ARITHMETIC);
    }
}
