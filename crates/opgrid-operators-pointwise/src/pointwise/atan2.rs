//! `aten::atan2`: the angle of a point, by its second and its first coordinate.
//!
//! `out[i] = the angle from the positive first axis to (other[i], self[i])`, from -pi to pi
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype.
//! - Aliasing: `atan2_` writes `self`, `atan2.out` writes `out`.
//! - Dispatch: `arctan2` is another name, in all forms.
//! - Errors: complex numbers; `atan2_` of integers and bools.
//! - Source: torch.atan2, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::atan2::*;

/// The family of `aten::atan2`: its kind, shape rule and `out` rule.
pub const ATAN2: Family<Atan2> = Family::new(Atan2, &kind::POINTWISE_BINARY, pointwise::inexact_real_binary);

pub(super) fn register(library: &mut Library) {
    library.family(&ATAN2).cpu(cpu).derivative(|d, (input, other)| {
        d.by(input, [input, other], |grad, [y, x]| slope(grad, y, x, x))?;
        d.by(other, [input, other], |grad, [y, x]| slope(&(-grad)?, y, x, y))
    });
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = inexact(result_type(&[input, other])?);
    with_dtype!(dtype, T: Float => {
        elementwise::binary_by::<T, T, T>(out, input, other, functions::AngleOf)
    })
}

/// The gradient times a part, over the square of the distance from zero; none at zero itself, which has no angle.
fn slope(grad: &Tensor, y: &Tensor, x: &Tensor, part: &Tensor) -> Result<Tensor> {
    let (y, x) = (y.to_dtype(grad.dtype())?, x.to_dtype(grad.dtype())?);
    let square = ((&x * &x)? + (&y * &y)?)?;
    (grad * part)? * derivatives::where_false(&square.eq(0)?, &square.reciprocal()?)?
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .binary(Atan2, ORDERED, DTypeRule::Inexact, |y, x| {
                Scalar::Float(y.to_complex().re.atan2(x.to_complex().re))
            })
            .tolerance(4.0);
        samples.rounds(Atan2, pointwise::samples::ELEMENTARY);
    }
}
