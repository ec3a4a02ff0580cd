//! `aten::angle`: the angles of complex numbers.
//!
//! `out[i] = atan2(imag(self[i]), real(self[i]))`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of the parts; real numbers stay what they are, and have the angle pi if they are negative, 0 otherwise;
//!   integers and bools give the default dtype. NaN stays NaN.
//! - Aliasing: `angle.out` writes `out`.
//! - Source: torch.angle, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::math::{PartOf, Phase};

pub use opgrid_tensor::ops::complex::angle::*;

/// The family of `aten::angle`: its kind, shape rule and `out` rule.
pub const ANGLE: Family<Angle> = Family::new(Angle, &kind::POINTWISE_UNARY, pointwise::inexact_part_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ANGLE).cpu(cpu).derivative(|d, (input,)| d.by(input, [input], gradient));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary::<PartOf<T>, T>(out, input, Phase::phase))
}

/// The gradient, which turns a complex number around zero; the angle of a real one is a step.
fn gradient(grad: &Tensor, [x]: [&Tensor; 1]) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return derivatives::zeros(grad);
    }
    let distance = x.abs()?;
    let turned = ((grad * (x * Complex64::I)?)? / (&distance * &distance)?)?;
    derivatives::where_false(&distance.eq(0)?, &turned)
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.unary(Angle, ANY, DTypeRule::InexactPart, number::angle).tolerance(4.0);
        samples.rounds(Angle, pointwise::samples::ELEMENTARY);
        let what = "torch returns the angles of real numbers in row-major order; here they have the memory format of the input";
        samples
            .differs(Angle, pointwise::samples::lies_as_input("angles-of-real-numbers-lie-as-they-do", what));
    }
}
