//! Jacobians and Hessians: one product with the Jacobian for each row or column, all in one batch.

use opgrid_core::{DType, Error, ErrorKind, Result};
use opgrid_tensor::Tensor;
use opgrid_tensor::ops::{Eye, MovedimInt};

use crate::batch::vmap;
use crate::forward::jvp;
use crate::reverse::{grad, vjp};

/// The Jacobian of a function by reverse mode, which fits functions with fewer results than inputs: of sizes `[results…, inputs…]`.
///
/// # Errors
///
/// Those of [`vjp`].
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
///
/// let _transforms = opgrid_transforms::install(opgrid::dispatcher()?)?;
/// let x = tensor![1.0, 2.0]?;
/// let jacobian = opgrid_transforms::jacrev(&x, |x| x.mul(x))?;
/// assert_eq!(jacobian.to_vec::<f32>()?, [2.0, 0.0, 0.0, 4.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[track_caller]
pub fn jacrev(input: &Tensor, function: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (results, vjp) = vjp(&[input], |inputs| Ok(vec![function(&inputs[0])?]))?;
    let result = &results[0];
    let rows = vmap(&unit_vectors(result)?, |row| Ok(vjp.call(&[Some(row.clone())])?.remove(0)))?;
    rows.reshape([result.sizes(), input.sizes()].concat())
}

/// The Jacobian of a function by forward mode, which fits functions with fewer inputs than results: of sizes `[results…, inputs…]`.
///
/// # Errors
///
/// Those of [`jvp`].
#[track_caller]
pub fn jacfwd(input: &Tensor, function: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let columns = vmap(&unit_vectors(input)?, |column| {
        Ok(jvp(&[input], &[column], |inputs| Ok(vec![function(&inputs[0])?]))?.1.remove(0))
    })?;
    let columns = MovedimInt.call(&columns, 0, -1)?;
    let sizes = [&columns.sizes()[..columns.dim() - 1], input.sizes()].concat();
    columns.reshape(sizes)
}

/// The second derivative of a function with one number as its result: of sizes `[inputs…, inputs…]`.
///
/// # Errors
///
/// Those of [`jacfwd`] and [`grad`].
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
///
/// let _transforms = opgrid_transforms::install(opgrid::dispatcher()?)?;
/// let x = tensor![1.0, 2.0]?;
/// let hessian = opgrid_transforms::hessian(&x, |x| x.prod())?;
/// assert_eq!(hessian.to_vec::<f32>()?, [0.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[track_caller]
pub fn hessian(input: &Tensor, function: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    jacfwd(input, |input| grad(input, function))
}

/// The tensors like this one that are 1 at one element and 0 elsewhere, along dimension 0.
fn unit_vectors(like: &Tensor) -> Result<Tensor> {
    let dtype: DType = like.dtype();
    if !(dtype.is_floating_point() || dtype.is_complex()) {
        return Err(Error::new(
            ErrorKind::Argument,
            format!(
                "only functions of floating-point and complex tensors have a Jacobian, found {dtype}; convert it first"
            ),
        ));
    }
    let count = like.numel();
    Eye.call(count, Some(dtype), None, Some(like.device()), None)?.reshape([&[count], like.sizes()].concat())
}
