//! What operators share that choose the largest or the smallest element: shape rules and samples.

use std::cmp::Ordering;

use opgrid_core::{DType, Operator, Result, Scalar};

use super::pointwise;
use crate::kernels::access::READ_AFTER_WRITTEN;
use crate::kernels::{arithmetic, choice, reduce};
use crate::samples::{DTypeRule, Expected, Inputs, ORDERED, Samples, given, make, number};
use crate::tensor::{Tensor, TensorSpec};

/// The chosen ones of two tensors.
pub(crate) fn of_two(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, other])?;
    pointwise::promoted([("self", input), ("other", other)])
}

/// The chosen ones over dimensions.
pub(crate) fn over_dims(input: &Tensor, dim: &[i64], keepdim: bool) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input])?;
    choice::check_not_empty(input.spec()?, dim)?;
    reduce::shape(input.spec()?, dim, keepdim, input.dtype())
}

/// Samples of an operator of two tensors, where the order of two elements says whether the second one is chosen.
pub(crate) fn samples_of_two<O: Operator + Copy>(
    samples: &mut Samples,
    operator: O,
    second: fn(Ordering) -> bool,
) {
    samples
        .binary(operator, ORDERED, DTypeRule::Promoted, move |a, b| number::chosen(a, b, second))
        .refuses("does not broadcast", make::misfits());
    samples.differs(operator, arithmetic::SIGN_OF_ZERO);
}

/// Samples of an operator over dimensions.
pub(crate) fn samples_over_dims<O: Operator + Copy>(
    samples: &mut Samples,
    operator: O,
    second: fn(Ordering) -> bool,
) {
    let reference = move |it: &Inputs| -> Result<Expected> {
        let (x, dims) = (it.tensor("self")?, it.value::<Vec<i64>>("dim")?);
        let chosen = |elements: &[Scalar]| {
            let all = elements.iter().copied().reduce(|a, b| number::chosen(a, b, second));
            all.unwrap_or(Scalar::Int(0))
        };
        Ok(x.reduced(Some(&dims), it.value("keepdim")?, x.dtype(), chosen).into())
    };
    samples
        .of_function(operator, ORDERED, make::over_dims, reference)
        .refuses("", given(make::numbers(DType::F32, &[0], 0)))
        .refuses("range", given(make::numbers(DType::F32, &[2], 0)).and([2].to_vec()));
    samples.differs_as(operator, &[arithmetic::SIGN_OF_ZERO, READ_AFTER_WRITTEN]);
}
