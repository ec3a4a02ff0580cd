//! `aten::abs`: the distance from zero.
//!
//! `out[i] = |self[i]|`
//!
//! - Shapes: that of `self`.
//! - Dtypes: that of `self`; that of the parts for complex numbers. The smallest integer stays what it is.
//! - Aliasing: `abs_` writes `self`, `abs.out` writes `out`.
//! - Derivative: zero at zero.
//! - Dispatch: `absolute` is another name, in all forms.
//! - Errors: `abs_` of complex numbers; bools; an `out` of another dtype.
//! - Source: torch.abs, PyTorch 2.15; there `abs` and `abs_` are made of `abs.out`.

use crate::prelude::*;
use opgrid_kernels::math::{Magnitude, PartOf};

pub use opgrid_tensor::ops::pointwise::abs::*;

/// The family of `aten::abs`: its kind, shape rule and `out` rule.
pub const ABS: Family<Abs> = Family::new(Abs, &kind::POINTWISE_UNARY, complex::distance)
    .in_place_shape(complex::distance_in_place)
    .out_shape(complex::distance_into);

pub(super) fn register(library: &mut Library) {
    library.family(&ABS).cpu(cpu).derivative(|d, (x,)| d.by(x, [x], |grad, [x]| grad * x.sgn()?));
}

fn cpu(input: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Number by value => elementwise::unary::<PartOf<T>, T>(out, input, Magnitude::magnitude))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .unary(Abs, NUMBERS, DTypeRule::Part, number::magnitude)
            .tolerance(2.0)
            .in_place_refuses(COMPLEX);
        samples.differs(Abs, complex::samples::DISTANCES_IN_ROWS);
        samples.rounds(Abs, pointwise::samples::COMPLEX_ARITHMETIC);
    }
}
