//! `aten::addcdiv`: a quotient of two tensors, scaled and added.
//!
//! `out[i] = self[i] + value * tensor1[i] / tensor2[i]`
//!
//! - Shapes: all three broadcast.
//! - Dtypes: promoted; `value` is converted to the result's, without its fraction for integers.
//! - Aliasing: `addcdiv_` writes `self`, `addcdiv.out` writes `out`.
//! - Errors: integers and bools divided by such; results of integers and bools; a `value` beyond the range of the dtype.
//! - Source: torch.addcdiv, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::addcdiv::*;

/// The family of `aten::addcdiv`: its kind, shape rule and `out` rule.
pub const ADDCDIV: Family<Addcdiv> = Family::new(Addcdiv, &kind::POINTWISE_TERNARY, shape);

pub(super) fn register(library: &mut Library) {
    let orders = DeprecatedOrders(&[&["self", "value", "tensor1", "tensor2"]]);
    library.family(&ADDCDIV).cpu(cpu).column(orders).derivative(|d, (input, tensor1, tensor2, value)| {
        d.by(input, [], |grad, []| Ok(grad.clone()))?;
        d.by(tensor1, [tensor2], move |grad, [b]| {
            derivatives::divided(&derivatives::times(grad, value)?, b)
        })?;
        d.by(tensor2, [tensor1, tensor2], move |grad, [a, b]| {
            derivatives::chained(&derivatives::times(&(-grad)?, value)?, &(a / (b * b)?)?)
        })
    });
}

fn shape(input: &Tensor, first: &Tensor, second: &Tensor, value: Scalar) -> Result<TensorSpec> {
    let divides_integers = [first, second].iter().all(|tensor| {
        let dtype = tensor.dtype();
        dtype == DType::Bool || dtype.is_integral()
    });
    if divides_integers {
        let message = "arguments `tensor1` and `tensor2` are both integers or bools, for which division \
             is not supported; convert one of them to floats";
        return Err(argument(message));
    }
    let spec = pointwise::promoted([("self", input), ("tensor1", first), ("tensor2", second)])?;
    pointwise::check_inexact(spec.dtype())?;
    with_dtype!(spec.dtype(), T: Inexact => arithmetic::element::<Math<T>>(value).map(drop))?;
    Ok(spec)
}

fn cpu(input: &Tensor, first: &Tensor, second: &Tensor, value: Scalar, out: &Tensor) -> Result<()> {
    let dtype = result_type(&[input, first, second])?;
    with_dtype!(dtype, T: Inexact => {
        let value = arithmetic::element::<Math<T>>(value)?;
        elementwise::ternary::<T, T, T, T>(out, input, first, second, move |a, b, c| {
            a.plus(value.times(b).over(c))
        })
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            generate::and_named(generate::computed_in(INEXACT, dtype, generate::triples(dtype)), "value", 2)
        };
        samples
            .operator(Addcdiv, INEXACT, inputs, |it| {
                let value = it.value("value")?;
                it.ternary(DTypeRule::Promoted, |a, b, c| {
                    number::plus(a, number::over(number::times(value, b), c))
                })
            })
            .tolerance(8.0);
        samples.differs_as(
            Addcdiv,
            &[
                departures::arithmetic::SIGN_OF_ZERO,
                departures::math::NOT_FINITE,
                pointwise::samples::NUMBER_IN_RANGE,
            ],
        );
        // A product is larger than its factors.
        samples.rounds(Addcdiv, Roundings::all(Rounding::Sum(128)));
    }
}
