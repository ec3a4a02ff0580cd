//! `aten::acos`: the inverse of the cosine.
//!
//! `out[i] = arccos(self[i])`
//!
//! - Shapes: that of `self`.
//! - Dtypes: floating-point and complex ones stay what they are; integers and bools give the default dtype.
//! - Values: NaN beyond 1 and -1, unless they are complex.
//! - Aliasing: `acos_` writes `self`, `acos.out` writes `out`.
//! - Dispatch: `arccos` is another name, in all forms.
//! - Errors: `acos_` of integers and bools.
//! - Source: torch.acos, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::acos::*;

/// The family of `aten::acos`: its kind, shape rule and `out` rule.
pub const ACOS: Family<Acos> = Family::new(Acos, &kind::POINTWISE_UNARY, pointwise::inexact_unary);

pub(super) fn register(library: &mut Library) {
    library.family(&ACOS).cpu(cpu).derivative(|d, (input,)| {
        d.by(input, [input], |grad, [x]| derivatives::divided(&(-grad)?, &(1 - (x * x)?)?.sqrt()?))
    });
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(inexact(input.dtype()), T: Inexact => elementwise::unary_by::<T, T>(out, input, functions::ArcCosine))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples.inexact(Acos, f64::acos, |x| number::off_cuts(x).acos()).tolerance(16.0);
        samples.differs(Acos, departures::math::NOT_FINITE);
        samples.rounds(Acos, pointwise::samples::ELEMENTARY);
    }
}
