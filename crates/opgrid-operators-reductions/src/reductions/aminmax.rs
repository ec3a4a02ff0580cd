//! `aten::aminmax`, `_aminmax`: the smallest and the largest element, of all or over a dimension.
//!
//! `min = min(self[0], self[1], …)`, `max = max(self[0], self[1], …)`
//!
//! - Shapes: without the dimension `dim`, or with size 1 for it with `keepdim`; no `dim` means all.
//! - Dtypes: that of `self`. NaN wins over every number.
//! - Aliasing: `aminmax.out` writes `min` and `max`, the overloads of `_aminmax` that end in `out` write `out0` and `out1`.
//! - Dispatch: `_aminmax` is a composite of `aminmax`.
//! - Derivative: equal elements share the gradients.
//! - Errors: complex numbers; nothing to choose from; a dimension out of range; an output of another dtype than `self`.
//! - Source: torch.aminmax, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::choice;
use opgrid_kinds::derivatives::ReducedDims;

pub use opgrid_tensor::ops::reductions::aminmax::*;

/// The family of `aten::aminmax`: its kind, shape rule and `out` rule.
pub const AMINMAX: Family<Aminmax> = Family::new(Aminmax, &kind::REDUCTION, shape).same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&AMINMAX)
        .cpu(|input, dim, _, least, most| {
            opgrid_kernels::indexing::check_apart(most.array()?, input.array()?)?;
            choice::smallest(least, input, dim.as_slice())?;
            choice::largest(most, input, dim.as_slice())
        })
        .derivative(|d, (input, dim, keepdim)| {
            let kept = ReducedDims::new(input, dim.as_ref().map(std::slice::from_ref), keepdim)?;
            d.by_all(input, [input, d.result(0), d.result(1)], move |grads, [x, least, most]| {
                let spread = |at: usize, out| {
                    grads
                        .for_result(at)
                        .map(|grad| extremum::distribute_gradient(grad, x, out, &kept))
                        .transpose()
                };
                derivatives::sum(spread(0, least)?, spread(1, most)?)
            })
        });
    library
        .define_with_forms(AminmaxAll, &kind::REDUCTION)
        .implicit(|input| Aminmax.call(input, None, false));
    library
        .implement(AminmaxAllOut)
        .implicit(|input, least, most| AminmaxOut.call(input, None, false, least, most));
    library
        .define_with_forms(AminmaxDim, &kind::REDUCTION)
        .implicit(|input, dim, keepdim| Aminmax.call(input, Some(dim), keepdim));
    library
        .implement(AminmaxDimOut)
        .implicit(|input, dim, keepdim, least, most| AminmaxOut.call(input, Some(dim), keepdim, least, most));
}

fn shape(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<(TensorSpec, TensorSpec)> {
    let spec = extremum::over_dims(input, dim.as_slice(), keepdim)?;
    Ok((spec.clone(), spec))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let inputs = |dtype| {
            let named = |sample: Sample| match sample.positional.as_slice() {
                [input, dim, keepdim] => {
                    given(input.clone()).named("dim", dim.clone()).named("keepdim", keepdim.clone())
                }
                _ => sample,
            };
            let of_all = [
                given(generate::numbers(dtype, &[2, 3], 1)),
                given(generate::numbers(dtype, &[2, 3], 1)).named("keepdim", true),
                given(generate::extremes(dtype)),
            ];
            generate::over_dim(dtype).into_iter().map(named).chain(of_all).collect()
        };
        samples
            .operator(Aminmax, ORDERED, inputs, reference)
            .refuses("no elements", given(generate::numbers(DType::F32, &[0], 0)))
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).named("dim", 2));
        let of_all =
            |dtype| vec![given(generate::numbers(dtype, &[2, 3], 1)), given(generate::extremes(dtype))];
        samples
            .operator(AminmaxAll, ORDERED, of_all, reference)
            .refuses("no elements", given(generate::numbers(DType::F32, &[0], 0)));
        samples
            .operator(AminmaxDim, ORDERED, generate::over_dim, reference)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(2));
        samples.differs_as(AminmaxAll, &[departures::arithmetic::SIGN_OF_ZERO, READ_AFTER_WRITTEN]);
        samples.differs_as(Aminmax, &[departures::arithmetic::SIGN_OF_ZERO, READ_AFTER_WRITTEN]);
        samples.differs(
            Aminmax,
            Difference {
                id: "extremes-into-their-own-input",
                what: "torch resizes an empty input that is also the output before it checks it, and \
                     reads out of bounds; here the input keeps its shape until it has been checked",
                why: "results would depend on memory outside of the tensor",
                test: (
                    "opgrid-operators/tests/all/differences/outputs.rs",
                    "products_into_their_own_factors",
                ),
                when: |seen| {
                    let memory = |name| seen.tensor(name).map(|tensor| tensor.memory);
                    let is_input = memory("self") == memory("min") || memory("self") == memory("max");
                    matches!(seen.part, Part::Sizes | Part::Strides) && is_input
                },
                directed: Some(Directed {
                    operator: "aten::aminmax.out",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[5, 0], &[]).into()),
                            ("dim", Scalar::Int(0).into()),
                            ("min", Operand::rows(0, DType::F32, &[5, 0], &[]).into()),
                            ("max", Operand::rows(1, DType::F32, &[0], &[]).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    fn reference(it: &Inputs) -> Result<Expected> {
        let (x, dim, keepdim) =
            (it.tensor("self")?, it.option::<i64>("dim")?, it.option("keepdim")?.unwrap_or(false));
        let chosen = |second: fn(std::cmp::Ordering) -> bool| {
            let one = |elements: &[Scalar]| {
                let all = elements.iter().copied().reduce(|a, b| number::extremum(a, b, second));
                all.unwrap_or(Scalar::Int(0))
            };
            x.reduced(dim.as_ref().map(std::slice::from_ref), keepdim, x.dtype(), one)
        };
        Ok([chosen(|order| order.is_gt()), chosen(|order| order.is_lt())].into())
    }
}
