//! `aten::fmod`: what a quotient that is rounded towards zero leaves.
//!
//! `out[i] = self[i] - trunc(self[i] / other[i]) * other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted. The result has the sign of `self`.
//! - Aliasing: `fmod_` writes `self`, the `out` overloads write `out`.
//! - Dispatch: overloads with numbers put them in a tensor's place.
//! - Errors: bools, complex numbers, and integers divided by zero.
//! - Source: torch.fmod, PyTorch 2.15.

use crate::kinds::division;
use crate::prelude::*;
use opgrid_kernels::division::Left;

pub use opgrid_tensor::ops::pointwise::fmod::*;

/// The family of `aten::fmod.Tensor`: its kind, shape rule and `out` rule.
pub const FMOD: Family<FmodTensor> = Family::new(FmodTensor, &kind::POINTWISE_BINARY, division::of_reals);

pub(super) fn register(library: &mut Library) {
    library
        .family(&FMOD)
        .cpu(cpu)
        .derivative(|d, (input, other)| {
            d.by(input, [], |grad, []| Ok(grad.clone()))?;
            // How often the divisor goes into the number is constant.
            d.by(other, [input, other], |grad, [a, b]| {
                grad * (-&opgrid_tensor::ops::DivTensorMode.call(a, b, Some("trunc"))?)?
            })
        })
        .number(FmodScalar, FmodTensor)
        .number(FmodInplaceScalar, FmodInplaceTensor)
        .number(FmodScalarOut, FmodTensorOut);
}

fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    let [input, other] = &pointwise::operands(dtype, [input, other])?;
    division::check_divisor(other, dtype)?;
    with_dtype!(dtype, T: Real by value => elementwise::binary_by::<T, T, T>(out, input, other, Left::<false>))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let reference = |it: &Inputs| it.binary(DTypeRule::Promoted, number::left);
        let by_zero = given(generate::numbers(DType::I32, &[2], 0)).and(Plain::number(DType::I32, 0));
        samples
            .operator(FmodTensor, REAL, |dtype| division::samples::pairs(REAL, dtype), reference)
            .tolerance(2.0)
            .refuses_data("zero", by_zero);
        samples
            .operator(FmodScalar, REAL, |dtype| division::samples::by_number(REAL, dtype), reference)
            .tolerance(2.0);
        samples.differs(FmodTensor, departures::arithmetic::SIGN_OF_ZERO);
        samples.differs(FmodTensor, division::samples::LARGE_QUOTIENTS);
        samples.rounds(FmodTensor, Roundings::all(Rounding::Result(2)));
    }
}
