//! The table of functions, and the functions that a plugin has.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_void};

use crate::descriptions::{OpgridDefinition, OpgridDeviceMemory, OpgridKernel, OpgridLayer};
use crate::values::{
    OpgridBlock, OpgridDevice, OpgridError, OpgridGuard, OpgridKeys, OpgridLibrary, OpgridOperator,
    OpgridProgram, OpgridProgramValue, OpgridResults, OpgridTensor, OpgridTensorInfo, OpgridText,
    OpgridValue,
};

/// Differs between versions that do not understand each other.
pub const OPGRID_ABI_MAJOR: u32 = 1;
/// Grows with every function that is added at the end of the table, and every field at the end of a structure.
pub const OPGRID_ABI_MINOR: u32 = 3;

/// The status of what succeeded. Every other one is the kind of an error.
pub const OPGRID_OK: i32 = 0;
/// Anything that a kernel reports in words of its own.
pub const OPGRID_ERROR_KERNEL: i32 = 1;
/// A schema text could not be read.
pub const OPGRID_ERROR_SCHEMA: i32 = 2;
/// An operator, a library or a kernel is there already.
pub const OPGRID_ERROR_DUPLICATE: i32 = 3;
/// A registration that no rule allows.
pub const OPGRID_ERROR_REGISTRATION: i32 = 4;
/// No operator, key, device or dtype of that name.
pub const OPGRID_ERROR_UNKNOWN: i32 = 5;
/// The operator has no kernel for the key that the call reached.
pub const OPGRID_ERROR_MISSING_KERNEL: i32 = 6;
/// A value is not what the schema or the kernel asks for.
pub const OPGRID_ERROR_VALUE: i32 = 7;
/// An argument has a shape, dtype, device or value that the operator refuses.
pub const OPGRID_ERROR_ARGUMENT: i32 = 8;
/// An index or a dimension beyond its range.
pub const OPGRID_ERROR_INDEX: i32 = 9;
/// A slow path, in strict mode.
pub const OPGRID_ERROR_SLOW_PATH: i32 = 10;
/// Calls are nested deeper than the thread's limit.
pub const OPGRID_ERROR_DEPTH: i32 = 11;
/// The operator or the plugin is no longer there.
pub const OPGRID_ERROR_STALE: i32 = 12;
/// The feature exists by name only.
pub const OPGRID_ERROR_NOT_IMPLEMENTED: i32 = 13;
/// A file could not be read or written.
pub const OPGRID_ERROR_FILE: i32 = 14;
/// An invariant does not hold.
pub const OPGRID_ERROR_INTERNAL: i32 = 15;

/// A level of `log`: something that may be good to know.
pub const OPGRID_LOG_NOTE: u32 = 1;
/// A level of `log`: something that is probably not meant so.
pub const OPGRID_LOG_WARNING: u32 = 2;

/// A kernel, or null: it leaves one result for each that the schema declares, by `push` or `push_tensor`, and returns `OPGRID_OK`; or
/// it leaves an error and returns another status. No exception may leave it.
pub type OpgridKernelFn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        op: *const OpgridOperator,
        keys: OpgridKeys,
        arguments: *const OpgridValue,
        count: usize,
        results: *mut OpgridResults,
        error: *mut *mut OpgridError,
    ) -> i32,
>;

/// Whether a kernel is for a call, or null: it writes 0 or 1 to `holds`. No exception may leave it.
pub type OpgridConditionFn = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        arguments: *const OpgridValue,
        count: usize,
        holds: *mut i32,
        error: *mut *mut OpgridError,
    ) -> i32,
>;

/// Works on the numbers from `start` on that are below `end`, or null. It may run on several threads at a time. No exception may
/// leave it.
pub type OpgridRangeFn = Option<
    unsafe extern "C" fn(context: *mut c_void, start: usize, end: usize, error: *mut *mut OpgridError) -> i32,
>;

/// Frees a context; or null.
pub type OpgridReleaseFn = Option<unsafe extern "C" fn(context: *mut c_void)>;

