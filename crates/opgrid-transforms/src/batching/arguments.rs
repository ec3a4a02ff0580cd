//! What rules do with the arguments of a call and with their sizes.

use opgrid_core::{Error, ErrorKind, Result, TensorType, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;

/// The error for an argument that no example has.
pub(super) fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Argument, message.into())
}

/// Argument number `place` as it is, where it is a tensor.
pub(super) fn given<'b>(call: &BatchedCall<'_, 'b>, place: usize) -> Option<&'b Tensor> {
    Tensor::from_any_ref(call.args().get(place)?.as_tensor()?).filter(|tensor| tensor.is_defined())
}

/// A tensor among the arguments with the examples along dimension 0, if it is given.
pub(super) fn optional(call: &BatchedCall<'_, '_>, place: usize) -> Result<Option<Tensor>> {
    given(call, place).map(|tensor| call.stretched(tensor)).transpose()
}

/// A tensor among the arguments with the examples along dimension 0.
///
/// # Errors
///
/// It is not given.
pub(super) fn full(call: &BatchedCall<'_, '_>, place: usize) -> Result<Tensor> {
    optional(call, place)?.ok_or_else(|| refused(format!("argument number {place} is no tensor")))
}

/// Whether a tensor among the arguments differs from example to example.
pub(super) fn differs(call: &BatchedCall<'_, '_>, place: usize) -> bool {
    call.tensor(place).is_some_and(|(_, is_batch)| is_batch)
}

/// An argument that is a number.
///
/// # Errors
///
/// It is none.
pub(super) fn int(call: &BatchedCall<'_, '_>, place: usize) -> Result<i64> {
    call.args()[place].as_int().ok_or_else(|| refused(format!("argument number {place} is no integer")))
}

/// An argument that says yes or no.
pub(super) fn flag(call: &BatchedCall<'_, '_>, place: usize) -> bool {
    call.args()[place].as_bool() == Some(true)
}

/// An argument that is a list of numbers.
///
/// # Errors
///
/// It is none.
pub(super) fn ints(call: &BatchedCall<'_, '_>, place: usize) -> Result<Vec<i64>> {
    match call.args()[place].view() {
        opgrid_core::ValueView::Ints(list) => Ok(list.to_vec()),
        _ => Err(refused(format!("argument number {place} is no list of integers"))),
    }
}

/// The arguments from there on as they are.
pub(super) fn others(call: &BatchedCall<'_, '_>, from: usize) -> Vec<Value> {
    call.args()[from..].iter().map(|value| value.to_value()).collect()
}

/// A dimension of an example of that rank, counted behind that of the batch.
pub(super) fn behind(dim: i64, rank: i64) -> i64 {
    if dim < 0 { dim + rank.max(1) + 1 } else { dim + 1 }
}

/// Examples of one dimension each, with their elements in a row.
pub(super) fn rows(tensor: &Tensor) -> Result<Tensor> {
    let (size, example) = (tensor.sizes()[0], tensor.sizes()[1..].iter().product::<i64>());
    tensor.reshape([size, example])
}

/// With sizes 1 behind dimension 0, up to that many dimensions in all.
pub(super) fn with_dims(tensor: &Tensor, dims: usize) -> Result<Tensor> {
    let lacking = dims.saturating_sub(tensor.dim());
    if lacking == 0 {
        return Ok(tensor.clone());
    }
    let sizes = tensor.sizes();
    tensor.reshape([&sizes[..1], vec![1; lacking].as_slice(), &sizes[1..]].concat())
}

/// With sizes 1 at the end, up to that many dimensions in all.
pub(super) fn with_last_dims(tensor: &Tensor, dims: usize) -> Result<Tensor> {
    let lacking = dims.saturating_sub(tensor.dim());
    tensor.reshape([tensor.sizes(), vec![1; lacking].as_slice()].concat())
}

/// An argument that is a list of yes and no.
///
/// # Errors
///
/// It is none.
pub(super) fn flags(call: &BatchedCall<'_, '_>, place: usize) -> Result<Vec<bool>> {
    match call.args()[place].view() {
        opgrid_core::ValueView::Bools(list) => Ok(list.to_vec()),
        _ => Err(refused(format!("argument number {place} is no list of bools"))),
    }
}
