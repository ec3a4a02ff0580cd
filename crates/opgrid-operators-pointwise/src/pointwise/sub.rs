//! `aten::sub`: difference of two tensors, the second one scaled.
//!
//! `out[i] = self[i] - alpha * other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted. Integers wrap around.
//! - Aliasing: `sub_` writes `self`, `sub.out` writes `out`, and gives it its shape if it has no elements.
//! - Dispatch: `subtract` is another name, in all forms.
//! - Errors: bools; a float `alpha` for integers; an in-place result or an `out` of a lower kind of dtype than the
//!   difference; outputs that overlap inputs in part.
//! - Source: torch.sub, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::pointwise::sub::*;

/// The family of `aten::sub.Tensor`: its kind, shape rule and `out` rule.
pub const SUB: Family<SubTensor> = Family::new(SubTensor, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&SUB)
        .cpu(cpu)
        .derivative(|d, (input, other, alpha)| {
            d.by(input, [], |grad, []| Ok(grad.clone()))?;
            d.by(other, [], move |grad, []| derivatives::times(&(-grad)?, alpha))
        })
        .column(NumbersForTensors)
        .column(DeprecatedOrders(&[&["self", "alpha", "other"]]))
        .number(SubScalar, SubTensor)
        .number(SubInplaceScalar, SubInplaceTensor)
        .number(SubScalarOut, SubOut);
}

fn shape(input: &Tensor, other: &Tensor, alpha: Scalar) -> Result<TensorSpec> {
    let arguments = [("self", input), ("other", other)];
    pointwise::check_subtraction(&arguments)?;
    let dtype = result_type(&[input, other])?;
    pointwise::check_factor("alpha", alpha, dtype)?;
    pointwise::of_dtype(arguments, dtype)
}

fn cpu(input: &Tensor, other: &Tensor, alpha: Scalar, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Number by bits => {
        let alpha = arithmetic::element_for::<T>(alpha, dtype)?.widen();
        elementwise::binary_by::<T, T, T>(out, input, other, InPlace(move |a: Math<T>, b: Math<T>| a.minus(alpha.times(b))))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let scaled = |dtype| generate::scaled_pairs(dtype, "alpha", 2);
        samples
            .operator(SubTensor, NUMBERS, scaled, reference)
            .tolerance(2.0)
            .refuses("does not broadcast", generate::misfits());
        samples
            .operator(SubScalar, NUMBERS, generate::with_number, reference)
            .tolerance(2.0)
            .refuses("subtraction is not defined", given(generate::numbers(DType::F32, &[2], 0)).and(true));
        samples.number_for_tensor(SubTensor);
        samples.differs_as(SubTensor, &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE]);
        samples.rounds(SubTensor, pointwise::samples::SCALED_SUM);
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let alpha = it.value("alpha")?;
        it.binary(DTypeRule::Promoted, |a, b| number::minus(a, number::times(alpha, b)))
    }
}