/// The entry of a plugin, `opgrid_plugin_init`. It keeps both pointers, says what there is to register, and returns
/// `OPGRID_OK`; then everything is registered at once. With another status nothing is; what went wrong it leaves by
/// `library_fail`.
pub type OpgridInitFn = unsafe extern "C" fn(api: *const OpgridApi, library: *mut OpgridLibrary) -> i32;

/// The functions of the host. A plugin looks at `struct_size` before it calls one that came after version 1.0.
///
/// Functions that return a status write an error to `error` if they fail and it is not null.
#[repr(C)]
pub struct OpgridApi {
    /// The bytes of this table.
    pub struct_size: usize,
    /// `OPGRID_ABI_MAJOR` of the host.
    pub abi_major: u32,
    /// `OPGRID_ABI_MINOR` of the host.
    pub abi_minor: u32,

    /// A new error of a kind, `OPGRID_ERROR_…`.
    pub error_new: unsafe extern "C" fn(kind: i32, message: OpgridText) -> *mut OpgridError,
    /// The kind of an error; 0 for one that is not there.
    pub error_kind: unsafe extern "C" fn(error: *const OpgridError) -> i32,
    /// The message of an error, which lives as long as the error does; empty for one that is not there.
    pub error_message: unsafe extern "C" fn(error: *const OpgridError) -> OpgridText,
    /// Gives an error back.
    pub error_release: unsafe extern "C" fn(error: *mut OpgridError),

