//! Operators of opgrid inside PyTorch, and PyTorch's inside opgrid, in one process and without linking libtorch.
//!
//! torch has a C interface by which libraries define operators, give them kernels and call others. This crate finds its
//! functions in the torch that the process has loaded, and speaks it:
//!
//! - [`Export`] makes `torch.ops.ns.op` of an operator of ours. Tensors cross without a copy, errors and panics become
//!   exceptions of Python.
//! - [`import`] makes an operator of ours of one of torch's; its calls count as a slow path, [`IN_TORCH`].
//!
//! In Python both are `opgrid.torch.export` and `opgrid.torch.import_`, which also give torch what its C interface cannot be
//! told: the derivative, and the sizes of results for symbolic sizes of arguments.
//!
//! | file | holds |
//! |---|---|
//! | `abi` | the functions of torch, and owned handles |
//! | `encoding` | values as words, and back |
//! | `tensors` | tensors that cross |
//! | `pool` | a kernel for each operator, and how errors leave it |
//! | `exported` | what a kernel does: read, call, write; the derivative |
//! | `export`, `import` | the two ways |
//! | `on_load` | libraries that torch loads itself |
#![deny(unsafe_code)]

mod abi;
mod encoding;
mod export;
mod exported;
mod import;
mod numbers;
mod on_load;
mod pool;
mod tensors;

pub use export::{Export, InTorch};
pub use import::{IN_TORCH, import};
#[doc(hidden)]
pub use on_load::__load;

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
