//! What comparisons share: the shape rule of those that need an order, and their samples.

use opgrid_core::{DType, Operator, Result, Scalar};

use super::pointwise;
use crate::samples::{DTypeRule, Samples};
use crate::tensor::{Tensor, TensorSpec};

/// Bools, from tensors whose elements have an order.
pub(crate) fn of_ordered(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, other])?;
    pointwise::bool_binary(input, other)
}

/// Samples of a comparison of two tensors and of one beside a number; `holds` is what it asks.
pub(crate) fn samples<T: Operator, N: Operator>(
    samples: &mut Samples,
    (tensor, number): (T, N),
    dtypes: &[DType],
    holds: fn(Scalar, Scalar) -> bool,
) {
    samples.binary(tensor, dtypes, DTypeRule::Bool, move |a, b| Scalar::Bool(holds(a, b)));
    samples.beside_number(number, dtypes, DTypeRule::Bool, move |a, b| Scalar::Bool(holds(a, b)));
}
