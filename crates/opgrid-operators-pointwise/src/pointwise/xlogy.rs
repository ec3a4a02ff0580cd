//! `aten::xlogy`, `special_xlogy`: elements times the logarithm of others.
//!
//! `out[i] = self[i] * ln(other[i])`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools give the default dtype.
//! - Values: zero where `self` is, unless `other` is NaN.
//! - Aliasing: `xlogy_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place; `special_xlogy` is another name.
//! - Errors: complex numbers; `xlogy_` of integers and bools.
//! - Source: torch.xlogy, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::xlogy::*;

/// The family of `aten::xlogy.Tensor`: its kind, shape rule and `out` rule.
pub const XLOGY: Family<XlogyTensor> =
    Family::new(XlogyTensor, &kind::POINTWISE_BINARY, pointwise::inexact_real_binary);

pub(super) fn register(library: &mut Library) {
    library
        .family(&XLOGY)
        .cpu(cpu)
        .derivative(|d, (input, other)| {
            d.by(input, [input, other], |grad, [x, y]| {
                let is_zero = x.eq(0)?.logical_and(&y.le(0)?)?;
                derivatives::where_false(&is_zero, &XlogyTensor.call(grad, y)?)
            })?;
            d.by(other, [input, other], |grad, [x, y]| (grad * x)? / y)
        })
        .number(XlogyScalarOther, XlogyTensor)
        .number(XlogyInplaceScalarOther, XlogyInplaceTensor)
        .number(XlogyOutScalarOther, XlogyOutTensor)
        .number_first(XlogyScalarSelf, XlogyTensor)
        .number_first(XlogyOutScalarSelf, XlogyOutTensor)
        .alias(SpecialXlogy, XlogyTensor)
        .alias(SpecialXlogyOut, XlogyOutTensor)
        .alias(SpecialXlogyOtherScalar, XlogyScalarOther)
        .alias(SpecialXlogyOtherScalarOut, XlogyOutScalarOther)
        .alias(SpecialXlogySelfScalar, XlogyScalarSelf)
        .alias(SpecialXlogySelfScalarOut, XlogyOutScalarSelf);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = inexact(result_type(&[input, other])?);
    with_dtype!(dtype, T: Float => {
        elementwise::binary::<T, T, T>(out, input, other, |a, b| {
            if a == 0.0 && !b.is_nan() { 0.0 } else { a * Inexact::log(b) }
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let reference = |it: &Inputs| {
            it.binary(DTypeRule::Inexact, |a, b| {
                let (a, b) = (a.to_complex().re, b.to_complex().re);
                Scalar::Float(if a == 0.0 && !b.is_nan() { 0.0 } else { a * b.ln() })
            })
        };
        samples.operator(XlogyTensor, ORDERED, generate::pairs, reference).tolerance(8.0);
        samples.operator(XlogyScalarOther, ORDERED, generate::with_scalar, reference).tolerance(8.0);
        samples
            .operator(
                XlogyScalarSelf,
                ORDERED,
                |dtype| generate::number_first(generate::with_scalar(dtype)),
                reference,
            )
            .tolerance(8.0);
        samples.differs(XlogyTensor, departures::arithmetic::SIGN_OF_ZERO);
        samples.rounds(XlogyTensor, pointwise::samples::ELEMENTARY);
        samples.alias(SpecialXlogy, XlogyTensor);
        samples.alias(SpecialXlogyOtherScalar, XlogyScalarOther);
        samples.alias(SpecialXlogySelfScalar, XlogyScalarSelf);
    }
}
