//! `aten::mul`: product of two tensors.
//!
//! `out[i] = self[i] * other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; the product of bools is "and". Integers wrap around.
//! - Values: a number as `other`, or a tensor of one element, keeps its digits beside 16-bit floats.
//! - Aliasing: `mul_` writes `self`, `mul.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: `multiply` is another name, in all forms.
//! - Errors: a result of another shape or a higher kind of dtype than what is written; overlap in part.
//! - Source: torch.mul, PyTorch 2.15.

use opgrid_tensor::tensor::{bf16, f16};

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::mul::*;

/// The family of `aten::mul.Tensor`: its kind, shape rule and `out` rule.
pub const MUL: Family<MulTensor> = Family::new(MulTensor, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&MUL)
        .column(NumbersForTensors)
        .cpu(cpu)
        .derivative(|d, (input, other)| {
            d.by(input, [other], |grad, [other]| derivatives::chained(grad, other))?;
            d.by(other, [input], |grad, [input]| derivatives::chained(grad, input))
        })
        .number(MulScalar, MulTensor)
        .number(MulInplaceScalar, MulInplaceTensor)
        .number(MulScalarOut, MulOut);
}

fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::promoted([("self", input), ("other", other)])
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    match dtype {
        DType::F16 if pointwise::keeps_digits(other, dtype) => {
            elementwise::binary::<f16, f16, f32>(out, input, other, Arithmetic::times)
        }
        DType::BF16 if pointwise::keeps_digits(other, dtype) => {
            elementwise::binary::<bf16, bf16, f32>(out, input, other, Arithmetic::times)
        }
        _ => {
            with_dtype!(dtype, T: Any by bits => elementwise::binary_by::<T, T, T>(out, input, other, InPlace(Math::<T>::times)))
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(MulTensor, ANY, generate::pairs, |it| it.binary(DTypeRule::Promoted, number::times))
            .refuses("does not broadcast", generate::misfits());
        samples.operator(MulScalar, ANY, generate::with_scalar, |it| {
            it.binary(DTypeRule::Promoted, number::times)
        });
        samples.number_for_tensor(MulTensor);
        samples.differs(
            MulTensor,
            Difference {
                id: "numbers-keep-their-digits-in-place",
                what: "torch rounds the number of `mul_.Scalar` to 16 bits for 16-bit floats, but not \
                     that of `mul.Scalar` or `mul_.Tensor`; here it keeps its precision in all three",
                why: "all overloads behave alike",
                test: (
                    "opgrid-operators/tests/all/ends_of_ranges.rs",
                    "numbers_beside_16_bit_floats_keep_their_digits",
                ),
                when: |seen| {
                    let is_narrow = |tensor: &Operand| matches!(tensor.dtype, DType::F16 | DType::BF16);
                    let is_rounded = seen.each(|(_, ours, torch)| {
                        !torch.is_finite()
                            || torch.norm() < 1e-4
                            || (ours - torch).norm() <= torch.norm() / 64.0
                    });
                    matches!(seen.operator, "aten::mul_.Scalar" | "aten::multiply_.Scalar")
                        && seen.tensor("self").is_some_and(is_narrow)
                        && is_rounded
                },
                directed: None,
            },
        );
        samples.differs_as(MulTensor, &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE]);
        samples.rounds(MulTensor, pointwise::samples::COMPLEX_ARITHMETIC);
    }
}
