//! Layers over operators: gradients; batches, functions without writes, lower precision, tensors without data, and handlers that see every call.
//!
//! A layer that asks operators for something has a `rule.rs` with its column: the type of its rules, and an extension trait by which an operator's file
//! states one. Rules are data in the registry. The engine beside it is a boxed fallback for the layer's key that looks the
//! rule up, so that a change of the engine compiles no operator anew, and a stranger's layer is made in the same way.
//! `autocast` concerns few operators, and has kernels for these instead.

pub mod autocast;
pub mod autograd;
pub mod fake;
pub mod functional;
pub mod levels;
pub mod modes;
pub mod vmap;
