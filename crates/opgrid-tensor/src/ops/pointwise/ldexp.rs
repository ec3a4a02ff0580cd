//! `aten::ldexp`: elements times powers of two.
//!
//! `out[i] = self[i] * 2 ^ other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: those of the product with the power, which has the default dtype where `other` has integers.
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
        .on_every_backend(|input, other| MulTensor.call(input, &power(other)?))
        .derivative(|d, (input, other)| {
            d.by(input, [other], |grad, [other]| derivatives::chained(grad, &power(other)?))?;
            d.by(other, [d.result(0)], |grad, [out]| derivatives::chained(grad, &(out * LN_2)?))
        });
    library
        .implement(LdexpInplace)
        .on_every_backend(|input, other| MulInplaceTensor.call(input, &power(other)?));
    library.implement(LdexpOut).on_every_backend(|input, other, out| MulOut.call(input, &power(other)?, out));
}

pub(super) fn samples(samples: &mut Samples) {
    let inputs = |dtype| make::pairs_to_divide(dtype);
    samples
        .of(LdexpTensor, ANY, inputs, |it| {
            let (x, other) = (it.tensor("self")?, it.tensor("other")?);
            let dtype = inexact(other.dtype());
            let two = naive::convert(Scalar::Int(2), dtype);
            let one = |position: &[i64]| number::power(two, naive::convert(other.at(position), dtype));
            let powers = Plain::from_fn(dtype, other.sizes(), one);
            let product = [("self".to_owned(), x.clone().into()), ("other".to_owned(), powers.into())];
            Inputs::new(product.into()).binary(DTypeRule::Promoted, number::times)
        })
        .tolerance(32.0);
    samples.differs(LdexpTensor, math::NOT_FINITE);
    samples.rounds(LdexpTensor, pointwise::ELEMENTARY);
}

fn power(exponent: &Tensor) -> Result<Tensor> {
    PowScalar.call(Scalar::Float(2.0), exponent)
}
