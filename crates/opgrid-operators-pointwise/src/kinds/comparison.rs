//! What comparisons share: the shape rule of those that need an order, tolerances, and samples.

use opgrid_core::Result;

use opgrid_array::error::argument;
use opgrid_kinds::pointwise;
use opgrid_tensor::ops::ToCopy;
use opgrid_tensor::tensor::{Tensor, TensorSpec, inexact};

/// Bools, from tensors whose elements have an order.
pub(crate) fn of_ordered(input: &Tensor, other: &Tensor) -> Result<TensorSpec> {
    pointwise::check_ordered(&[input, other])?;
    pointwise::bool_binary(input, other)
}

/// The tensor itself, or a copy in the default dtype if its own has no fractions.
///
/// # Errors
///
/// Those of the copy.
pub(crate) fn with_fractions(tensor: &Tensor) -> Result<Tensor> {
    match inexact(tensor.dtype()) {
        dtype if dtype == tensor.dtype() => Ok(tensor.clone()),
        dtype => ToCopy.call(tensor, Some(dtype), None, None, None, false, None),
    }
}

/// # Errors
///
/// Two dtypes; shapes that do not broadcast; a negative tolerance, or NaN.
pub(crate) fn check_close(input: &Tensor, other: &Tensor, rtol: f64, atol: f64) -> Result<()> {
    pointwise::check_one_dtype(("self", input), ("other", other))?;
    pointwise::bool_binary(input, other)?;
    let is_wrong = |(_, tolerance): &(&str, f64)| tolerance.is_nan() || *tolerance < 0.0;
    match [("rtol", rtol), ("atol", atol)].into_iter().find(is_wrong) {
        Some((name, found)) => Err(argument(format!("argument `{name}` is {found}, expected zero or more"))),
        None => Ok(()),
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::{DType, Operator, Scalar};

    use super::*;
    use opgrid_samples::prelude::*;

    /// Samples of a comparison of two tensors and of one beside a number; `holds` is what it asks.
    pub(crate) fn collect<T: Operator, N: Operator>(
        samples: &mut Samples,
        (tensor, number): (T, N),
        dtypes: &[DType],
        holds: fn(Scalar, Scalar) -> bool,
    ) {
        samples.binary(tensor, dtypes, DTypeRule::Bool, move |a, b| Scalar::Bool(holds(a, b)));
        samples.beside_number(number, dtypes, DTypeRule::Bool, move |a, b| Scalar::Bool(holds(a, b)));
    }

    /// Whether each pair of elements of `self` and `other` is close.
    ///
    /// # Errors
    ///
    /// An argument is missing; shapes that do not broadcast.
    pub(crate) fn is_close(it: &Inputs) -> Result<Plain> {
        let (a, b) = (it.tensor("self")?, it.tensor("other")?);
        let [rtol, atol]: [f64; 2] = [it.value("rtol")?, it.value("atol")?];
        let equal_nan: bool = it.value("equal_nan")?;
        let sizes = naive::broadcast([a.sizes(), b.sizes()].into_iter())?;
        Ok(Plain::from_fn(DType::Bool, &sizes, |position| {
            let (a, b) = (a.at(position), b.at(position));
            let difference = (a.to_complex() - b.to_complex()).norm();
            let near = difference.is_finite() && difference <= atol + rtol * b.to_complex().norm();
            Scalar::Bool(near || number::same(a, b) || (equal_nan && number::is_nan(a) && number::is_nan(b)))
        }))
    }
}
