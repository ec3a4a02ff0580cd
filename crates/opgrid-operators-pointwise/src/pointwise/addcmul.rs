//! `aten::addcmul`: a product of two tensors, scaled and added.
//!
//! `out[i] = self[i] + value * tensor1[i] * tensor2[i]`
//!
//! - Shapes: all three broadcast.
//! - Dtypes: promoted; `value` is converted to the result's, without its fraction for integers.
//! - Aliasing: `addcmul_` writes `self`, `addcmul.out` writes `out`.
//! - Errors: bools; a `value` beyond the range of the dtype.
//! - Source: torch.addcmul, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::addcmul::*;

/// The family of `aten::addcmul`: its kind, shape rule and `out` rule.
pub const ADDCMUL: Family<Addcmul> = Family::new(Addcmul, &kind::POINTWISE_TERNARY, shape);

pub(super) fn register(library: &mut Library) {
    let orders = DeprecatedOrders(&[&["self", "value", "tensor1", "tensor2"]]);
    library.family(&ADDCMUL).cpu(cpu).column(orders).derivative(|d, (input, tensor1, tensor2, value)| {
        d.by(input, [], |grad, []| Ok(grad.clone()))?;
        d.by(tensor1, [tensor2], move |grad, [b]| {
            derivatives::chained(&derivatives::times(grad, value)?, b)
        })?;
        d.by(tensor2, [tensor1], move |grad, [a]| derivatives::chained(&derivatives::times(grad, value)?, a))
    });
}

fn shape(input: &Tensor, first: &Tensor, second: &Tensor, value: Scalar) -> Result<TensorSpec> {
    let spec = pointwise::promoted([("self", input), ("tensor1", first), ("tensor2", second)])?;
    pointwise::check_numbers(spec.dtype())?;
    with_dtype!(spec.dtype(), T: Number by itself => arithmetic::element::<Math<T>>(value).map(drop))?;
    Ok(spec)
}

fn cpu(input: &Tensor, first: &Tensor, second: &Tensor, value: Scalar, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, first, second])?;
    with_dtype!(dtype, T: Number by bits => {
        let value = arithmetic::element_for::<Math<T>>(value, dtype)?;
        elementwise::ternary::<T, T, T, T>(out, input, first, second, move |a, b, c| {
            a.plus(value.times(b).times(c))
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            generate::and_named(generate::computed_in(NUMBERS, dtype, generate::triples(dtype)), "value", 2)
        };
        samples
            .operator(Addcmul, NUMBERS, inputs, |it| {
                let value = it.value("value")?;
                it.ternary(DTypeRule::Promoted, |a, b, c| {
                    number::plus(a, number::times(c, number::times(value, b)))
                })
            })
            .tolerance(4.0);
        samples.differs_as(
            Addcmul,
            &[
                departures::arithmetic::SIGN_OF_ZERO,
                departures::math::NOT_FINITE,
                pointwise::samples::NUMBER_IN_RANGE,
            ],
        );
        // A product is larger than its factors.
        samples.rounds(Addcmul, Roundings::all(Rounding::Sum(128)));
    }
}
