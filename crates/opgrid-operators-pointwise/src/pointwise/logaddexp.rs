//! `aten::logaddexp`: the logarithm of a sum of exponential functions.
//!
//! `out[i] = log(e ^ self[i] + e ^ other[i])` to base e
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; floating-point and complex numbers.
//! - Values: the larger one, and the logarithm of what the other one adds, so that nothing overflows.
//! - Aliasing: `logaddexp.out` writes `out`.
//! - Errors: integers and bools.
//! - Source: torch.logaddexp, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::logaddexp::*;

/// The family of `aten::logaddexp`: its kind, shape rule and `out` rule.
pub const LOGADDEXP: Family<Logaddexp> = Family::new(Logaddexp, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&LOGADDEXP).cpu(cpu).derivative(|d, (input, other)| {
        d.by(input, [input, other], |grad, [a, b]| derivatives::divided(grad, &((b - a)?.exp()? + 1)?))?;
        d.by(other, [input, other], |grad, [a, b]| derivatives::divided(grad, &((a - b)?.exp()? + 1)?))
    });
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_inexact(spec.dtype()).map(|()| spec)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Inexact => elementwise::binary_by::<T, T, T>(out, input, other, functions::LogarithmOfSum))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::computed_in(INEXACT, dtype, generate::pairs(dtype));
        samples
            .operator(Logaddexp, INEXACT, inputs, |it| it.binary(DTypeRule::Promoted, reference))
            .tolerance(8.0);
        samples.differs_as(Logaddexp, &[departures::math::NOT_FINITE, departures::math::IN_RANGE]);
        // The larger number and the logarithm cancel at the zeros.
        samples.rounds(Logaddexp, Roundings::all(Rounding::Near(8)).complex(Rounding::Near(64)));
    }

    fn reference(a: Scalar, b: Scalar) -> Scalar {
        let (a, b) = (a.to_complex(), b.to_complex());
        let (large, small) = if a.re < b.re { (b, a) } else { (a, b) };
        let sum = if large == small {
            // Infinite ones have no difference.
            large + std::f64::consts::LN_2
        } else {
            large + ((small - large).exp() + 1.0).ln()
        };
        Scalar::Complex(sum)
    }
}
