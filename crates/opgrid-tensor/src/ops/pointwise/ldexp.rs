//! `aten::ldexp`: elements times powers of two.
//!
//! `out[i] = self[i] * 2 ^ other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; the default dtype for integers and bools alone. The power is computed in that of `other`,
//!   or the default dtype, and converted.
//! - Aliasing: `ldexp_` writes `self`, `ldexp.out` writes `out`.
//! - Dispatch: a composite of `pow` and `mul`, in all forms.
//! - Errors: `ldexp_` of integers and bools.
//! - Source: torch.ldexp, PyTorch 2.15.

use std::f64::consts::LN_2;

use crate::ops::prelude::*;
use crate::ops::{MulInplaceTensor, MulOut, MulTensor, PowScalar};

operator! {
    home = crate::home;
    /// Elements times powers of two.
    pub LdexpTensor = "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", in_place(""), out("out"), method;
}

pub(super) fn register(library: &mut Library) {
    library
        .define_with_forms(LdexpTensor, &kind::POINTWISE_BINARY)
        .on_every_backend(|input, other| MulTensor.call(input, &power_beside(input, other)?))
        .derivative(|d, (input, other)| {
            d.by(input, [other], |grad, [other]| derivatives::chained(grad, &power(other)?))?;
            d.by(other, [d.result(0)], |grad, [out]| derivatives::chained(grad, &(out * LN_2)?))
        });
    library
        .implement(LdexpInplace)
        .on_every_backend(|input, other| MulInplaceTensor.call(input, &power_beside(input, other)?));
    library
        .implement(LdexpOut)
        .on_every_backend(|input, other, out| MulOut.call(input, &power_beside(input, other)?, out));
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| make::pairs_to_divide(dtype);
    samples
        .of(LdexpTensor, ANY, inputs, |it| {
            let (x, other) = (it.tensor("self")?, it.tensor("other")?);
            let (common, dtype) = (it.common_dtype(&["self", "other"])?, inexact(other.dtype()));
            let two = naive::convert(Scalar::Int(2), dtype);
            let one = |position: &[i64]| number::power(two, naive::convert(other.at(position), dtype));
            let powers = Plain::from_fn(dtype, other.sizes(), one);
            let is_inexact = common.is_floating_point() || common.is_complex();
            let powers = if is_inexact { powers.to(common) } else { powers };
            let product = [("self".to_owned(), x.clone().into()), ("other".to_owned(), powers.into())];
            Inputs::new(product.into()).binary(DTypeRule::Promoted, number::times)
        })
        .tolerance(32.0);
    samples.differs(LdexpTensor, math::NOT_FINITE);
    samples.differs(
        LdexpTensor,
        Difference {
            id: "products-with-powers-lie-as-both",
            what: "torch decides on the order of the result by powers that it computes first; here both \
               arguments decide",
            why: "one rule for all operators",
            test: ("opgrid-tensor/tests/differences.rs", "results_do_not_depend_on_the_layout"),
            when: |seen| {
                let inputs = seen.inputs();
                seen.part == Part::Strides && inputs.iter().any(|input| !input.geometry.is_contiguous())
            },
            directed: None,
        },
    );
    samples.rounds(LdexpTensor, pointwise::ELEMENTARY);
}

/// The power in the dtype of the result, so that a tensor without dimensions counts as much as it does beside the exponents.
///
/// # Errors
///
/// Those of `pow` and of the conversion.
fn power_beside(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    let (power, dtype) = (power(other)?, result_type(&[input, other])?);
    match (dtype.is_floating_point() || dtype.is_complex()) && dtype != power.dtype() {
        true => power.to_dtype(dtype),
        false => Ok(power),
    }
}

fn power(exponent: &Tensor) -> Result<Tensor> {
    PowScalar.call(Scalar::Float(2.0), exponent)
}
