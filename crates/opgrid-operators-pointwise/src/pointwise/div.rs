//! `aten::div`: quotient of two tensors; `div_mode` rounds it.
//!
//! `out[i] = self[i] / other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; integers and bools are divided in the default dtype.
//! - Values: a number, or a tensor of one element, keeps its digits beside 16-bit floats.
//! - Aliasing: `div_` writes `self`, `div.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: `divide` and `true_divide` are other names, in all forms.
//! - Errors: `div_` of integers.
//! - Source: torch.div, PyTorch 2.15.

use opgrid_tensor::tensor::{bf16, f16};

use crate::prelude::*;
use opgrid_tensor::layers::autograd::Recorder;

pub use opgrid_tensor::ops::pointwise::div::*;

/// The family of `aten::div.Tensor`: its kind, shape rule and `out` rule.
pub const DIV: Family<DivTensor> = Family::new(DivTensor, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&DIV)
        .cpu(cpu)
        .derivative(|d, (input, other)| quotient(d, input, other))
        .column(NumbersForTensors)
        .number(DivScalar, DivTensor)
        .number(DivInplaceScalar, DivInplaceTensor)
        .number(DivScalarOut, DivOut);
}

pub(super) fn shape(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::inexact([("self", input), ("other", other)])
}

pub(super) fn cpu(input: &Tensor, other: &Tensor, out: &Tensor) -> Result<()> {
    let dtype = inexact(result_type(&[input, other])?);
    match dtype {
        DType::F16 if pointwise::keeps_digits(other, dtype) => {
            elementwise::binary::<f16, f16, f32>(out, input, other, Inexact::over)
        }
        DType::BF16 if pointwise::keeps_digits(other, dtype) => {
            elementwise::binary::<bf16, bf16, f32>(out, input, other, Inexact::over)
        }
        _ => {
            with_dtype!(dtype, T: Inexact => elementwise::binary_by::<T, T, T>(out, input, other, InPlace(Inexact::over)))
        }
    }
}

/// States the derivative of the quotient that is not rounded.
pub(super) fn quotient(d: &Recorder<'_>, input: &Tensor, other: &Tensor) -> Result<()> {
    d.by(input, [other], |grad, [other]| derivatives::divided(grad, other))?;
    d.by(other, [input, other], |grad, [input, other]| {
        derivatives::chained(&(-grad)?, &((input / other)? / other)?)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(DivTensor, ANY, generate::pairs_to_divide, |it| {
                it.binary(DTypeRule::Inexact, number::over)
            })
            .tolerance(4.0)
            .refuses("does not broadcast", generate::misfits());
        samples
            .operator(DivScalar, ANY, generate::with_scalar, |it| it.binary(DTypeRule::Inexact, number::over))
            .tolerance(4.0);
        samples.number_for_tensor(DivTensor);
        samples.differs_as(DivTensor, &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE]);
        samples.rounds(DivTensor, pointwise::samples::COMPLEX_ARITHMETIC);
    }
}
