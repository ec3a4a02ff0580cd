//! `aten::special_xlog1py`: elements times the logarithm of one more than others.
//!
//! `out[i] = self[i] * ln(1 + other[i])`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype. Results are computed in double precision.
//! - Values: zero where `self` is, unless `other` is NaN.
//! - Aliasing: the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Derivative: of `self` zero where it and the logarithm are not defined.
//! - Errors: complex numbers.
//! - Source: torch.special.xlog1py, PyTorch 2.15.

use crate::kinds::special;
use crate::prelude::*;

pub use opgrid_tensor::ops::special::xlog1py::*;

/// The family of `aten::special_xlog1py`: its kind, shape rule and `out` rule.
pub const SPECIAL_XLOG1PY: Family<SpecialXlog1py> =
    Family::new(SpecialXlog1py, &kind::POINTWISE_BINARY, pointwise::inexact_real_binary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SPECIAL_XLOG1PY)
        .cpu(|input, other, out| special::binary(input, other, out, opgrid_special::xlog1py))
        .derivative(|d, (input, other)| {
            d.by(input, [input, other], |grad, [x, y]| {
                let is_undefined = x.eq(0)?.logical_and(&y.le(-1)?)?;
                derivatives::where_false(&is_undefined, &SpecialXlog1py.call(grad, y)?)
            })?;
            d.by(other, [input, other], |grad, [x, y]| (grad * x)? / (y + 1)?)
        })
        .number(SpecialXlog1pyOtherScalar, SpecialXlog1py)
        .number(SpecialXlog1pyOtherScalarOut, SpecialXlog1pyOut)
        .number_first(SpecialXlog1pySelfScalar, SpecialXlog1py)
        .number_first(SpecialXlog1pySelfScalarOut, SpecialXlog1pyOut);
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let reference = |it: &Inputs| {
            it.binary(DTypeRule::Inexact, |a, b| {
                let (a, b) = (a.to_complex().re, b.to_complex().re);
                Scalar::Float(if a == 0.0 && !b.is_nan() { 0.0 } else { a * libm::log1p(b) })
            })
        };
        samples.operator(SpecialXlog1py, ORDERED, generate::pairs, reference).tolerance(8.0);
        samples.operator(SpecialXlog1pyOtherScalar, ORDERED, generate::with_scalar, reference).tolerance(8.0);
        samples
            .operator(
                SpecialXlog1pySelfScalar,
                ORDERED,
                |dtype| generate::number_first(generate::with_scalar(dtype)),
                reference,
            )
            .tolerance(8.0);
        samples.differs(SpecialXlog1py, departures::arithmetic::SIGN_OF_ZERO);
        samples.rounds(SpecialXlog1py, pointwise::samples::ELEMENTARY);
    }
}
