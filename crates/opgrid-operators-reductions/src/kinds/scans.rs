//! What cumulative sums, products and extremes share: shape rules, kernels, derivatives and samples.

use opgrid_core::{DType, Result};

use crate::kinds::accumulation;
use opgrid_array::error::argument;
use opgrid_kernels::{reduce, scan};
use opgrid_kinds::pointwise;
use opgrid_tensor::layers::autograd::Recorder;
use opgrid_tensor::ops::ScatterAdd;
use opgrid_tensor::tensor::choose::unsupported;
use opgrid_tensor::tensor::views::normalise_dim;
use opgrid_tensor::tensor::{Tensor, TensorSpec};

/// The result along a dimension.
pub(crate) fn along(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<TensorSpec> {
    let (spec, dtype) = (input.spec()?, reduce::sum_dtype(input.dtype(), dtype));
    dimension(input, dim)?;
    if dtype == DType::Bool {
        return Err(unsupported(dtype, "a numeric dtype"));
    }
    TensorSpec::contiguous(spec.sizes(), dtype, spec.device())
}

/// The result in the memory of the input.
pub(crate) fn in_place(input: &Tensor, dim: i64, dtype: Option<DType>) -> Result<TensorSpec> {
    match dtype {
        Some(dtype) if dtype != input.dtype() => {
            let message =
                format!("argument `self` has dtype {}, expected that of `dtype`, {dtype}", input.dtype());
            Err(argument(message))
        }
        _ => along(input, dim, Some(input.dtype())),
    }
}

/// The result in the dtype of an output.
pub(crate) fn into_output(
    input: &Tensor,
    dim: i64,
    dtype: Option<DType>,
    out: &Tensor,
) -> Result<TensorSpec> {
    along(input, dim, Some(accumulation::out_dtype(dtype, out)?))
}

/// The chosen elements along a dimension, and where they are.
pub(crate) fn with_indices(input: &Tensor, dim: i64) -> Result<(TensorSpec, TensorSpec)> {
    let spec = input.spec()?;
    dimension(input, dim)?;
    pointwise::check_ordered(&[input])?;
    let of = |dtype| TensorSpec::contiguous(spec.sizes(), dtype, spec.device());
    Ok((of(spec.dtype())?, of(DType::I64)?))
}

/// Fills outputs of the largest elements so far along a dimension, or the smallest, and where they are.
pub(crate) fn fill_extremes(
    input: &Tensor,
    dim: i64,
    smallest: bool,
    values: &Tensor,
    indices: &Tensor,
) -> Result<()> {
    let dim = dimension(input, dim)?;
    scan::extremes(values.array()?, indices.array()?, input.array()?, dim, smallest)
}

/// States the derivative of the chosen elements: each element has the gradients of all places that it is chosen for.
pub(crate) fn derivative_of_extremes(d: &Recorder<'_>, input: &Tensor, dim: i64) -> Result<()> {
    let sizes = input.sizes().to_vec();
    d.differentiable(1);
    d.by(input, [d.result(1)], move |grad, [places]| gradient_of_extremes(grad, &sizes, places, dim))
}

/// The gradient of elements of these sizes, of which those at `places` were chosen for each place along a dimension.
///
/// # Errors
///
/// Those of the operators.
pub(crate) fn gradient_of_extremes(
    grad: &Tensor,
    sizes: &[i64],
    places: &Tensor,
    dim: i64,
) -> Result<Tensor> {
    ScatterAdd.call(&Tensor::zeros(sizes, grad.dtype(), grad.device())?, dim, places, grad)
}

/// The dimension of a call.
///
/// # Errors
///
/// One out of range.
pub(crate) fn dimension(input: &Tensor, dim: i64) -> Result<usize> {
    normalise_dim(dim, input.sizes().len())
}

/// The sums of each element and those behind it along a dimension: the gradient of a cumulative sum.
///
/// # Errors
///
/// Those of the operators.
pub(crate) fn sums_from_end(grad: &Tensor, dim: i64) -> Result<Tensor> {
    match grad.dim() {
        0 => Ok(grad.clone()),
        _ => grad.flip(&[dim])?.cumsum(dim)?.flip(&[dim]),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use std::cmp::Ordering;

    use opgrid_core::{Operator, Scalar};

    use super::*;
    use opgrid_samples::OperatorSamples;
    use opgrid_samples::prelude::*;

    /// Samples of an operator that chooses of all elements so far: the order of one with the next says whether that is chosen.
    pub(crate) fn of_extreme<O: Operator + Copy>(
        samples: &mut Samples,
        operator: O,
        second: fn(Ordering) -> bool,
    ) {
        let reference = move |it: &Inputs| -> Result<Expected> {
            let (x, dim) = (it.tensor("self")?, it.value("dim")?);
            let places = |line: &[Scalar]| -> Vec<usize> {
                let next = |best: &mut usize, at: usize| {
                    let is_reached = number::order(line[*best], line[at]).is_some_and(second);
                    if number::is_nan(line[at]) || !number::is_nan(line[*best]) && is_reached {
                        *best = at;
                    }
                    Some(*best)
                };
                (0..line.len()).scan(0, next).collect()
            };
            let values = |x: &[Vec<Scalar>]| places(&x[0]).into_iter().map(|at| x[0][at]).collect();
            let indices =
                |x: &[Vec<Scalar>]| places(&x[0]).into_iter().map(|at| Scalar::Int(at as i64)).collect();
            Ok([
                Plain::of_lines(&[x], dim, x.dtype(), values),
                Plain::of_lines(&[x], dim, DType::I64, indices),
            ]
            .into())
        };
        let inputs = |dtype| {
            let ends = given(generate::extremes(dtype)).and(0);
            generate::along_dim(dtype).into_iter().chain([ends]).collect()
        };
        samples
            .operator_with(operator, ORDERED, inputs, reference)
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(1));
    }

    /// Samples of an operator that joins all elements so far with the next one, beginning with `first`.
    pub(crate) fn collect<O: Operator + Copy>(
        samples: &mut Samples,
        operator: O,
        first: i64,
        join: fn(Scalar, Scalar) -> Scalar,
    ) -> &mut OperatorSamples {
        let reference = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            let dtype = accumulation::samples::expected_dtype(it, x)?;
            let line = |x: &[Vec<Scalar>]| {
                let joined = x[0].iter().scan(Plain::number(dtype, first).at(&[]), |state, element| {
                    *state = join(*state, *element);
                    Some(*state)
                });
                joined.collect()
            };
            Ok(Plain::of_lines(&[&x.to(dtype)], it.value("dim")?, dtype, line).into())
        };
        samples.differs_as(operator, &[departures::reduce::NOT_FINITE, READ_AFTER_WRITTEN]);
        samples
            .operator_with(operator, ANY, inputs, reference)
            .output_decides()
            .in_place_refuses(&[DType::Bool])
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(1))
            .refuses(
                "numeric dtype",
                given(generate::numbers(DType::F32, &[2], 0)).and(0).named("dtype", DType::Bool),
            )
    }

    /// Lines, and such with a dtype that a real input cannot be written in.
    fn inputs(dtype: DType) -> Vec<Sample> {
        let mut samples = generate::along_dim(dtype);
        if !dtype.is_complex() {
            let other = given(generate::numbers(dtype, &[2, 3], 1)).and(0).named("dtype", DType::Complex128);
            samples.push(other);
        }
        samples
    }

    /// Differences for cumulative sums and products.
    pub(crate) const ONE_BOOL: Difference = Difference {
        id: "scans-into-one-bool",
        what: "torch does not check the dtype of a bool without dimensions that is an output or \
             `dtype`; here bools are rejected whatever the sizes are",
        why: "whether a call is valid must not depend on sizes or elements",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let is_one = seen.tensor("self").is_some_and(|input| input.geometry.dims() == 0);
            let is_written = seen.written_operand().is_some_and(|out| out.dtype == DType::Bool);
            let is_asked_for = matches!(seen.argument("dtype"), Some(Argument::DType(DType::Bool)));
            let is_one = is_one && (is_written || is_asked_for);
            is_one && seen.we_refuse("expected a numeric dtype")
        },
        directed: Some(Directed {
            operator: "aten::cumsum_",
            arguments: || {
                vec![
                    ("self", Operand::rows(0, DType::Bool, &[], &[1.0]).into()),
                    ("dim", Scalar::Int(0).into()),
                ]
            },
            needs: None,
        }),
    };
}
