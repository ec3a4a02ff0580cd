//! What a tensor is made of: geometry, element type, memory; and how it is printed.

pub mod allocator;
pub mod array;
pub mod element;
pub mod geometry;
pub mod print;
pub mod spec;
pub mod storage;
pub mod views;

pub use allocator::{Allocator, CountingAllocator, CpuAllocator, FailingAllocator};
pub use array::Array;
pub use element::{Bool, Element, Number};
pub use geometry::{Dims, Geometry, broadcast};
pub use spec::TensorSpec;
pub use storage::{Allocation, ReadGuard, Storage, WriteGuard};
