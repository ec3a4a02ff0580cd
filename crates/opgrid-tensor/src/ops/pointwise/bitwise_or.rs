//! `aten::bitwise_or`: the bits that one of both has.
//!
//! `out[i] = self[i] | other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools, which are one bit.
//! - Aliasing: `bitwise_or_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place. `__or__` and `__ior__` are other names, which Python's
//!   operators have.
//! - Errors: floating-point and complex numbers.
//! - Source: torch.bitwise_or, PyTorch 2.15.

use crate::kernels::bits::Bits;
use crate::ops::prelude::*;

operator! {
    home = crate::home_of(register);
    /// The bits that one of both has.
    pub BitwiseOrTensor = "aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out, method;
    /// The bits that one of both has of a number.
    pub BitwiseOrScalar = "aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", in_place, out, method(bitwise_or_scalar);
    pub BitwiseOrScalarTensor = "aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", out;
    pub OrTensor = "aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor";
    pub OrScalar = "aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor";
    pub IorTensor = "aten::__ior__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
    pub IorScalar = "aten::__ior__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
}

/// Kind, shape rule and `out` rule, for everybody.
pub const BITWISE_OR: Family<BitwiseOrTensor> =
    Family::new(BitwiseOrTensor, &kind::POINTWISE_BINARY, bits::of_two);

pub(super) fn register(library: &mut Library) {
    library
        .family(&BITWISE_OR)
        .cpu(cpu)
        .number(BitwiseOrScalar, BitwiseOrTensor)
        .number(BitwiseOrInplaceScalar, BitwiseOrInplaceTensor)
        .number(BitwiseOrScalarOut, BitwiseOrTensorOut)
        .number_first(BitwiseOrScalarTensor, BitwiseOrTensor)
        .number_first(BitwiseOrScalarTensorOut, BitwiseOrTensorOut)
        .alias(OrTensor, BitwiseOrTensor)
        .alias(OrScalar, BitwiseOrScalar)
        .alias(IorTensor, BitwiseOrInplaceTensor)
        .alias(IorScalar, BitwiseOrInplaceScalar);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Integral => elementwise::binary::<T, T, T>(out, input, other, Bits::or))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        bits::samples::collect(
            samples,
            (BitwiseOrTensor, BitwiseOrScalar, BitwiseOrScalarTensor),
            of_numbers,
        );
        samples.alias(OrTensor, BitwiseOrTensor);
        samples.alias(OrScalar, BitwiseOrScalar);
        bits::samples::in_place_samples(samples, (IorTensor, IorScalar), INTEGRAL, |a, b, _| {
            of_numbers(a, b)
        });
    }

    fn of_numbers(a: Scalar, b: Scalar) -> Scalar {
        number::of_two(a, b, |a, b| a | b, |a, b| a | b, |_, _| f64::NAN, |a, _| a)
    }
}
