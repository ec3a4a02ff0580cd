//! `aten::logaddexp2`: the logarithm to base 2 of a sum of powers of two.
//!
//! `out[i] = log(2 ^ self[i] + 2 ^ other[i])` to base 2
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; floating-point numbers.
//! - Values: the larger one, and the logarithm of what the other one adds, so that nothing overflows.
//! - Aliasing: `logaddexp2.out` writes `out`.
//! - Errors: integers, bools and complex numbers.
//! - Source: torch.logaddexp2, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::logaddexp2::*;

/// The family of `aten::logaddexp2`: its kind, shape rule and `out` rule.
pub const LOGADDEXP2: Family<Logaddexp2> = Family::new(Logaddexp2, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library.family(&LOGADDEXP2).cpu(cpu).derivative(|d, (input, other)| {
        d.by(input, [input, other], |grad, [a, b]| derivatives::divided(grad, &((b - a)?.exp2()? + 1)?))?;
        d.by(other, [input, other], |grad, [a, b]| derivatives::divided(grad, &((a - b)?.exp2()? + 1)?))
    });
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input), ("other", other)])?;
    pointwise::check_float(spec.dtype()).map(|()| spec)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Float => elementwise::binary_by::<T, T, T>(out, input, other, functions::BinaryLogarithmOfSum))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| generate::computed_in(FLOATS, dtype, generate::pairs(dtype));
        samples
            .operator(Logaddexp2, FLOATS, inputs, |it| it.binary(DTypeRule::Promoted, reference))
            .tolerance(8.0);
        samples.differs(Logaddexp2, departures::math::NOT_FINITE);
        samples.rounds(Logaddexp2, Roundings::all(Rounding::Near(16)).complex(Rounding::Near(64)));
    }

    fn reference(a: Scalar, b: Scalar) -> Scalar {
        let (a, b) = (a.to_complex().re, b.to_complex().re);
        let (large, small) = if a < b { (b, a) } else { (a, b) };
        // Infinite ones have no difference.
        Scalar::Float(if large == small {
            large + 1.0
        } else {
            large + ((small - large).exp2() + 1.0).log2()
        })
    }
}
