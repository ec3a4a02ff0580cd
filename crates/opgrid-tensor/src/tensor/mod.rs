//! The tensor that operators take and give, beside what [`opgrid_array`] makes it of.

pub mod handle;
mod metadata;
#[cfg(feature = "ndarray")]
mod ndarray;
pub mod nested;
mod operand;
mod requires_grad;
pub mod result_type;
mod wrapper;

pub use handle::Tensor;
pub use operand::{check_apart, check_beside};
pub use opgrid_array::{
    Allocation, Allocator, Array, Bool, Complex, CountingAllocator, CpuAllocator, DeviceMemory, Dims,
    Element, Elements, F8E4M3, F8E5M2, FailingAllocator, FloatLimits, Geometry, IntegerLimits,
    LimitedAllocator, Math, Nested, Number, OwnedReadGuard, OwnedWriteGuard, PrintOptions, ReadGuard,
    Statistics, Storage, TensorSpec, WriteGuard, allocator, array, bf16, broadcast, cache_statistics,
    can_cast, choose, complex_of, default_dtype, element, f16, finfo, geometry, iinfo, inexact, limits,
    part_of, print, print_options, promote, promote_types, set_cache_limit, set_default_dtype,
    set_print_options, spec, storage, trim, views, with_print_options,
};
pub(crate) use requires_grad::Sharing;
pub use requires_grad::requires_grad_key;
pub use result_type::result_type;
pub use wrapper::Wrapper;
