//! Transforms of functions on tensors: batches, derivatives in reverse and forward mode, and what is made of them.
//!
//! | transform | gives |
//! |---|---|
//! | [`vmap`], [`vmap_with`] | a function of one example, run on a batch with one call for each operator |
//! | [`grad`], [`grad_and_value`] | the gradient of a function with one number as its result |
//! | [`vjp`] | results, and products of vectors with the Jacobian |
//! | [`jvp`] | results, and the product of the Jacobian with a vector |
//! | [`jacrev`], [`jacfwd`] | the Jacobian, row by row or column by column, in one batch |
//! | [`hessian`] | the second derivative of a function with one number as its result |
//! | [`functionalize`] | a function whose writes are results of operators that give new tensors |
//!
//! A function may use tensors from outside, which are constants of its transform, and call transforms itself. How calls find the
//! transform that they belong to is described in [`levels`](opgrid_tensor::layers::levels).
//!
//! # Examples
//!
//! ```
//! use opgrid::prelude::*;
//! use opgrid_transforms::{grad, jacfwd, jacrev, vmap};
//!
//! let dispatcher = opgrid::dispatcher()?;
//! let _transforms = opgrid_transforms::install(dispatcher)?;
//! let x = Tensor::from_slice(&[0.5f64, 1.5], 2)?;
//! // The derivative of a derivative.
//! let second = grad(&x, |x| grad(x, |x| x.sin()?.sum())?.sum())?;
//! assert!(second.allclose(&x.sin()?.neg()?, 1e-12, 1e-12)?);
//! // Both ways to a Jacobian give the same one.
//! let f = |x: &Tensor| x.mul(&x.sum()?);
//! assert!(jacrev(&x, f)?.allclose(&jacfwd(&x, f)?, 1e-12, 1e-12)?);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

mod batch;
mod batching;
mod forward;
mod functional;
mod jacobians;
mod reverse;

use opgrid_core::{Dispatcher, Registration, Result};
use opgrid_tensor::layers::vmap as batches;

pub use batch::{VmapOptions, vmap, vmap_with};
pub use batches::Randomness;
pub use forward::{Dual, ForwardCall, ForwardRule, jvp};
pub use functional::{functionalize, wrap_inputs};
pub use jacobians::{hessian, jacfwd, jacrev};
pub use opgrid_tensor::layers::functional::Kept;
pub use reverse::{Reverse, Vjp, grad, grad_and_value, vjp};

/// Puts the layers of all transforms under every operator of a dispatcher; dropping the registration takes them out.
///
/// # Errors
///
/// The dispatcher has one of them already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut registration = batches::install(dispatcher)?;
    registration.join(batching::install(dispatcher)?);
    registration.join(forward::install(dispatcher)?);
    Ok(registration)
}

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
