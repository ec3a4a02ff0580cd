//! `aten::bitwise_left_shift`: the bits moved up by so many places.
//!
//! `out[i] = self[i] << other[i]`, where zeros come in
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers.
//! - Values: a count that is negative or beyond the width gives 0.
//! - Aliasing: `bitwise_left_shift_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place. `__lshift__` and `__ilshift__` are other names, which
//!   Python's operators have.
//! - Errors: bools, floating-point and complex numbers.
//! - Source: torch.bitwise_left_shift, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::bits::Shift;

pub use opgrid_tensor::ops::pointwise::bitwise_left_shift::*;

/// The family of `aten::bitwise_left_shift.Tensor`: its kind, shape rule and `out` rule.
pub const BITWISE_LEFT_SHIFT: Family<BitwiseLeftShiftTensor> =
    Family::new(BitwiseLeftShiftTensor, &kind::POINTWISE_BINARY, bits::of_two_numbers);

pub(super) fn register(library: &mut Library) {
    library
        .family(&BITWISE_LEFT_SHIFT)
        .cpu(cpu)
        .number(BitwiseLeftShiftTensorScalar, BitwiseLeftShiftTensor)
        .number(BitwiseLeftShiftInplaceTensorScalar, BitwiseLeftShiftInplaceTensor)
        .number(BitwiseLeftShiftTensorScalarOut, BitwiseLeftShiftTensorOut)
        .number_first(BitwiseLeftShiftScalarTensor, BitwiseLeftShiftTensor)
        .number_first(BitwiseLeftShiftScalarTensorOut, BitwiseLeftShiftTensorOut)
        .alias(LshiftTensor, BitwiseLeftShiftTensor)
        .alias(LshiftTensorOut, BitwiseLeftShiftTensorOut)
        .alias(LshiftScalar, BitwiseLeftShiftTensorScalar)
        .alias(LshiftScalarOut, BitwiseLeftShiftTensorScalarOut)
        .alias(IlshiftTensor, BitwiseLeftShiftInplaceTensor)
        .alias(IlshiftScalar, BitwiseLeftShiftInplaceTensorScalar);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Integer by bits => elementwise::binary::<T, T, T>(out, input, other, Shift::shifted_left))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        bits::samples::of_shift(
            samples,
            (BitwiseLeftShiftTensor, BitwiseLeftShiftTensorScalar, BitwiseLeftShiftScalarTensor),
            (IlshiftTensor, IlshiftScalar),
            |value, count| value << count,
        );
        samples.alias(LshiftTensor, BitwiseLeftShiftTensor);
        samples.alias(LshiftScalar, BitwiseLeftShiftTensorScalar);
    }
}
