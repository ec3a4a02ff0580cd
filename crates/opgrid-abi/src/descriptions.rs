//! What a plugin says of what it registers. Every structure begins with the bytes that its maker knows, and grows at the end: what
//! its maker does not know is zero.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use crate::table::{OpgridConditionFn, OpgridKernelFn, OpgridReleaseFn};
use crate::values::{OpgridError, OpgridKeys};

/// A block that owns its namespace.
pub const OPGRID_BLOCK_LIBRARY: u32 = 0;
/// A block that adds operators to a namespace of somebody else.
pub const OPGRID_BLOCK_FRAGMENT: u32 = 1;
/// A block that adds kernels to a namespace, or fallbacks in the namespace `_`.
pub const OPGRID_BLOCK_IMPLEMENTATIONS: u32 = 2;

/// Autocast casts floating-point arguments to the lower precision.
pub const OPGRID_CAST_LOWER: u32 = 0;
/// Autocast casts floating-point arguments to float32.
pub const OPGRID_CAST_FULL: u32 = 1;
/// Autocast casts floating-point arguments to the widest dtype among them.
pub const OPGRID_CAST_WIDEST: u32 = 2;
/// Autocast casts floating-point arguments to a dtype, whatever the lower precision is.
pub const OPGRID_CAST_TO: u32 = 3;

/// A flag of a kernel: there is no function, calls step over the key.
pub const OPGRID_KERNEL_FALLTHROUGH: u32 = 1;
/// A flag of a fallback: it serves every operator on purpose, and is not counted as a slow path.
pub const OPGRID_KERNEL_ENGINE: u32 = 2;

/// An operator to be defined.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpgridDefinition {
    /// The bytes of this structure.
    pub struct_size: usize,
    /// As in `add_1(Tensor self) -> Tensor`.
    pub schema: *const c_char,
    /// `tag_count` strings, or null.
    pub tags: *const *const c_char,
    /// How many tags there are.
    pub tag_count: usize,
    /// A kind of operators that the dispatcher knows, such as `pointwise unary`, whose defaults serve the operator; or null.
    pub kind: *const c_char,
    /// The source file that says so, or null.
    pub file: *const c_char,
    /// The line, counted from 1.
    pub line: u32,
    /// What the operator does, in words for people; or null. Since version 1.1.
    pub documentation: *const c_char,
}

/// A kernel to be registered.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpgridKernel {
    /// The bytes of this structure.
    pub struct_size: usize,
    /// The name of a dispatch key or an alias; null for the block's key, else `CompositeImplicitAutograd`.
    pub key: *const c_char,
    /// The function; null for a fallthrough.
    pub kernel: OpgridKernelFn,
    /// What the function gets first. It is used on any thread.
    pub context: *mut c_void,
    /// Called once, on any thread, when the context is no longer used, also if registering fails; or null.
    pub release: OpgridReleaseFn,
    /// `OPGRID_KERNEL_…`.
    pub flags: u32,
    /// The line, counted from 1.
    pub line: u32,
    /// The source file that says so, or null.
    pub file: *const c_char,
    /// The name by which the kernel joins others of its cell, or null.
    pub provider: *const c_char,
    /// Which calls the kernel is for, or null. It gets the same context.
    pub condition: OpgridConditionFn,
    /// Completes "runs when …", or null.
    pub condition_text: *const c_char,
    /// What listings and errors say instead of the file and line, or null.
    pub description: *const c_char,
}

/// A layer to be allocated.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpgridLayer {
    /// The bytes of this structure.
    pub struct_size: usize,
    /// Its name, an identifier.
    pub name: *const c_char,
    /// The `above_count` keys before which it runs.
    pub above: *const *const c_char,
    /// How many there are.
    pub above_count: usize,
    /// The `below_count` keys after which it runs.
    pub below: *const *const c_char,
    /// How many there are.
    pub below_count: usize,
    /// What is skipped, beside the layer itself, while one of its kernels calls on; no keys for nothing.
    pub excludes_below: OpgridKeys,
}

/// Memory that the CPU cannot address.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OpgridDeviceMemory {
    /// The bytes of this structure.
    pub struct_size: usize,
    /// What the functions get first, and what `tensor_memory` gives back. It is used on any thread.
    pub context: *mut c_void,
    /// How many bytes there are.
    pub bytes: usize,
    /// Copies `count` bytes from byte `start` on to `to`. The host checks that they lie inside.
    pub read: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            start: usize,
            to: *mut u8,
            count: usize,
            error: *mut *mut OpgridError,
        ) -> i32,
    >,
    /// Copies `count` bytes from `from` to byte `start` and those behind. The host checks that they lie inside.
    pub write: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            start: usize,
            from: *const u8,
            count: usize,
            error: *mut *mut OpgridError,
        ) -> i32,
    >,
    /// Called once when nobody uses the memory any more, also if no tensor could be made of it; or null.
    pub release: OpgridReleaseFn,
}
