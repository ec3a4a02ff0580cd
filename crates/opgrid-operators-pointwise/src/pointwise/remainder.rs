//! `aten::remainder`: what a quotient that is rounded downwards leaves.
//!
//! `out[i] = self[i] - floor(self[i] / other[i]) * other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted. The result has the sign of `other`.
//! - Aliasing: `remainder_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Errors: bools, complex numbers, and integers divided by zero.
//! - Source: torch.remainder, PyTorch 2.15.

use crate::kinds::division;
use crate::prelude::*;
use opgrid_kernels::division::Left;

pub use opgrid_tensor::ops::pointwise::remainder::*;

/// The family of `aten::remainder.Tensor`: its kind, shape rule and `out` rule.
pub const REMAINDER: Family<RemainderTensor> =
    Family::new(RemainderTensor, &kind::POINTWISE_BINARY, division::of_reals);

pub(super) fn register(library: &mut Library) {
    library
        .family(&REMAINDER)
        .cpu(cpu)
        .derivative(|d, (input, other)| {
            d.by(input, [], |grad, []| Ok(grad.clone()))?;
            // How often the divisor goes into the number is constant.
            d.by(other, [input, other], |grad, [a, b]| {
                grad * (-&opgrid_tensor::ops::DivTensorMode.call(a, b, Some("floor"))?)?
            })
        })
        .number(RemainderScalar, RemainderTensor)
        .number(RemainderInplaceScalar, RemainderInplaceTensor)
        .number(RemainderScalarOut, RemainderTensorOut)
        .number_first(RemainderScalarTensor, RemainderTensor)
        .number_first(RemainderScalarTensorOut, RemainderTensorOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    division::check_divisor(other, dtype)?;
    with_dtype!(dtype, T: Real by value => elementwise::binary_by::<T, T, T>(out, input, other, Left::<true>))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let reference = |it: &Inputs| it.binary(DTypeRule::Promoted, number::modulo);
        let by_zero = given(generate::numbers(DType::I32, &[2], 0)).and(Plain::number(DType::I32, 0));
        samples
            .operator(RemainderTensor, REAL, |dtype| division::samples::pairs(REAL, dtype), reference)
            .tolerance(2.0)
            .refuses_data("zero", by_zero);
        samples
            .operator(RemainderScalar, REAL, |dtype| division::samples::by_number(REAL, dtype), reference)
            .tolerance(2.0);
        samples
            .operator(RemainderScalarTensor, REAL, |dtype| division::samples::first(REAL, dtype), reference)
            .tolerance(2.0);
        samples.differs(RemainderTensor, departures::arithmetic::SIGN_OF_ZERO);
        samples.differs(RemainderTensor, division::samples::LARGE_QUOTIENTS);
        samples.rounds(RemainderTensor, Roundings::all(Rounding::Result(2)));
    }
}
