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

/// Kind, shape rule and `out` rule, for everybody.
pub const BITWISE_LEFT_SHIFT: Family<BitwiseLeftShiftTensor> =
    Family::new(BitwiseLeftShiftTensor, &kind::POINTWISE_BINARY, shape);

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

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    let spec = bits::of_two(input, other)?;
    pointwise::check_numbers(spec.dtype()).map(|()| spec)
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Integer => elementwise::binary::<T, T, T>(out, input, other, Shift::shifted_left))
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
            BitwiseLeftShiftTensor,
            INTEGERS,
            |dtype| make::computed_in(INTEGERS, dtype, make::pairs(dtype)),
            reference,
        );
        samples.of(BitwiseLeftShiftTensorScalar, INTEGERS, numbers, reference);
        samples.of(
            BitwiseLeftShiftScalarTensor,
            INTEGERS,
            |dtype| make::computed_in(INTEGERS, dtype, make::number_first(make::with_scalar(dtype))),
            reference,
        );
        samples.alias(LshiftTensor, BitwiseLeftShiftTensor);
        samples.alias(LshiftScalar, BitwiseLeftShiftTensorScalar);
        bits::samples::in_place_samples(samples, (IlshiftTensor, IlshiftScalar), INTEGERS, |a, b, dtype| {
            of_numbers(a, b, 8 * dtype.size_in_bytes() as i64)
        });
    }

    /// What integers of that width give: what leads beyond it is moved by all places.
    fn of_numbers(a: Scalar, b: Scalar, bits: i64) -> Scalar {
        let (value, count) = (number::whole(a), number::whole(b));
        let count = if (0..bits).contains(&count) { count } else { 64 };
        Scalar::Int(if count >= 63 { 0 } else { value.wrapping_shl(count as u32) })
    }
}
