//! `aten::bitwise_xor`: the bits that exactly one of both has.
//!
//! `out[i] = self[i] ^ other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools, which are one bit.
//! - Aliasing: `bitwise_xor_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place. `__xor__` and `__ixor__` are other names, which Python's
//!   operators have.
//! - Errors: floating-point and complex numbers.
//! - Source: torch.bitwise_xor, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::bits::Bits;

pub use opgrid_tensor::ops::pointwise::bitwise_xor::*;

/// The family of `aten::bitwise_xor.Tensor`: its kind, shape rule and `out` rule.
pub const BITWISE_XOR: Family<BitwiseXorTensor> =
    Family::new(BitwiseXorTensor, &kind::POINTWISE_BINARY, bits::of_two);

pub(super) fn register(library: &mut Library) {
    library
        .family(&BITWISE_XOR)
        .cpu(cpu)
        .number(BitwiseXorScalar, BitwiseXorTensor)
        .number(BitwiseXorInplaceScalar, BitwiseXorInplaceTensor)
        .number(BitwiseXorScalarOut, BitwiseXorTensorOut)
        .number_first(BitwiseXorScalarTensor, BitwiseXorTensor)
        .number_first(BitwiseXorScalarTensorOut, BitwiseXorTensorOut)
        .alias(XorTensor, BitwiseXorTensor)
        .alias(XorScalar, BitwiseXorScalar)
        .alias(IxorTensor, BitwiseXorInplaceTensor)
        .alias(IxorScalar, BitwiseXorInplaceScalar);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Integral by bits => elementwise::binary::<T, T, T>(out, input, other, Bits::xor))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        bits::samples::collect(
            samples,
            (BitwiseXorTensor, BitwiseXorScalar, BitwiseXorScalarTensor),
            of_numbers,
        );
        samples.alias(XorTensor, BitwiseXorTensor);
        samples.alias(XorScalar, BitwiseXorScalar);
        bits::samples::in_place_samples(samples, (IxorTensor, IxorScalar), INTEGRAL, |a, b, _| {
            of_numbers(a, b)
        });
    }

    fn of_numbers(a: Scalar, b: Scalar) -> Scalar {
        number::of_two(a, b, |a, b| a ^ b, |a, b| a ^ b, |_, _| f64::NAN, |a, _| a)
    }
}
