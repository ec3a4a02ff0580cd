//! A program that names its operators: without the feature `all-operators` it holds and links those alone, and what they need.

use opgrid::ops::AddTensor;
use opgrid::prelude::*;

/// The sum of two vectors, as text.
///
/// # Errors
///
/// Those of `add`.
pub fn sum() -> Result<String> {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    let y = Tensor::from_slice(&[10.0f32, 20.0, 30.0], &[3])?;
    Ok(x.add(&y)?.to_string())
}

/// The handle of an operator for calls by values: naming its type brings it along, where its name as text would not.
///
/// # Errors
///
/// Those of its registration.
pub fn by_values() -> Result<OperatorHandle> {
    Dispatcher::global().operator(AddTensor)
}
