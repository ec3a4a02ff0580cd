//! Gradients: records what operators do with tensors that require them, and goes back from results to those tensors.
//!
//! A tensor that requires a gradient carries a key ([`requires_grad_key`]). [`install`]
//! puts one kernel under every operator at the autograd keys, for calls that carry it; all others pass it by in the table, and
//! a thread that excludes the key records nothing ([`no_grad`]). The kernel calls on, and asks the operator's
//! [`Derivative`] for formulas, which it keeps in a node of the graph with what they need. [`backward`] and [`grad`] run the
//! formulas from the results on. What they compute can be recorded itself, so gradients have gradients.
//!
//! | file | holds |
//! |---|---|
//! | `rule` | the column: what an operator's file says of its gradients |
//! | `record` | the kernel under every operator |
//! | `history` | operators that write their first argument, and views of what was written |
//! | `node`, `saved`, `alive` | the graph, the tensors that it keeps, and how many calls it is of |
//! | `variable`, `hooks` | what is kept with a tensor: its gradient, where that comes from, who wants to see it |
//! | `backward` | the backward pass |
//! | `reach` | what a tensor alone keeps alive, for the collectors of language bindings |
//! | `mode` | whether a thread records |
//! | `packing` | in what form the graph keeps tensors, where users want another one |
//! | `checkpoint` | functions whose graph keeps nothing, and that run again in the backward pass |
//! | `graph` | the graph as a value, as text and as a picture |
//! | `custom` | calls whose derivative is stated where they are made |
//! | `data` | a tensor's memory, changed behind the back of the graph |
//! | `convert` | tensors that take over the elements of another one, of any dtype |
//! | `check` | gradients against differences |
//!
//! # Examples
//!
//! ```
//! use opgrid_core::Dispatcher;
//! use opgrid::{Tensor, layers::autograd};
//!
//! let dispatcher = Dispatcher::new();
//! let _operators = opgrid::ops::register(&dispatcher)?;
//! let _layer = autograd::install(&dispatcher)?;
//! let x = Tensor::from_slice(&[2.0f64, 5.0], &[2])?;
//! x.requires_grad_(true)?;
//! dispatcher.within(|| x.mul(&x)?.add_with(&x, 3)?.sum()?.backward())?;
//! assert_eq!(x.grad().unwrap().to_vec::<f64>()?, [7.0, 13.0]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

mod alive;
mod backward;
mod check;
mod checkpoint;
mod custom;
mod data;
mod graph;
mod history;
mod hooks;
mod mode;
mod node;
mod packing;
mod reach;
mod record;
pub mod rule;
mod saved;
mod variable;

use opgrid_core::{DispatchKey, Dispatcher, Kernel, Registration, Result};

pub use alive::nodes_alive;
pub use backward::{BackwardOptions, backward, grad, sum_to};
pub use check::{CheckOptions, gradcheck, gradgradcheck};
pub use checkpoint::{CheckpointOptions, checkpoint, checkpoint_with};
pub use custom::{Forward, custom, custom_with};
pub use data::{convert_in_place, replace_data};
pub use graph::{Graph, GraphNode, GraphOptions, GraphTarget, SavedTensor, graph};
pub use hooks::Hook;
pub use mode::{
    DetectAnomaly, GradMode, enable_grad, is_anomaly_enabled, is_grad_enabled, no_grad, say_places_by,
    set_grad_enabled,
};
pub use node::Node;
pub use packing::{PackSavedTensors, Packed};
pub use reach::{Foreign, KeptByBinding, OwnershipMap, held_by_node, held_by_tensor};
pub use rule::{DefineDerivative, Derivative, Gradients, Recorder};

use crate::families::kind;
use crate::ops::DetachInplace;
use crate::tensor::requires_grad_key;

/// Puts the layer under every operator of a dispatcher; dropping the registration takes it out.
///
/// # Errors
///
/// The dispatcher has a fallback for autograd already.
pub fn install(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut everything = dispatcher.implementations("_", DispatchKey::Autograd);
    everything.fallback(Kernel::engine_for(requires_grad_key()?, record::record));
    everything.kind_column(&kind::VIEW, Derivative::of_values(rule::of_view));
    everything.kind_column(&kind::FACTORY, Derivative::NONE);
    everything.kind_column(&kind::QUESTION, Derivative::NONE);
    let mut detaching = dispatcher.implementations("aten", DispatchKey::Autograd);
    detaching.implement(DetachInplace).kernel(DispatchKey::Autograd, variable::detach_in_place);
    let mut registration = everything.finish()?;
    registration.join(detaching.finish()?);
    Ok(registration)
}
