//! Arrays: what a tensor is made of, without operators and without the dispatcher's tables.
//!
//! An [`Array`] is a [`TensorSpec`] (sizes, strides, dtype, device) and the shared [`Storage`] that it addresses. [`loops`]
//! iterate over arrays, [`files`] read and write them, [`devices`] say what backends provide for their devices, and [`random`]
//! holds the streams of random numbers. Kernels (`opgrid-kernels`) and tensors (`opgrid-tensor`) are made of these.
//!
//! # Examples
//!
//! ```
//! use opgrid_array::{Array, loops::elementwise};
//!
//! let x = Array::from_slice(&[1.0f32, -2.0], &[2])?;
//! elementwise::unary::<f32, f32>(&x, &x, |x| x * x)?;
//! assert_eq!(x.to_vec::<f32>()?, [1.0, 4.0]);
//! # Ok::<(), opgrid_core::Error>(())
//! ```

#![deny(unsafe_code)]

pub mod array;
pub mod choose;
pub mod devices;
pub mod element;
#[doc(hidden)]
pub mod error;
pub mod files;
mod float8;
#[doc(hidden)]
pub mod forking;
pub mod geometry;
mod half_bits;
pub mod limits;
pub mod loops;
pub mod nested;
mod overlap;
pub mod print;
pub mod promote;
pub mod random;
pub mod spec;
pub mod storage;
pub mod views;

pub use array::{Array, Elements};
pub use devices::manual_seed;
pub use element::{Bool, Element, Math, Number};
pub use float8::{F8E4M3, F8E5M2};
pub use geometry::{Dims, Geometry, broadcast};
pub use half::{bf16, f16};
pub use limits::{FloatLimits, IntegerLimits, finfo, iinfo};
pub use nested::Nested;
pub use num_complex::Complex;
pub use print::{PrintOptions, print_options, set_print_options, with_print_options};
pub use promote::{can_cast, complex_of, default_dtype, inexact, part_of, promote_types, set_default_dtype};
pub use spec::TensorSpec;
pub(crate) use storage::Thread;
pub use storage::allocator;
pub use storage::allocator::{
    Allocator, CountingAllocator, CpuAllocator, FailingAllocator, LimitedAllocator,
};
pub use storage::{
    Allocation, Arena, DeviceMemory, Offered, OwnedReadGuard, OwnedWriteGuard, ReadGuard, SMALLEST_IN_ARENA,
    Statistics, Storage, WriteGuard, cache_statistics, set_cache_limit, trim,
};

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
