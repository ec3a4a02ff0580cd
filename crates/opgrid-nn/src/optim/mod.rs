//! Optimizers under torch's names: they update parameters by their gradients, in place.
//!
//! An optimizer has groups of parameters, each with settings of its own. A number instead of settings is a learning
//! rate. [`schedule`] changes the rates from step to step.
//!
//! # Examples
//!
//! ```
//! use opgrid_nn::optim::{SGD, SGDOptions};
//! use opgrid::Tensor;
//!
//! let x = Tensor::from_slice(&[3.0f64, -2.0], &[2])?;
//! x.requires_grad_(true)?;
//! let mut optimizer = SGD::new(vec![x.clone()], SGDOptions { lr: 0.1, momentum: 0.5, ..Default::default() })?;
//! for _ in 0..50 {
//!     optimizer.zero_grad()?;
//!     x.mul(&x)?.sum()?.backward()?;
//!     optimizer.step()?;
//! }
//! assert!(x.to_vec::<f64>()?.iter().all(|it| it.abs() < 1e-6));
//! # Ok::<(), opgrid_core::Error>(())
//! ```

mod adam;
mod group;
pub mod schedule;
mod sgd;

pub use adam::{Adam, AdamOptions, AdamW, AdamWOptions};
pub use group::Group;
pub use schedule::Scheduler;
pub use sgd::{SGD, SGDOptions};

use opgrid_core::Result;

use crate::state::StateDict;

/// What optimizers have in common. Those of this crate have the same functions themselves, so that calling them needs no
/// import.
pub trait Optimizer {
    /// Updates each parameter that has a gradient.
    ///
    /// # Errors
    ///
    /// Those of the operators that it calls, such as a gradient of another device. Parameters before the one that failed are
    /// updated.
    fn step(&mut self) -> Result<()>;

    /// Removes the gradients of all parameters.
    ///
    /// # Errors
    ///
    /// None today; a backend may have some.
    fn zero_grad(&self) -> Result<()>;

    /// The learning rate of each group.
    fn rates(&self) -> Vec<f64>;

    /// Sets the learning rate of each group; groups without one stay as they are.
    fn set_rates(&mut self, rates: &[f64]);

    /// What a run needs to go on later: `state.0.momentum_buffer` and the like for the first parameter, and the settings
    /// that change, `groups.0.lr`.
    ///
    /// # Errors
    ///
    /// Those of `aten::detach`.
    fn state_dict(&self) -> Result<StateDict>;

    /// Copies the state of an optimizer that has as many parameters, of the same shapes.
    ///
    /// # Errors
    ///
    /// Names that are unexpected or missing, and tensors of other shapes. Then nothing has changed.
    fn load_state_dict(&mut self, state: &StateDict) -> Result<()>;
}
