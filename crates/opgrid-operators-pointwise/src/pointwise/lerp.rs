//! `aten::lerp`: a part of the way from elements to others.
//!
//! `out[i] = self[i] + weight[i] * (end[i] - self[i])`
//!
//! - Shapes: `self`, `end` and a tensor as the weight broadcast.
//! - Dtypes: one for all tensors, floating-point or complex.
//! - Values: from the nearer end, so that a weight of one gives `end`.
//! - Aliasing: `lerp_` writes `self`, the `out` overloads write `out`; `lerp.Tensor_out` one of the dtype of `self`.
//! - Errors: two dtypes, integers and bools; a complex number as the weight of real tensors.
//! - Source: torch.lerp, PyTorch 2.15.

use crate::prelude::*;

pub use opgrid_tensor::ops::pointwise::lerp::*;

/// The family of `aten::lerp.Scalar`: its kind, shape rule and `out` rule.
pub const LERP_SCALAR: Family<LerpScalar> = Family::new(LerpScalar, &kind::POINTWISE_BINARY, shape);

/// The family of `aten::lerp.Tensor`: its kind, shape rule and `out` rule.
pub const LERP_TENSOR: Family<LerpTensor> =
    Family::new(LerpTensor, &kind::POINTWISE_TERNARY, tensor_shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library.family(&LERP_SCALAR).cpu(cpu).derivative(|d, (input, end, weight)| {
        d.by(input, [], move |grad, []| derivatives::chained(grad, &(1 - Tensor::number(weight))?))?;
        d.by(end, [], move |grad, []| derivatives::times(grad, weight))
    });
    library.family(&LERP_TENSOR).cpu(tensor_cpu).derivative(|d, (input, end, weight)| {
        d.by(input, [weight], |grad, [weight]| derivatives::chained(grad, &(1 - weight)?))?;
        d.by(end, [weight], |grad, [weight]| derivatives::chained(grad, weight))?;
        d.by(weight, [input, end], |grad, [input, end]| derivatives::chained(grad, &(end - input)?))
    });
}

fn shape(input: &Tensor, end: &Tensor, weight: Scalar) -> Result<TensorSpec> {
    pointwise::check_one_dtype(("self", input), ("end", end))?;
    pointwise::check_inexact(input.dtype())?;
    with_dtype!(input.dtype(), T: Inexact => arithmetic::element::<Math<T>>(weight).map(drop))?;
    pointwise::promoted([("self", input), ("end", end)])
}

fn tensor_shape(input: &Tensor, end: &Tensor, weight: &Tensor) -> Result<TensorSpec> {
    pointwise::check_one_dtype(("self", input), ("end", end))?;
    pointwise::check_one_dtype(("self", input), ("weight", weight))?;
    pointwise::check_inexact(input.dtype())?;
    pointwise::promoted([("self", input), ("end", end), ("weight", weight)])
}

fn cpu(input: &Tensor, end: &Tensor, weight: Scalar, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Inexact => {
        let weight = arithmetic::element::<Math<T>>(weight)?;
        elementwise::binary::<T, T, T>(out, input, end, move |a, end| Functions::lerp(a, end, weight))
    })
}

fn tensor_cpu(input: &Tensor, end: &Tensor, weight: &Tensor, out: &Tensor) -> Result<()> {
    with_dtype!(input.dtype(), T: Inexact => {
        elementwise::ternary::<T, T, T, T>(out, input, end, weight, Functions::lerp)
    })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let numbers = |dtype| {
            let pairs = generate::of_one_dtype(generate::pairs_to_divide(dtype));
            let with = |sample: Sample| [0.25, 0.75, 1.0, -2.0].map(|weight| sample.clone().and(weight));
            pairs.into_iter().flat_map(with).collect()
        };
        let x = generate::numbers(DType::F32, &[2], 0);
        samples
            .operator(LerpScalar, INEXACT, numbers, |it| {
                let weight = it.value("weight")?;
                it.binary(DTypeRule::Promoted, |a, b| between(a, b, weight))
            })
            .tolerance(8.0)
            .refuses("expected float32 as `self`", given(x.clone()).and(x.to(DType::F64)).and(0.5));
        let triples = |dtype| generate::of_one_dtype(generate::triples(dtype));
        samples
            .operator(LerpTensor, INEXACT, triples, |it| it.ternary(DTypeRule::Promoted, between))
            .tolerance(8.0)
            .refuses("expected float32 as `self`", given(x.clone()).and(x.clone()).and(x.to(DType::F64)));
        samples.differs_as(LerpScalar, &[departures::arithmetic::SIGN_OF_ZERO, departures::math::NOT_FINITE]);
        samples.differs(
            LerpTensor,
            Difference {
                id: "weights-of-one-dtype",
                what: "torch accepts tensors and outputs of other dtypes in `lerp` if they have no \
                     dimensions; here they need the dtype of `self`",
                why: "all shapes behave alike",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| {
                    seen.we_refuse("has dtype")
                        && seen.we_refuse("expected")
                        && seen.tensors().iter().any(|(_, tensor)| tensor.geometry.dims() == 0)
                },
                directed: None,
            },
        );
        // The difference of both is multiplied by the weight.
        samples.rounds(LerpScalar, Roundings::all(Rounding::Products(16)));
    }

    fn between(a: Scalar, b: Scalar, weight: Scalar) -> Scalar {
        number::plus(a, number::times(weight, number::minus(b, a)))
    }
}
