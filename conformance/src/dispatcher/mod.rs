//! Compares opgrid's dispatcher with PyTorch's, by random programs that both run.
//!
//! [`generate`] makes a program of a seed, [`driver`] sends it to a C++ program linked against PyTorch, [`ours`] runs it here,
//! [`compare`] looks for differences and [`deliberate`] knows those that were decided.

mod calls;
pub mod kernels;
pub mod keys;
pub mod program;
pub mod schemas;
pub mod wire;

mod faults;
pub mod generate;

pub mod classes;
pub mod compare;
pub mod deliberate;
pub mod report;

pub mod driver;
pub mod ours;
pub mod record;
pub mod run;
