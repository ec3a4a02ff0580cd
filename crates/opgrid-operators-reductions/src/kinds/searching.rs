//! What `searchsorted` and `bucketize` share: shape rules, the loop, samples.

use opgrid_core::{DType, Result};

use opgrid_array::error::argument;
use opgrid_kernels::searching;
use opgrid_kinds::pointwise;
use opgrid_tensor::tensor::{Tensor, TensorSpec, result_type};

/// Where values belong in a sequence: int64, or int32 if that is asked for.
pub(crate) fn places(sequence: &Tensor, values: &Tensor, out_int32: bool) -> Result<TensorSpec> {
    let is_number = values.is_number();
    let (sequence, values) = (sequence.spec()?, values.spec()?);
    if !is_number && values.device() != sequence.device() {
        let message = format!(
            "the values are on device {}, expected that of the sequence, {}",
            values.device(),
            sequence.device()
        );
        return Err(argument(message));
    }
    let (own, sizes) = (sequence.sizes(), values.sizes());
    pointwise::check_real(sequence.dtype())?;
    pointwise::check_real(values.dtype())?;
    let Some((&length, outer)) = own.split_last() else {
        return Err(argument("the sequence has no dimensions, expected one or more"));
    };
    let fits = outer.is_empty() || sizes.split_last().is_some_and(|(_, rows)| rows == outer);
    if !fits {
        let message = format!(
            "the sequence has shape {own:?} and the values {sizes:?}, expected one dimension, or as many with the same sizes but for \
             the last"
        );
        return Err(argument(message));
    }
    if out_int32 && i32::try_from(length).is_err() {
        return Err(argument(format!("the sequence has {length} elements, more than int32 can index")));
    }
    let dtype = if out_int32 { DType::I32 } else { DType::I64 };
    TensorSpec::contiguous(sizes, dtype, sequence.device())
}

/// # Errors
///
/// `side` is another word than left and right, or says otherwise than `right`.
pub(crate) fn is_right(right: bool, side: Option<&str>) -> Result<bool> {
    match side {
        None => Ok(right),
        Some("right") => Ok(true),
        Some("left") if right => {
            Err(argument("argument `side` is \"left\", but `right` is true; leave one out"))
        }
        Some("left") => Ok(false),
        Some(other) => Err(argument(format!("argument `side` is {other:?}, expected \"left\" or \"right\""))),
    }
}

/// # Errors
///
/// A sorter of another shape than the sequence or another dtype than int64.
pub(crate) fn check_sorter(sequence: &Tensor, sorter: Option<&Tensor>) -> Result<()> {
    let Some(sorter) = sorter else { return Ok(()) };
    let spec = sorter.spec()?;
    if spec.sizes() != sequence.sizes() {
        let message = format!(
            "argument `sorter` has shape {:?}, expected that of the sequence, {:?}",
            spec.sizes(),
            sequence.sizes()
        );
        return Err(argument(message));
    }
    match spec.dtype() {
        DType::I64 => Ok(()),
        found => Err(argument(format!("argument `sorter` has dtype {found}, expected int64"))),
    }
}

/// Fills an output with places.
pub(crate) fn fill(
    sequence: &Tensor,
    values: &Tensor,
    right: bool,
    sorter: Option<&Tensor>,
    out: &Tensor,
) -> Result<()> {
    let dtype = result_type(&[sequence, values])?;
    let number = values.bare_number().map(|number| Tensor::number(*number));
    let values = number.as_ref().unwrap_or(values).array()?;
    match sorter {
        None => searching::places(out.array()?, sequence.array()?, values, dtype, right),
        Some(sorter) => {
            let sequence = searching::reordered(sequence.array()?, sorter.array()?, dtype)?;
            searching::places(out.array()?, &sequence, values, dtype, right)
        }
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use opgrid_core::Scalar;

    use super::*;
    use opgrid_samples::prelude::*;

    /// What is expected of a sample.
    pub(crate) fn expected(it: &Inputs, sequence: &str, values: &str) -> Result<Expected> {
        let (sequence, values) = (it.tensor(sequence)?, it.operand(values)?);
        let right = it.value("right")? || it.option::<String>("side")?.as_deref() == Some("right");
        let sorter = it.tensor("sorter").ok();
        let dtype = if it.value("out_int32")? { DType::I32 } else { DType::I64 };
        let length = sequence.sizes().last().copied().unwrap_or(0);
        Ok(Plain::from_fn(dtype, values.sizes(), |position| {
            let line: Vec<i64> = match sequence.sizes().len() {
                1 => Vec::new(),
                _ => position[..position.len() - 1].to_vec(),
            };
            let at = |x: &Plain, k: i64| x.at(&[&line[..], &[k]].concat());
            let element = |k: i64| match sorter {
                Some(sorter) => at(sequence, number::whole(at(sorter, k))),
                None => at(sequence, k),
            };
            let value = values.at(position);
            let is_before = |k: &i64| {
                number::order(element(*k), value)
                    .is_none_or(|order| if right { order.is_le() } else { order.is_lt() })
            };
            Scalar::Int((0..length).take_while(is_before).count() as i64)
        })
        .into())
    }
}
