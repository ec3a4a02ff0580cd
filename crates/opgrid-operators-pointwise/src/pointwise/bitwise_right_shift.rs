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

/// Kind, shape rule and `out` rule, for everybody.
pub const BITWISE_RIGHT_SHIFT: Family<BitwiseRightShiftTensor> =
    Family::new(BitwiseRightShiftTensor, &kind::POINTWISE_BINARY, shape);

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

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = bits::of_two(input, other)?;
    pointwise::check_numbers(spec.dtype()).map(|()| spec)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Integer => elementwise::binary::<T, T, T>(out, input, other, Shift::shifted_right))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let reference = |it: &Inputs| {
            let bits = 8 * it.common_dtype(&["self", "other"])?.size_in_bytes() as i64;
            it.binary(DTypeRule::Promoted, |a, b| of_numbers(a, b, bits))
        };
        let numbers = |dtype| make::computed_in(INTEGERS, dtype, make::with_scalar(dtype));
        samples.of(
            BitwiseRightShiftTensor,
            INTEGERS,
            |dtype| make::computed_in(INTEGERS, dtype, make::pairs(dtype)),
            reference,
        );
        samples.of(BitwiseRightShiftTensorScalar, INTEGERS, numbers, reference);
        samples.of(
            BitwiseRightShiftScalarTensor,
            INTEGERS,
            |dtype| make::computed_in(INTEGERS, dtype, make::number_first(make::with_scalar(dtype))),
            reference,
        );
        samples.alias(RshiftTensor, BitwiseRightShiftTensor);
        samples.alias(RshiftScalar, BitwiseRightShiftTensorScalar);
        bits::samples::in_place_samples(samples, (IrshiftTensor, IrshiftScalar), INTEGERS, |a, b, dtype| {
            of_numbers(a, b, 8 * dtype.size_in_bytes() as i64)
        });
    }

    /// What integers of that width give: what leads beyond it is moved by all places.
    fn of_numbers(a: Scalar, b: Scalar, bits: i64) -> Scalar {
        let (value, count) = (number::whole(a), number::whole(b));
        let count = if (0..bits).contains(&count) { count } else { 64 };
        Scalar::Int(if count >= 63 { value >> 63 } else { value >> count })
    }
}
