//! Dense tensors: geometry, memory, loops over elements, printing and files.
//!
//! [`Array`] is the data half of a tensor: a [`TensorSpec`] (sizes, strides, dtype, device) and the shared
//! [`Storage`] that it addresses. [`kernels`] loops over arrays, [`files`] reads and writes them.

#![deny(unsafe_code)]

mod error;
pub mod files;
pub mod kernels;
pub mod tensor;

pub use tensor::{Array, Bool, Dims, Element, Geometry, Storage, TensorSpec};
