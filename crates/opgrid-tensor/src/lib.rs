//! Dense tensors, the declarations of their operators, and what operators are made of: families and layers.
//!
//! [`Tensor`] is an [`Array`] behind the dispatcher's handle. [`ops`] declares the operators on tensors: their schemas, and methods.
//! What they compute stands in crates above, the sum of which is `opgrid-operators`; a program that calls operators needs that crate, by
//! `use opgrid_operators as _;` or through `opgrid`, or does not link. [`families`] say how an operator is put together, and
//! [`layers`] work on all of them.
//!
//! The global dispatcher has the operators from the first typed call on, without the feature `all-operators` those of the files
//! whose operators were called, and all from [`ensure_registered`] on; [`register`] gives them to another.
//!
//! # Examples
//!
//! ```
//! use opgrid_core::{Dispatcher, Scalar};
//! use opgrid::{Tensor, ops::AddTensor};
//!
//! let x = Tensor::from_slice(&[1i64, 2], &[2])?;
//! assert_eq!(x.add_with(&x, 2)?.to_vec::<i64>()?, [3, 6]);
//!
//! let own = Dispatcher::new();
//! let _registration = opgrid::ops::register(&own)?;
//! let sum = own.call(AddTensor, (&x, &x, Scalar::Int(1)))?;
//! assert_eq!(sum.to_string(), "tensor([2, 4])");
//! # Ok::<(), opgrid_core::Error>(())
//! ```

#![deny(unsafe_code)]
// Unit tests are compiled without what calls operators, and that uses most of what stands below.
#![cfg_attr(test, allow(dead_code, unused_imports))]

pub mod devices;
pub mod files;
#[cfg(not(test))]
mod forking;
pub mod tensor;

// What calls operators does not link in a program of unit tests, because their implementations stand above this crate. Tests that
// call operators stand in `opgrid-operators`.
#[cfg(not(test))]
pub mod dlpack;
#[cfg(not(test))]
pub mod families;
#[cfg(not(test))]
pub mod index;
#[cfg(not(test))]
mod infix;
#[cfg(not(test))]
pub mod layers;
#[cfg(not(test))]
pub mod ops;
#[cfg(not(test))]
mod values;

pub use opgrid_array::{
    Array, Bool, Complex, Dims, Element, Geometry, Storage, TensorSpec, bf16, f16, manual_seed, with_dtype,
};
#[cfg(not(test))]
pub use ops::{ensure_registered, register};
pub use tensor::Tensor;

use opgrid_array::error;

/// The examples of README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
