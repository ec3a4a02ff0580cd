//! What a tensor is made of: geometry, element type, memory; and how it is printed.

pub mod allocator;
pub mod array;
pub mod choose;
pub mod element;
mod float8;
pub mod geometry;
mod half_bits;
pub mod handle;
pub mod limits;
mod metadata;
#[cfg(feature = "ndarray")]
mod ndarray;
pub mod nested;
mod overlap;
pub mod print;
pub mod promote;
mod requires_grad;
pub mod spec;
pub mod storage;
pub mod views;
mod wrapper;

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    allocator::hold_at_fork(held);
    storage::hold_at_fork(held);
}

pub use allocator::{Allocator, CountingAllocator, CpuAllocator, FailingAllocator};
pub use array::{Array, Elements};
pub use element::{Bool, Element, Math, Number};
pub use float8::{F8E4M3, F8E5M2};
pub use geometry::{Dims, Geometry, broadcast};
pub use handle::Tensor;
pub use limits::{FloatLimits, IntegerLimits, finfo, iinfo};
pub use nested::Nested;
pub use print::{PrintOptions, print_options, set_print_options, with_print_options};
pub use promote::{
    can_cast, complex_of, default_dtype, inexact, part_of, promote_types, result_type, set_default_dtype,
};
pub(crate) use requires_grad::Sharing;
pub use requires_grad::requires_grad_key;
pub use spec::TensorSpec;
pub(crate) use storage::Thread;
pub use storage::{
    Allocation, DeviceMemory, OwnedReadGuard, OwnedWriteGuard, ReadGuard, Statistics, Storage, WriteGuard,
    cache_statistics, set_cache_limit, trim,
};
pub use wrapper::Wrapper;
