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

use crate::prelude::*;
use opgrid_kernels::bits::Bits;

pub use opgrid_tensor::ops::pointwise::bitwise_or::*;

/// The family of `aten::bitwise_or.Tensor`: its kind, shape rule and `out` rule.
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
    with_dtype!(dtype, T: Integral by bits => elementwise::binary::<T, T, T>(out, input, other, Bits::or))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

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
