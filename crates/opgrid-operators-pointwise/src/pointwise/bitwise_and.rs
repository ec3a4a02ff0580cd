//! `aten::bitwise_and`: the bits that both have.
//!
//! `out[i] = self[i] & other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools, which are one bit.
//! - Aliasing: `bitwise_and_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place. `__and__` and `__iand__` are other names, which Python's
//!   operators have.
//! - Errors: floating-point and complex numbers.
//! - Source: torch.bitwise_and, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::bits::Bits;

pub use opgrid_tensor::ops::pointwise::bitwise_and::*;

/// The family of `aten::bitwise_and.Tensor`: its kind, shape rule and `out` rule.
pub const BITWISE_AND: Family<BitwiseAndTensor> =
    Family::new(BitwiseAndTensor, &kind::POINTWISE_BINARY, bits::of_two);

pub(super) fn register(library: &mut Library) {
    library
        .family(&BITWISE_AND)
        .cpu(cpu)
        .number(BitwiseAndScalar, BitwiseAndTensor)
        .number(BitwiseAndInplaceScalar, BitwiseAndInplaceTensor)
        .number(BitwiseAndScalarOut, BitwiseAndTensorOut)
        .number_first(BitwiseAndScalarTensor, BitwiseAndTensor)
        .number_first(BitwiseAndScalarTensorOut, BitwiseAndTensorOut)
        .alias(AndTensor, BitwiseAndTensor)
        .alias(AndScalar, BitwiseAndScalar)
        .alias(IandTensor, BitwiseAndInplaceTensor)
        .alias(IandScalar, BitwiseAndInplaceScalar);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Integral by bits => elementwise::binary::<T, T, T>(out, input, other, Bits::and))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        bits::samples::collect(
            samples,
            (BitwiseAndTensor, BitwiseAndScalar, BitwiseAndScalarTensor),
            of_numbers,
        );
        samples.alias(AndTensor, BitwiseAndTensor);
        samples.alias(AndScalar, BitwiseAndScalar);
        bits::samples::in_place_samples(samples, (IandTensor, IandScalar), INTEGRAL, |a, b, _| {
            of_numbers(a, b)
        });
    }

    fn of_numbers(a: Scalar, b: Scalar) -> Scalar {
        number::of_two(a, b, |a, b| a & b, |a, b| a & b, |_, _| f64::NAN, |a, _| a)
    }
}
