//! The types by which opgrid and plugins speak, version 1: a C interface without dependencies.
//!
//! The host gives a plugin one table of functions, [`OpgridApi`], and everything is reached through it: the process has
//! one dispatcher, and a plugin links none. The table begins with its size and version and only grows at the end, so that
//! a plugin that was built for version 1.3 runs in every host of version 1.3 and later.
//!
//! A plugin is a shared library with two symbols. `opgrid_plugin_manifest` is a text that hosts read from the file without
//! running anything; `opgrid_plugin_init`, an [`OpgridInitFn`], registers what the plugin has. `python/opgrid/include/opgrid.h` says the
//! same in C; `cargo xtask header` writes it from this crate.
//!
//! A program that is no plugin gets the table from the library of the crate `opgrid-c`, whose one function is declared in the header,
//! too.
//!
//! Who owns what:
//!
//! - A tensor handle is counted. Arguments and views of values lend theirs; results of `call` and everything that a function
//!   writes to `out` belong to the receiver, who gives each back by `tensor_release`, or hands it on by `push_tensor`.
//! - Errors belong to the host. A plugin makes one by `error_new` and leaves it in its kernel's `error`; one that it got
//!   from the host it hands on the same way, or gives back by `error_release`.
//! - Values in arguments are lent. Values that `call` writes belong to the receiver: `value_view` looks into one,
//!   `value_release` gives it back.
//! - Strings that functions take end in a zero byte, and are copied.
//! - Programs belong to the host, as errors do: `program_release` gives one back, and functions that get one that was given back fail.
//!
//! No exception and no panic may leave a kernel: C++ and Rust code catches them and leaves an error. `opgrid.hpp` and
//! `opgrid-plugin-sdk` do so.

#![deny(unsafe_code)]

mod descriptions;
mod make;
mod table;
mod values;

pub use descriptions::{
    OPGRID_BLOCK_FRAGMENT, OPGRID_BLOCK_IMPLEMENTATIONS, OPGRID_BLOCK_LIBRARY, OPGRID_CAST_FULL,
    OPGRID_CAST_LOWER, OPGRID_CAST_TO, OPGRID_CAST_WIDEST, OPGRID_KERNEL_ENGINE, OPGRID_KERNEL_FALLTHROUGH,
    OpgridDefinition, OpgridDeviceMemory, OpgridKernel, OpgridLayer,
};
pub use table::{
    OPGRID_ABI_MAJOR, OPGRID_ABI_MINOR, OPGRID_ERROR_ARGUMENT, OPGRID_ERROR_DEPTH, OPGRID_ERROR_DUPLICATE,
    OPGRID_ERROR_FILE, OPGRID_ERROR_INDEX, OPGRID_ERROR_INTERNAL, OPGRID_ERROR_KERNEL,
    OPGRID_ERROR_MISSING_KERNEL, OPGRID_ERROR_NOT_IMPLEMENTED, OPGRID_ERROR_REGISTRATION,
    OPGRID_ERROR_SCHEMA, OPGRID_ERROR_SLOW_PATH, OPGRID_ERROR_STALE, OPGRID_ERROR_UNKNOWN,
    OPGRID_ERROR_VALUE, OPGRID_LOG_NOTE, OPGRID_LOG_WARNING, OPGRID_OK, OpgridApi, OpgridConditionFn,
    OpgridInitFn, OpgridKernelFn, OpgridRangeFn, OpgridReleaseFn,
};
pub use values::{
    OPGRID_BOOL, OPGRID_BOOLS, OPGRID_COMPLEX, OPGRID_DEVICE, OPGRID_DTYPE, OPGRID_DTYPE_BFLOAT16,
    OPGRID_DTYPE_BOOL, OPGRID_DTYPE_COMPLEX64, OPGRID_DTYPE_COMPLEX128, OPGRID_DTYPE_FLOAT8_E4M3FN,
    OPGRID_DTYPE_FLOAT8_E5M2, OPGRID_DTYPE_FLOAT16, OPGRID_DTYPE_FLOAT32, OPGRID_DTYPE_FLOAT64,
    OPGRID_DTYPE_INT8, OPGRID_DTYPE_INT16, OPGRID_DTYPE_INT32, OPGRID_DTYPE_INT64, OPGRID_DTYPE_QINT8,
    OPGRID_DTYPE_QINT32, OPGRID_DTYPE_QUINT8, OPGRID_DTYPE_UINT8, OPGRID_DTYPE_UINT16, OPGRID_DTYPE_UINT32,
    OPGRID_DTYPE_UINT64, OPGRID_FLOAT, OPGRID_FLOATS, OPGRID_INT, OPGRID_INTS, OPGRID_LAYOUT,
    OPGRID_MEMORY_FORMAT, OPGRID_NONE, OPGRID_OPTIONAL_TENSORS, OPGRID_OTHER, OPGRID_OWNED,
    OPGRID_PROGRAM_MAP, OPGRID_READ, OPGRID_STR, OPGRID_TENSOR, OPGRID_TENSORS, OPGRID_WRITE, OpgridBlock,
    OpgridDevice, OpgridError, OpgridGuard, OpgridKeys, OpgridLibrary, OpgridOperator, OpgridOther,
    OpgridPayload, OpgridProgram, OpgridProgramValue, OpgridResults, OpgridTensor, OpgridTensorInfo,
    OpgridText, OpgridValue,
};

/// The symbol of a plugin's manifest.
pub const MANIFEST_SYMBOL: &str = "opgrid_plugin_manifest";
/// The symbol of a plugin's entry.
pub const INIT_SYMBOL: &str = "opgrid_plugin_init";
/// The symbol that libraries with a dispatcher of their own have.
pub const CORE_MARKER_SYMBOL: &str = "OPGRID_CORE_MARKER";
/// The first line of a manifest.
pub const MANIFEST_MAGIC: &str = "opgrid plugin";
