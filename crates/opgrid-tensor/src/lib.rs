//! Dense tensors and their operators: geometry, memory, loops over elements, printing and files.
//!
//! [`Array`] is the data half of a tensor: a [`TensorSpec`] (sizes, strides, dtype, device) and the shared
//! [`Storage`] that it addresses. [`kernels`] loops over arrays, [`files`] reads and writes them. [`Tensor`] is an
//! array behind the dispatcher's handle; [`ops`] holds the operators on tensors, one file for each family.
//!
//! The global dispatcher has the operators from the first typed call on, without the feature `all-operators` those of the files
//! whose operators were called, and all from [`home`] on; [`register`] gives them to another.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::{Dispatcher, Scalar};
//! use opgrid_tensor::{Tensor, ops::AddTensor};
//!
//! let x = Tensor::from_slice(&[1i64, 2], &[2])?;
//! assert_eq!(x.add(&x, 2)?.to_vec::<i64>()?, [3, 6]);
//!
//! let own = Dispatcher::new();
//! let _registration = opgrid_tensor::register(&own)?;
//! let sum = own.call(AddTensor, (&x, &x, Scalar::Int(1)))?;
//! assert_eq!(sum.to_string(), "tensor([2, 4])");
//! # Ok::<(), opgrid_core::Error>(())
//! ```

#![deny(unsafe_code)]
// Unit tests are compiled without the operators, which use most of what stands below them.
#![cfg_attr(test, allow(dead_code, unused_imports))]

pub mod devices;
mod error;
pub mod files;
mod forking;
pub mod kernels;
#[cfg(feature = "samples")]
pub mod samples;
pub mod tensor;

// Unit tests are of what stands below the operators, and are compiled without them, in a tenth of the time. Tests that call
// operators stand in `tests/`.
#[cfg(not(test))]
pub mod dlpack;
#[cfg(not(test))]
pub mod families;
#[cfg(not(test))]
mod infix;
#[cfg(not(test))]
pub mod layers;
#[cfg(not(test))]
pub mod ops;

pub use devices::manual_seed;
pub use half::{bf16, f16};
pub use num_complex::Complex;
#[cfg(not(test))]
pub(crate) use ops::home_of;
#[cfg(not(test))]
pub use ops::{home, register};
pub use tensor::{Array, Bool, Dims, Element, Geometry, Storage, Tensor, TensorSpec};

#[doc(hidden)]
pub mod __private {
    pub use half::{bf16, f16};
    pub use num_complex::Complex;
    pub use opgrid_core::DType;
}

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
