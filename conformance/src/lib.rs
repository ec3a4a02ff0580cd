//! Compares opgrid's dispatcher with PyTorch's, by random programs that both run; its tensors in [`tensors`].
//!
//! [`generate`] makes a program of a seed, [`driver`] sends it to a C++ program linked against PyTorch, [`ours`]
//! runs it here, [`compare`] looks for differences and [`deliberate`] knows the wanted ones. Whatever else differs
//! fails the run. A seed means the same program forever, so that a difference can be looked at again.
#![forbid(unsafe_code)]

pub mod random;
pub mod wire;

mod calls;
pub mod kernels;
pub mod keys;
pub mod program;
pub mod schemas;

pub mod generate;
mod mistakes;

pub mod classes;
pub mod compare;
pub mod deliberate;
pub mod differences;
pub mod report;

pub mod driver;
pub mod ours;
pub mod record;
pub mod run;

pub mod tensors;
