//! Forward mode: tensors with a tangent, which says how they change when inputs move in one direction.
//!
//! A call with such tensors runs on what is behind them, and its results get tangents. Kinds and operators state how
//! ([`ForwardRule`]); for all others it follows from the derivative that autograd has: products of vectors with the Jacobian are
//! linear in the vector, and the transposed of that product is the product of the Jacobian with a tangent.

mod rule;
mod rules;

use opgrid_core::{BoxedCall, DispatchKeySet, Error, ErrorKind, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::levels::{self, Level, Transform};
use opgrid_tensor::ops::ZerosLike;

pub use rule::{ForwardCall, ForwardRule};

pub(crate) use rules::install;

/// The transform of a function whose inputs have tangents.
pub struct Dual;

impl Dual {
    /// A tensor with a tangent, at a level of this transform.
    ///
    /// # Errors
    ///
    /// A tangent of other sizes or another dtype.
    pub fn wrap(primal: &Tensor, tangent: &Tensor, level: &Level) -> Result<Tensor> {
        if primal.sizes() != tangent.sizes() || primal.dtype() != tangent.dtype() {
            return Err(Error::new(
                ErrorKind::Argument,
                format!(
                    "jvp: found a tangent of sizes {:?} and {} for a tensor of sizes {:?} and {}, expected those of \
                     the tensor",
                    tangent.sizes(),
                    tangent.dtype(),
                    primal.sizes(),
                    primal.dtype()
                ),
            ));
        }
        let spec = primal.spec()?.clone();
        Ok(level.wrap(primal.clone(), Some(tangent.clone()), spec, DispatchKeySet::EMPTY))
    }
}

impl Transform for Dual {
    fn name(&self) -> &'static str {
        "jvp"
    }

    fn run(&self, call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
        if rule::is_made_of_writes(call)? {
            // They are called within the level, each with a tangent of what it writes.
            let backend = call.keys().highest_backend_type();
            return level.redispatch_parts(call, backend.key_set());
        }
        levels::check_writes(call, level)?;
        level.outside(|| rule::run(call, level))
    }

    fn adopt(&self, made: Tensor, level: &Level) -> Result<Tensor> {
        // It gets a tangent when one is written to it.
        let spec = made.spec()?.clone();
        Ok(level.wrap(made, None, spec, DispatchKeySet::EMPTY))
    }
}

/// The results of a function, and how they change when its inputs change by `tangents`: products of the Jacobian with these.
///
/// # Errors
///
/// Another number of tangents than of inputs, tangents of other sizes or dtypes; those of the function; an operator without a
/// derivative; a dispatcher without the layer ([`install`](crate::install)).
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
/// use opgrid_transforms::jvp;
///
/// let _transforms = opgrid_transforms::install(opgrid::dispatcher()?)?;
/// let (x, direction) = (tensor![1.0, 2.0]?, tensor![1.0, 0.0]?);
/// let (results, tangents) = jvp(&[&x], &[&direction], |x| Ok(vec![x[0].mul(&x[0])?]))?;
/// assert_eq!(results[0].to_vec::<f32>()?, [1.0, 4.0]);
/// assert_eq!(tangents[0].to_vec::<f32>()?, [2.0, 0.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[track_caller]
pub fn jvp(
    inputs: &[&Tensor],
    tangents: &[&Tensor],
    function: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<(Vec<Tensor>, Vec<Tensor>)> {
    if inputs.len() != tangents.len() {
        let (found, expected) = (tangents.len(), inputs.len());
        let message = format!("jvp: found {found} tangents for {expected} inputs, expected one for each");
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let entered = Level::enter(Dual)?;
    let level = entered.level().clone();
    let duals = inputs.iter().zip(tangents).map(|(input, tangent)| Dual::wrap(input, tangent, &level));
    let results = function(&duals.collect::<Result<Vec<_>>>()?)?;
    drop(entered);
    let mut given = (Vec::with_capacity(results.len()), Vec::with_capacity(results.len()));
    for result in results {
        let primal = level.inner_of(&result);
        let tangent = match level.behind(&result).and_then(|dual| dual.more()) {
            Some(tangent) => tangent.clone(),
            None => ZerosLike.call(&primal, None, None, None, None, None)?,
        };
        given.0.push(primal);
        given.1.push(tangent);
    }
    Ok(given)
}

/// A value as the results of a call have them, tensors of a list one by one.
pub(crate) fn tensors_of(values: &[Value]) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    let borrowed: Vec<_> = values.iter().map(Value::borrow).collect();
    opgrid_tensor::layers::levels::each_tensor(&borrowed, &mut |tensor| tensors.push(tensor.clone()));
    tensors
}