    /// Says why the entry fails. Takes the error.
    pub library_fail: unsafe extern "C" fn(library: *mut OpgridLibrary, error: *mut OpgridError),
    /// Begins a block of registrations, `OPGRID_BLOCK_…`, with a key for kernels that name none, or null.
    pub block_open: unsafe extern "C" fn(
        library: *mut OpgridLibrary,
        kind: u32,
        namespace_: *const c_char,
        key: *const c_char,
        file: *const c_char,
        line: u32,
        out: *mut *mut OpgridBlock,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Lets kernels of the block replace those that are there.
    pub block_allow_override:
        unsafe extern "C" fn(block: *mut OpgridBlock, error: *mut *mut OpgridError) -> i32,
    /// Defines an operator. Mistakes in the schema are reported when the plugin is loaded.
    pub define: unsafe extern "C" fn(
        block: *mut OpgridBlock,
        definition: *const OpgridDefinition,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Gives an operator a kernel.
    pub implement: unsafe extern "C" fn(
        block: *mut OpgridBlock,
        name: *const c_char,
        kernel: *const OpgridKernel,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Gives all operators without a kernel for a key this one.
    pub fallback: unsafe extern "C" fn(
        block: *mut OpgridBlock,
        kernel: *const OpgridKernel,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Puts the providers `names` of an operator's cell first; null for `key` means every cell.
    pub order: unsafe extern "C" fn(
        block: *mut OpgridBlock,
        name: *const c_char,
        key: *const c_char,
        names: *const *const c_char,
        count: usize,
        error: *mut *mut OpgridError,
    ) -> i32,

    /// Allocates a layer, or finds it; `out` is its key. It belongs to the process.
    pub layer: unsafe extern "C" fn(
        layer: *const OpgridLayer,
        out: *mut OpgridKeys,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Allocates a backend, or finds it; `out` is its key, `device` its current device. It belongs to the process.
    pub backend: unsafe extern "C" fn(
        name: *const c_char,
        out: *mut OpgridKeys,
        device: *mut OpgridDevice,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// The key, or the keys of the alias, of a name.
    pub keys_named:
        unsafe extern "C" fn(name: *const c_char, out: *mut OpgridKeys, error: *mut *mut OpgridError) -> i32,
    /// What the thread adds to the keys of its calls, and what it takes away.
    pub local_keys: unsafe extern "C" fn(included: *mut OpgridKeys, excluded: *mut OpgridKeys),
    /// Replaces both. Who does it for a scope puts back what was there before.
    pub set_local_keys: unsafe extern "C" fn(included: OpgridKeys, excluded: OpgridKeys),

    /// The operator of a name, as in `aten::add.Tensor`, of the plugin's dispatcher. `operator_release` gives it back.
    pub operator_find: unsafe extern "C" fn(
        library: *mut OpgridLibrary,
        name: *const c_char,
        out: *mut *mut OpgridOperator,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Gives an operator back that `operator_find` wrote.
    pub operator_release: unsafe extern "C" fn(op: *mut OpgridOperator),
    /// The name without the overload, as in `aten::add`.
    pub operator_name: unsafe extern "C" fn(op: *const OpgridOperator) -> OpgridText,
    /// The name of the overload, as in `Tensor`; it may be empty.
    pub operator_overload: unsafe extern "C" fn(op: *const OpgridOperator) -> OpgridText,
    /// The schema as a text, a value that belongs to the caller.
    pub operator_schema: unsafe extern "C" fn(
        op: *const OpgridOperator,
        out: *mut OpgridValue,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Calls an operator. It writes the results, at most `capacity`, which belong to the caller, and their number. Where
    /// there are more it fails.
    pub call: unsafe extern "C" fn(
        op: *const OpgridOperator,
        arguments: *const OpgridValue,
        count: usize,
        results: *mut OpgridValue,
        capacity: usize,
        result_count: *mut usize,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Calls an operator with exactly these dispatch keys.
    pub redispatch: unsafe extern "C" fn(
        op: *const OpgridOperator,
        keys: OpgridKeys,
        arguments: *const OpgridValue,
        count: usize,
        results: *mut OpgridValue,
        capacity: usize,
        result_count: *mut usize,
        error: *mut *mut OpgridError,
    ) -> i32,

    /// Leaves one more result, a copy of the value.
    pub push: unsafe extern "C" fn(
        results: *mut OpgridResults,
        value: *const OpgridValue,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Leaves a tensor as one more result. Takes the handle.
    pub push_tensor: unsafe extern "C" fn(results: *mut OpgridResults, tensor: *mut OpgridTensor),
    /// Continues the kernel's call with the keys below the one that it was reached by, which stay excluded on the thread
    /// until it returns. Results are left. Null for `arguments` stands for those of the call.
    pub below: unsafe extern "C" fn(
        results: *mut OpgridResults,
        arguments: *const OpgridValue,
        count: usize,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Continues the kernel's call with exactly these keys. Results are left. Null for `arguments` stands for those of the
    /// call.
    pub redispatch_below: unsafe extern "C" fn(
        results: *mut OpgridResults,
        keys: OpgridKeys,
        arguments: *const OpgridValue,
        count: usize,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Continues the kernel's call on the CPU, with copies of everything that lies in a device's memory, writes back what
    /// was written, and leaves the results on the device. It counts as a copy through the CPU.
    pub through_cpu: unsafe extern "C" fn(results: *mut OpgridResults, error: *mut *mut OpgridError) -> i32,
    /// How many results there are.
    pub result_count: unsafe extern "C" fn(results: *mut OpgridResults) -> usize,
    /// Looks at a result, which stays where it is.
    pub result: unsafe extern "C" fn(
        results: *mut OpgridResults,
        index: usize,
        out: *mut OpgridValue,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Drops all results.
    pub clear_results: unsafe extern "C" fn(results: *mut OpgridResults),

    /// Opens a value that belongs to its holder: `out` is lent, and good as long as `value` is. Other values are copied.
    pub value_view: unsafe extern "C" fn(
        value: *const OpgridValue,
        out: *mut OpgridValue,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Gives a value back that belongs to its holder, and makes it `OPGRID_NONE`.
    pub value_release: unsafe extern "C" fn(value: *mut OpgridValue),
    /// Element `index` of a list or a tuple, which belongs to the caller.
    pub value_element: unsafe extern "C" fn(
        value: *const OpgridValue,
        index: usize,
        out: *mut OpgridValue,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// The value as people read it, a text that belongs to the caller.
    pub value_text: unsafe extern "C" fn(
        value: *const OpgridValue,
        out: *mut OpgridValue,
        error: *mut *mut OpgridError,
    ) -> i32,

    /// Counts one more handle.
    pub tensor_retain: unsafe extern "C" fn(tensor: *mut OpgridTensor),
    /// Gives a handle back.
    pub tensor_release: unsafe extern "C" fn(tensor: *mut OpgridTensor),
    /// What a tensor is like. Set `struct_size` of `out` before.
    pub tensor_info: unsafe extern "C" fn(
        tensor: *const OpgridTensor,
        out: *mut OpgridTensorInfo,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// The address of the first element, for `OPGRID_READ` or `OPGRID_WRITE`. It fails while somebody is in the way, and
    /// where the CPU cannot address the memory. Nothing keeps others away afterwards: `tensor_guard` does.
    pub tensor_data: unsafe extern "C" fn(
        tensor: *const OpgridTensor,
        access: u32,
        out: *mut *mut c_void,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// A new tensor, which reads as zero until it is written; row-major where `strides` is null. On other devices than CPU
    /// and meta, `aten::empty_strided` makes it.
    pub tensor_make: unsafe extern "C" fn(
        library: *mut OpgridLibrary,
        dims: usize,
        sizes: *const i64,
        strides: *const i64,
        dtype: i32,
        device: OpgridDevice,
        out: *mut *mut OpgridTensor,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// A view of a tensor's memory with these sizes and strides from that element of the storage on.
    pub tensor_view: unsafe extern "C" fn(
        tensor: *const OpgridTensor,
        dims: usize,
        sizes: *const i64,
        strides: *const i64,
        offset: i64,
        out: *mut *mut OpgridTensor,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// A tensor on memory of the plugin that the CPU can address, all of it initialised; `release` is called when nobody
    /// uses it any more, also if no tensor could be made of it.
    pub tensor_from_memory: unsafe extern "C" fn(
        data: *mut c_void,
        bytes: usize,
        dims: usize,
        sizes: *const i64,
        strides: *const i64,
        dtype: i32,
        device: OpgridDevice,
        context: *mut c_void,
        release: OpgridReleaseFn,
        out: *mut *mut OpgridTensor,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// A tensor on memory that the CPU cannot address.
    pub tensor_on_device: unsafe extern "C" fn(
        memory: *const OpgridDeviceMemory,
        dims: usize,
        sizes: *const i64,
        strides: *const i64,
        dtype: i32,
        device: OpgridDevice,
        out: *mut *mut OpgridTensor,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// The context of a tensor's device memory, if its maker gave this `release`, by which a plugin knows its own; else null.
    pub tensor_memory:
        unsafe extern "C" fn(tensor: *const OpgridTensor, release: OpgridReleaseFn) -> *mut c_void,
    /// Returns a tensor with these elements that the CPU can address: the tensor itself, or one with the same sizes
    /// and strides on a copy of its whole storage.
    pub tensor_on_cpu: unsafe extern "C" fn(
        tensor: *const OpgridTensor,
        out: *mut *mut OpgridTensor,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Overwrites the device memory of a tensor with the storage of what `tensor_on_cpu` gave for it; nothing happens to a
    /// tensor on the CPU.
    pub tensor_write_back: unsafe extern "C" fn(
        tensor: *const OpgridTensor,
        copy: *const OpgridTensor,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Lends a tensor's memory as a `DLManagedTensorVersioned` of DLPack 1, whose deleter gives it back.
    pub tensor_to_dlpack: unsafe extern "C" fn(
        tensor: *const OpgridTensor,
        out: *mut *mut c_void,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// A tensor on memory that a `DLManagedTensorVersioned` lends. Takes it: its deleter is called when nobody uses the
    /// memory any more, also if no tensor could be made of it.
    pub tensor_from_dlpack: unsafe extern "C" fn(
        managed: *mut c_void,
        out: *mut *mut OpgridTensor,
        error: *mut *mut OpgridError,
    ) -> i32,

    /// Calls a function for ranges that together are the numbers below `n`, each of `grain` numbers but for the last one, on the host's
    /// threads where there are some, with the keys of this thread. Returns when nothing of it runs any more. Once it has failed
    /// for a range no further one is begun, and the error that came first is the one of the call.
    pub parallel_for: unsafe extern "C" fn(
        n: usize,
        grain: usize,
        work: OpgridRangeFn,
        context: *mut c_void,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// On how many threads `parallel_for` works at most.
    pub num_threads: unsafe extern "C" fn() -> usize,

    /// Tells people something, `OPGRID_LOG_…`, with the name of the plugin: where the host tells its own warnings. On any thread, at
    /// any time. Since version 1.1, as what follows.
    pub log: unsafe extern "C" fn(library: *mut OpgridLibrary, level: u32, message: OpgridText),
    /// The address of the first element, as `tensor_data` gives it, what the tensor is like, of which `struct_size` is set before, and
    /// a guard. Until `guard_release` has got that, on any thread, the memory stays, and whoever would write it, or with
    /// `OPGRID_WRITE` read it, gets an error. A tensor that is resized meanwhile has other memory from then on.
    pub tensor_guard: unsafe extern "C" fn(
        tensor: *const OpgridTensor,
        access: u32,
        out: *mut *mut c_void,
        info: *mut OpgridTensorInfo,
        guard: *mut *mut OpgridGuard,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Gives a guard back.
    pub guard_release: unsafe extern "C" fn(guard: *mut OpgridGuard),

    /// Reads a program from a file that `torch.export.save` wrote, for the operators of the library's dispatcher. `flags` is 0 or
    /// `OPGRID_PROGRAM_MAP`. `program_release` gives it back. Since version 1.2, as what follows.
    pub program_load: unsafe extern "C" fn(
        library: *mut OpgridLibrary,
        path: *const c_char,
        flags: u32,
        out: *mut *mut OpgridProgram,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Gives a program back. Runs that have begun go on.
    pub program_release: unsafe extern "C" fn(program: *mut OpgridProgram),
    /// How many values the program takes; 0 for one that is not there.
    pub program_input_count: unsafe extern "C" fn(program: *const OpgridProgram) -> usize,
    /// How many values a run gives; 0 for a program that is not there.
    pub program_result_count: unsafe extern "C" fn(program: *const OpgridProgram) -> usize,
    /// What an input is like. Set `struct_size` of `out` before.
    pub program_input: unsafe extern "C" fn(
        program: *const OpgridProgram,
        index: usize,
        out: *mut OpgridProgramValue,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// What a result is like. Set `struct_size` of `out` before.
    pub program_result: unsafe extern "C" fn(
        program: *const OpgridProgram,
        index: usize,
        out: *mut OpgridProgramValue,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Runs a program on its inputs in their order, on any number of threads at a time. It writes the results, at most `capacity`,
    /// which belong to the caller, and their number. Where there are more it fails before it runs.
    pub program_run: unsafe extern "C" fn(
        program: *const OpgridProgram,
        inputs: *const OpgridValue,
        count: usize,
        results: *mut OpgridValue,
        capacity: usize,
        result_count: *mut usize,
        error: *mut *mut OpgridError,
    ) -> i32,

    /// Says what autocast does with an operator's floating-point arguments on a type of device, such as `cpu`: `OPGRID_CAST_…`, and the
    /// dtype of `OPGRID_CAST_TO`, which others leave 0.
    pub cast_policy: unsafe extern "C" fn(
        block: *mut OpgridBlock,
        name: *const c_char,
        device: *const c_char,
        policy: u32,
        dtype: i32,
        error: *mut *mut OpgridError,
    ) -> i32,
    /// Says which operator runs batches of another one under vmap. It takes the same arguments, in which batched tensors have the examples
    /// along dimension 0, and an `int[]` behind them, with 0 for each batched tensor and -1 for each other one; its results are those of the batch.
    pub batched_by: unsafe extern "C" fn(
        block: *mut OpgridBlock,
        name: *const c_char,
        batched: *const c_char,
        error: *mut *mut OpgridError,
    ) -> i32,
}
