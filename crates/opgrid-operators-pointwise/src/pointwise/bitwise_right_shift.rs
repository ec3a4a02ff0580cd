//! `aten::bitwise_right_shift`: the bits moved down by so many places.
//!
//! `out[i] = self[i] >> other[i]`, where copies of the sign come in
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers.
//! - Values: a count that is negative or beyond the width gives what only has the sign.
//! - Aliasing: `bitwise_right_shift_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place. `__rshift__` and `__irshift__` are other names, which
//!   Python's operators have.
//! - Errors: bools, floating-point and complex numbers.
//! - Source: torch.bitwise_right_shift, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::bits::Shift;

pub use opgrid_tensor::ops::pointwise::bitwise_right_shift::*;

/// The family of `aten::bitwise_right_shift.Tensor`: its kind, shape rule and `out` rule.
pub const BITWISE_RIGHT_SHIFT: Family<BitwiseRightShiftTensor> =
    Family::new(BitwiseRightShiftTensor, &kind::POINTWISE_BINARY, bits::of_two_numbers);

pub(super) fn register(library: &mut Library) {
    library
        .family(&BITWISE_RIGHT_SHIFT)
        .cpu(cpu)
        .number(BitwiseRightShiftTensorScalar, BitwiseRightShiftTensor)
        .number(BitwiseRightShiftInplaceTensorScalar, BitwiseRightShiftInplaceTensor)
        .number(BitwiseRightShiftTensorScalarOut, BitwiseRightShiftTensorOut)
        .number_first(BitwiseRightShiftScalarTensor, BitwiseRightShiftTensor)
        .number_first(BitwiseRightShiftScalarTensorOut, BitwiseRightShiftTensorOut)
        .alias(RshiftTensor, BitwiseRightShiftTensor)
        .alias(RshiftTensorOut, BitwiseRightShiftTensorOut)
        .alias(RshiftScalar, BitwiseRightShiftTensorScalar)
        .alias(RshiftScalarOut, BitwiseRightShiftTensorScalarOut)
        .alias(IrshiftTensor, BitwiseRightShiftInplaceTensor)
        .alias(IrshiftScalar, BitwiseRightShiftInplaceTensorScalar);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    with_dtype!(dtype, T: Integer by value => elementwise::binary::<T, T, T>(out, input, other, Shift::shifted_right))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        bits::samples::of_shift(
            samples,
            (BitwiseRightShiftTensor, BitwiseRightShiftTensorScalar, BitwiseRightShiftScalarTensor),
            (IrshiftTensor, IrshiftScalar),
            |value, count| value >> count,
        );
        samples.alias(RshiftTensor, BitwiseRightShiftTensor);
        samples.alias(RshiftScalar, BitwiseRightShiftTensorScalar);
    }
}
