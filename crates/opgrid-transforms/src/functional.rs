//! Functions without writes.

use opgrid_core::Result;
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::functional::{Functional, Kept, share, value, wrap};
use opgrid_tensor::layers::levels::Level;

use crate::reverse::have_one_memory;

/// Runs a function so that no operator in it writes: what it writes becomes results of operators that give new tensors, and inputs that
/// it writes get their values at the end.
///
/// Transforms and tracers around see pure operators only; with [`Kept::Nothing`], copies in place of views, too.
///
/// # Errors
///
/// An operator that writes and has no form without, such as `resize_`; a write to an input that shares memory with another one; those of
/// the function; a dispatcher without the layer ([`install`](crate::install)).
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
/// use opgrid_transforms::{Kept, functionalize};
///
/// let _transforms = opgrid_transforms::install(opgrid::dispatcher()?)?;
/// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
/// let results = functionalize(&[&x], Kept::Views, |inputs| {
///     inputs[0].select(0, 1)?.mul_(10.0)?;
///     Ok(vec![inputs[0].sum()?])
/// })?;
/// assert_eq!(results[0].to_vec::<f32>()?, [73.0]);
/// assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0, 30.0, 40.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[track_caller]
pub fn functionalize(
    inputs: &[&Tensor],
    kept: Kept,
    function: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<Vec<Tensor>> {
    let entered = Functional::enter(kept)?;
    let level = entered.level();
    let wrapped = wrap_inputs(inputs, level)?;
    let results = function(&wrapped)?;
    let values =
        |tensors: &[Tensor]| tensors.iter().map(|tensor| value(tensor, level)).collect::<Result<Vec<_>>>();
    let (results_now, inputs_now) = (values(&results)?, values(&wrapped)?);
    level.leave();
    for (input, (value, is_written)) in inputs.iter().zip(&inputs_now) {
        if *is_written {
            input.copy_(value)?;
        }
    }
    // A result that is an input is that input, also where it was written.
    let each = results.iter().zip(results_now).map(|(result, (value, _))| {
        let input = wrapped.iter().position(|wrapped| wrapped.is_same(result));
        input.map_or(value, |place| inputs[place].clone())
    });
    Ok(each.collect())
}

/// The inputs as tensors of a level that is a [`Functional`]: one that is given twice is one tensor, and one that shares memory with
/// another one may not be written.
///
/// # Errors
///
/// A tensor that is not defined.
pub fn wrap_inputs(inputs: &[&Tensor], level: &Level) -> Result<Vec<Tensor>> {
    let mut wrapped: Vec<Tensor> = Vec::with_capacity(inputs.len());
    for (place, input) in inputs.iter().enumerate() {
        let same = inputs[..place].iter().position(|other| other.is_same(input));
        wrapped.push(match same {
            Some(same) => wrapped[same].clone(),
            None => wrap((*input).clone(), level)?,
        });
    }
    for (place, input) in inputs.iter().enumerate() {
        if inputs.iter().any(|other| !other.is_same(input) && have_one_memory(other, input)) {
            share(&wrapped[place], level);
        }
    }
    Ok(wrapped)
}
