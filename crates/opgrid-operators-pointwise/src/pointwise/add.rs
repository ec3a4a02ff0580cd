//! `aten::add`: sum of two tensors, the second one scaled.
//!
//! `out[i] = self[i] + alpha * other[i]`
//!
//! - Shapes: `self` and `other` broadcast.
//! - Dtypes: promoted; on bools `+` is "or" and `*` is "and". Integers wrap around.
//! - Aliasing: `add_` writes `self`, `add.out` writes `out`, and gives it its shape if it has no elements.
//! - Errors: a float `alpha` for integers or bools, a bool one for anything but bools; an in-place result or an
//!   `out` of a lower kind of dtype than the sum; outputs that overlap inputs in part.
//! - Source: torch.add, PyTorch 2.15.

use crate::prelude::*;
use opgrid_tensor::tensor::Element;

pub use opgrid_tensor::ops::pointwise::add::*;

/// The family of `aten::add.Tensor`: its kind, shape rule and `out` rule.
pub const ADD: Family<AddTensor> = Family::new(AddTensor, &kind::POINTWISE_BINARY, shape);

pub(super) fn register(library: &mut Library) {
    library
        .family(&ADD)
        .column(NumbersForTensors)
        .column(DeprecatedOrders(&[&["self", "alpha", "other"]]))
        .cpu(cpu)
        .derivative(|d, (input, other, alpha)| {
            d.by(input, [], |grad, []| Ok(grad.clone()))?;
            d.by(other, [], move |grad, []| derivatives::times(grad, alpha))
        })
        .number(AddScalar, AddTensor)
        .number(AddInplaceScalar, AddInplaceTensor)
        .number(AddScalarOut, AddOut);
}

fn shape(input: &Tensor, other: &Tensor, alpha: Scalar) -> Result<TensorSpec> {
    let dtype = result_type(&[input, other])?;
    pointwise::check_factor("alpha", alpha, dtype)?;
    pointwise::of_dtype([("self", input), ("other", other)], dtype)
}

fn cpu(input: &Tensor, other: &Tensor, alpha: Scalar, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, other])?;
    with_dtype!(dtype, T: Any by bits => {
        let alpha = arithmetic::element_for::<T>(alpha, dtype)?.widen();
        elementwise::binary_by::<T, T, T>(out, input, other, InPlace(move |a: Math<T>, b: Math<T>| a.plus(alpha.times(b))))
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let scaled = |dtype| generate::scaled_pairs(dtype, "alpha", 2);
        samples
            .operator(AddTensor, ANY, scaled, reference)
            .tolerance(2.0)
            .refuses("does not broadcast", generate::misfits())
            .refuses("must not be a floating-point number", {
                let x = generate::numbers(DType::I64, &[2], 0);
                given(x.clone()).and(x).named("alpha", 0.5)
            });
        samples.operator(AddScalar, ANY, generate::with_scalar, reference).tolerance(2.0);
        samples.number_for_tensor(AddTensor);
        samples.differs_as(AddTensor, &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE]);
        samples.rounds(AddTensor, pointwise::samples::SCALED_SUM);
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let alpha = it.value("alpha")?;
        it.binary(DTypeRule::Promoted, |a, b| number::plus(a, number::times(alpha, b)))
    }
}
