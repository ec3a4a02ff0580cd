//! What operators share that choose the largest or the smallest element: shape rules and samples.

use opgrid_core::{DType, Result};

use crate::derivatives::{self, ReducedDims};
use crate::pointwise;
use opgrid_kernels::{choice, reduce};
use opgrid_tensor::ops::WhereSelf;
use opgrid_tensor::tensor::{Tensor, TensorSpec};

/// The chosen ones of two tensors.
pub fn of_two(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, other])?;
    pointwise::promoted([("self", input), ("other", other)])
}

/// The chosen ones over dimensions.
pub fn over_dims(input: &Tensor, dim: &[i64], keepdim: bool) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input])?;
    choice::check_not_empty(input.spec()?, dim)?;
    reduce::shape(input.spec()?, dim, keepdim, input.dtype())
}

/// The one of all elements.
pub fn of_all(input: &Tensor) -> Result<TensorSpec> {
    over_dims(input, &[], false)
}

/// Where the chosen one is, of all or over a dimension.
pub fn index(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<TensorSpec> {
    let spec = input.spec()?;
    choice::check_not_empty(spec, dim.as_slice())?;
    pointwise::check_real(spec.dtype())?;
    reduce::shape(spec, dim.as_slice(), keepdim, DType::I64)
}

/// The chosen ones over a dimension, and where they are.
pub fn with_index(input: &Tensor, dim: i64, keepdim: bool) -> Result<(TensorSpec, TensorSpec)> {
    let values = over_dims(input, &[dim], keepdim)?;
    let indices = TensorSpec::new(values.geometry().clone(), DType::I64, values.device());
    Ok((values, indices))
}

/// The gradient of the first of two tensors, of which the largest or the smallest elements were chosen. Equal ones share it.
///
/// # Errors
///
/// Those of the operators.
pub fn shared(grad: &Tensor, first: &Tensor, second: &Tensor, is_second: &Tensor) -> Result<Tensor> {
    let half = WhereSelf.call(&first.eq(second)?, &grad.mul(0.5)?, grad)?;
    derivatives::where_false(is_second, &half)
}

/// The gradient of what the largest or the smallest elements were chosen of. Equal ones share it.
///
/// # Errors
///
/// Those of the operators.
pub fn distribute_gradient(grad: &Tensor, x: &Tensor, out: &Tensor, kept: &ReducedDims) -> Result<Tensor> {
    let out = kept.keep_dims(out)?;
    let is_chosen = x.eq(&out)?.logical_or(&x.isnan()?.logical_and(&out.isnan()?)?)?;
    let share = kept.keep_dims(grad)?.div(&kept.sum_to_kept(&is_chosen)?)?;
    derivatives::where_true(&is_chosen, &share)
}

/// Samples of extremes.
#[cfg(feature = "samples")]
pub mod samples {
    use std::cmp::Ordering;

    use opgrid_core::{Operator, Scalar};

    use super::*;
    use opgrid_samples::prelude::*;

    /// Samples of an operator of two tensors, where the order of two elements says whether the second one is chosen.
    pub fn of_two<O: Operator + Copy>(samples: &mut Samples, operator: O, second: fn(Ordering) -> bool) {
        samples
            .binary(operator, ORDERED, DTypeRule::Promoted, move |a, b| number::extremum(a, b, second))
            .refuses("does not broadcast", generate::misfits());
        samples.differs(operator, departures::arithmetic::SIGN_OF_ZERO);
    }

    /// Samples of an operator over dimensions.
    pub fn over_dims<O: Operator + Copy>(samples: &mut Samples, operator: O, second: fn(Ordering) -> bool) {
        let reference = move |it: &Inputs| -> Result<Expected> {
            let (x, dims) = (it.tensor("self")?, it.value::<Vec<i64>>("dim")?);
            let chosen = |elements: &[Scalar]| {
                let all = elements.iter().copied().reduce(|a, b| number::extremum(a, b, second));
                all.unwrap_or(Scalar::Int(0))
            };
            Ok(x.reduced(Some(&dims), it.value("keepdim")?, x.dtype(), chosen).into())
        };
        samples
            .operator_with(operator, ORDERED, generate::over_dims, reference)
            .refuses("", given(generate::numbers(DType::F32, &[0], 0)))
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and([2].to_vec()));
        samples.differs_as(operator, &[departures::arithmetic::SIGN_OF_ZERO, READ_AFTER_WRITTEN]);
    }

    /// Samples of an operator of all elements.
    pub fn of_all<O: Operator + Copy>(samples: &mut Samples, operator: O, second: fn(Ordering) -> bool) {
        let reference = move |it: &Inputs| -> Result<Expected> {
            let x = it.tensor("self")?;
            let chosen = |elements: &[Scalar]| {
                let all = elements.iter().copied().reduce(|a, b| number::extremum(a, b, second));
                all.unwrap_or(Scalar::Int(0))
            };
            Ok(x.reduced(None, false, x.dtype(), chosen).into())
        };
        let inputs = |dtype| {
            let is_there = |sample: &Sample| {
                sample.positional.iter().flat_map(Given::tensors).all(|x| !x.elements().is_empty())
            };
            generate::unary(dtype).into_iter().filter(is_there).collect()
        };
        samples
            .operator_with(operator, ORDERED, inputs, reference)
            .refuses("no elements", given(generate::numbers(DType::F32, &[0], 0)));
        samples.differs_as(operator, &[departures::arithmetic::SIGN_OF_ZERO, READ_AFTER_WRITTEN]);
    }

    /// Samples of an operator that says where the chosen one is: the first of several, NaN before all.
    pub fn of_index<O: Operator + Copy>(samples: &mut Samples, operator: O, second: fn(Ordering) -> bool) {
        let reference = move |it: &Inputs| -> Result<Expected> {
            let (x, dim) = (it.tensor("self")?, it.value::<Option<i64>>("dim")?);
            let index = |elements: &[Scalar]| Scalar::Int(place(elements, second) as i64);
            Ok(x.reduced(dim.as_ref().map(std::slice::from_ref), it.value("keepdim")?, DType::I64, index)
                .into())
        };
        let inputs = |dtype| {
            let of_all = [
                given(generate::numbers(dtype, &[3, 4], 1)),
                given(generate::extremes(dtype)),
                given(Plain::from_elements(dtype, &[4], &[1, 2])),
            ];
            generate::over_dim(dtype).into_iter().chain(of_all).collect()
        };
        samples
            .operator_with(operator, REAL, inputs, reference)
            .refuses("", given(generate::numbers(DType::F32, &[0], 0)))
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(2));
        samples.differs(operator, READ_AFTER_WRITTEN);
    }

    /// Samples of an operator that gives the chosen ones over a dimension and where they are.
    pub fn with_index<O: Operator + Copy>(samples: &mut Samples, operator: O, second: fn(Ordering) -> bool) {
        let reference = move |it: &Inputs| -> Result<Expected> {
            let (x, dim, keepdim) = (it.tensor("self")?, it.value::<i64>("dim")?, it.value("keepdim")?);
            let index = |elements: &[Scalar]| Scalar::Int(place(elements, second) as i64);
            let value = |elements: &[Scalar]| {
                elements.get(place(elements, second)).copied().unwrap_or(Scalar::Int(0))
            };
            let values = x.reduced(Some(&[dim]), keepdim, x.dtype(), value);
            Ok([values, x.reduced(Some(&[dim]), keepdim, DType::I64, index)].into())
        };
        let inputs = |dtype| {
            let of_one = [
                given(generate::extremes(dtype)).and(0),
                given(Plain::from_elements(dtype, &[4], &[1, 2])).and(0),
            ];
            generate::over_dim(dtype).into_iter().chain(of_one).collect()
        };
        samples
            .operator_with(operator, ORDERED, inputs, reference)
            .refuses("size 0", given(generate::numbers(DType::F32, &[0], 0)).and(0))
            .refuses("range", given(generate::numbers(DType::F32, &[2], 0)).and(2));
    }

    /// Where the chosen one of some elements is.
    fn place(elements: &[Scalar], second: fn(Ordering) -> bool) -> usize {
        let beats = |best: usize, other: usize| {
            let [best, other] = [best, other].map(|at| elements[at]);
            !number::is_nan(best) && (number::is_nan(other) || number::order(best, other).is_some_and(second))
        };
        let best = (0..elements.len()).reduce(|best, other| if beats(best, other) { other } else { best });
        best.unwrap_or(0)
    }
}
