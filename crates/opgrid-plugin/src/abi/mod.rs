//! The functions of the table, over the dispatcher and its tensors.
//!
//! Each takes what a plugin gives: pointers and numbers. Those that can be checked are: null pointers, sizes of structures,
//! tags, strings, handles of errors, libraries and blocks. Pointers to tensors, operators and results are the plugin's word.
//! A panic of ours becomes an error before it reaches the plugin.
#![allow(unsafe_code)]

mod calls;
mod dlpack;
mod errors;
mod kernels;
mod libraries;
#[cfg(feature = "programs")]
mod loaded_program;
mod messages;
#[cfg(not(feature = "programs"))]
mod no_program;
mod owned;
mod programs;
mod registration;
mod tensors;
mod threads;
mod values;

use std::ffi::{CStr, c_char};
use std::mem::{MaybeUninit, offset_of};
use std::path::Path;
use std::ptr;

use opgrid_abi::{
    OPGRID_ABI_MAJOR, OPGRID_ABI_MINOR, OpgridApi, OpgridDefinition, OpgridDeviceMemory, OpgridError,
    OpgridKernel, OpgridKeys, OpgridLayer, OpgridLibrary, OpgridProgramValue, OpgridTensorInfo, OpgridText,
};
use opgrid_core::{DispatchKeySet, Dispatcher, Error, ErrorKind, Registration, Result};

/// What is held while the process forks.
pub(crate) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    errors::hold_at_fork(held);
    libraries::hold_at_fork(held);
    messages::hold_at_fork(held);
    programs::hold_at_fork(held);
}

pub use errors::{kind_of, take_error};
pub(crate) use libraries::LibraryId;
pub use messages::{Level, Message, on_message};

static API: OpgridApi = OpgridApi {
    struct_size: size_of::<OpgridApi>(),
    abi_major: OPGRID_ABI_MAJOR,
    abi_minor: OPGRID_ABI_MINOR,
    error_new: errors::error_new,
    error_kind: errors::error_kind,
    error_message: errors::error_message,
    error_release: errors::error_release,
    library_fail: registration::library_fail,
    block_open: registration::block_open,
    block_allow_override: registration::block_allow_override,
    define: registration::define,
    implement: registration::implement,
    fallback: registration::fallback,
    order: registration::order,
    layer: registration::layer,
    backend: registration::backend,
    keys_named: registration::keys_named,
    local_keys: calls::local_keys,
    set_local_keys: calls::set_local_keys,
    operator_find: calls::operator_find,
    operator_release: calls::operator_release,
    operator_name: calls::operator_name,
    operator_overload: calls::operator_overload,
    operator_schema: calls::operator_schema,
    call: calls::call,
    redispatch: calls::redispatch,
    push: kernels::push,
    push_tensor: kernels::push_tensor,
    below: kernels::below,
    redispatch_below: calls::redispatch_below,
    through_cpu: kernels::through_cpu,
    result_count: kernels::result_count,
    result: kernels::result,
    clear_results: kernels::clear_results,
    value_view: values::value_view,
    value_release: values::value_release,
    value_element: values::value_element,
    value_text: values::value_text,
    tensor_retain: tensors::tensor_retain,
    tensor_release: tensors::tensor_release,
    tensor_info: tensors::tensor_info,
    tensor_data: tensors::tensor_data,
    tensor_make: tensors::tensor_make,
    tensor_view: tensors::tensor_view,
    tensor_from_memory: tensors::tensor_from_memory,
    tensor_on_device: tensors::tensor_on_device,
    tensor_memory: tensors::tensor_memory,
    tensor_on_cpu: tensors::tensor_on_cpu,
    tensor_write_back: tensors::tensor_write_back,
    tensor_to_dlpack: dlpack::tensor_to_dlpack,
    tensor_from_dlpack: dlpack::tensor_from_dlpack,
    parallel_for: threads::parallel_for,
    num_threads: threads::num_threads,
    log: messages::log,
    tensor_guard: tensors::tensor_guard,
    guard_release: tensors::guard_release,
    program_load: programs::program_load,
    program_release: programs::program_release,
    program_input_count: programs::program_input_count,
    program_result_count: programs::program_result_count,
    program_input: programs::program_input,
    program_result: programs::program_result,
    program_run: programs::program_run,
    cast_policy: registration::cast_policy,
    batched_by: registration::batched_by,
};

/// The table that plugins get.
pub fn api() -> &'static OpgridApi {
    &API
}

/// Writes the table, and then a library of a dispatcher by which nothing can be registered.
///
/// # Safety
///
/// Each address is null, or can be written.
pub unsafe fn open(
    dispatcher: impl FnOnce() -> Result<Dispatcher>,
    name: &str,
    table: *mut *const OpgridApi,
    library: *mut *mut OpgridLibrary,
    error: *mut *mut OpgridError,
) -> i32 {
    let body = || {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { write(table, ptr::from_ref(&API)) }?;
        let opened = LibraryId::open(&dispatcher()?, name, Path::new(name));
        drop(opened.close());
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { write(library, opened.as_pointer()) }?;
        opened.keep();
        Ok(())
    };
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { errors::answer(error, body) }
}

/// Runs `body` as the entry of a plugin would be run that is no file, and registers what it says if it returns 0.
///
/// # Errors
///
/// As of loading a plugin.
pub fn with_library(
    dispatcher: &Dispatcher,
    name: &str,
    body: impl FnOnce(*mut OpgridLibrary) -> i32,
) -> Result<Registration> {
    let library = LibraryId::open(dispatcher, name, Path::new(name));
    let status = body(library.as_pointer());
    let said = library.close();
    if status == 0 { said.register() } else { Err(said.failure(name, status)) }
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Value, message)
}

/// A pointer that must not be null.
///
/// # Errors
///
/// It is, or it is not aligned.
///
/// # Safety
///
/// If it is neither, it points to a `T` that nobody changes during `'a`.
unsafe fn lent<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(refused(format!("{what} is {pointer:?}, expected the address of one")));
    }
    // SAFETY: guaranteed by the caller, see `# Safety`; checked above.
    Ok(unsafe { &*pointer })
}

/// Writes a result to where a plugin wants it.
///
/// # Errors
///
/// That is nowhere.
///
/// # Safety
///
/// `out` is null, or may be written.
unsafe fn write<T>(out: *mut T, value: T) -> Result<()> {
    if out.is_null() || !out.is_aligned() {
        return Err(refused(format!(
            "the address for the result is {out:?}, expected one that can be written"
        )));
    }
    // SAFETY: guaranteed by the caller, see `# Safety`; checked above.
    unsafe { out.write(value) };
    Ok(())
}

/// A text that ends in a zero byte.
///
/// # Errors
///
/// There is none, or it is no UTF-8.
///
/// # Safety
///
/// `text` is null, or such a text that nobody changes during `'a`.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let found = unsafe { optional_text(text, what) }?;
    found.ok_or_else(|| refused(format!("{what} is null, expected a string")))
}

/// Reads a string that may be missing and ends in a zero byte.
///
/// # Errors
///
/// It is no UTF-8.
///
/// # Safety
///
/// As of [`text`].
unsafe fn optional_text<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let text = unsafe { CStr::from_ptr(text) };
    let read = text.to_str().map(Some);
    read.map_err(|error| refused(format!("{what} is not UTF-8: {error}; pass a string in UTF-8")))
}

/// `count` strings.
///
/// # Errors
///
/// As of [`text`].
///
/// # Safety
///
/// `texts` is null, or leads to `count` pointers as [`text`] takes them.
unsafe fn texts<'a>(texts: *const *const c_char, count: usize, what: &str) -> Result<Vec<&'a str>> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let pointers = unsafe { slice(texts, count, what) }?;
    // SAFETY: guaranteed by the caller, see `# Safety`: each pointer is one as `text` takes it.
    pointers.iter().map(|pointer| unsafe { text(*pointer, what) }).collect()
}

/// `count` elements.
///
/// # Errors
///
/// There are some, but no address of them.
///
/// # Safety
///
/// `items` is null, not aligned, or leads to `count` elements that nobody changes during `'a`.
unsafe fn slice<'a, T>(items: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    let is_too_long = count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize);
    if items.is_null() || !items.is_aligned() || is_too_long {
        return Err(refused(format!(
            "{what}: found {count} elements at {items:?}, expected the address of that many"
        )));
    }
    // SAFETY: guaranteed by the caller, see `# Safety`; checked above.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

/// A structure of the interface, which begins with the number of its bytes and grows at its end.
///
/// # Safety
///
/// It is `Copy`, begins with its number of bytes as a `usize`, and zero bytes are a value of each of its other fields.
unsafe trait Described: Copy {
    /// How many bytes it had in the first version that has it.
    const FIRST: usize;
}

/// States which field was the last one in the first version that has the structure.
macro_rules! described {
    ($($type:ident: $last:ident, $size:literal;)*) => {$(
        // SAFETY: behind `struct_size` there are pointers, numbers, and functions that may be null.
        unsafe impl Described for $type {
            const FIRST: usize = $size;
        }

        const _: () = assert!($size - offset_of!($type, $last) <= 16 && $size <= size_of::<$type>());
    )*};
}

described! {
    OpgridDefinition: line, 56;
    OpgridKernel: description, 88;
    OpgridLayer: excludes_below, 64;
    OpgridDeviceMemory: release, 48;
    OpgridTensorInfo: keys, 96;
    OpgridProgramValue: max_sizes, 72;
}

/// The most bytes that any version of a structure has.
const MOST: usize = 1 << 12;

/// How many bytes of a structure its maker knows.
///
/// # Errors
///
/// Fewer than its first version had, or more than any has.
///
/// # Safety
///
/// `pointer` is null, not aligned, or leads to a number.
unsafe fn known_bytes<T: Described>(pointer: *const T, what: &str) -> Result<usize> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let size = *unsafe { lent(pointer.cast::<usize>(), what) }?;
    if size < T::FIRST || size > MOST {
        return Err(refused(format!(
            "{what} says that it has {size} bytes, expected {}; set `struct_size` to its size, and build the plugin with the \
             header of the version that its manifest names",
            size_of::<T>()
        )));
    }
    Ok(size.min(size_of::<T>()))
}

/// A structure as its maker filled it; what the maker does not know is zero.
///
/// # Errors
///
/// As of [`known_bytes`].
///
/// # Safety
///
/// `pointer` is null, not aligned, or leads to a number, and if that is at least [`Described::FIRST`], to so many bytes of a `T`.
unsafe fn described<T: Described>(pointer: *const T, what: &str) -> Result<T> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let known = unsafe { known_bytes(pointer, what) }?;
    let mut read = MaybeUninit::<T>::zeroed();
    // SAFETY: guaranteed by the caller, see `# Safety`; there is room for no more than a `T`, see `known_bytes`.
    unsafe { ptr::copy_nonoverlapping(pointer.cast::<u8>(), read.as_mut_ptr().cast::<u8>(), known) };
    // SAFETY: the bytes that the maker knows are its word, the others are zero, which `Described` allows.
    Ok(unsafe { read.assume_init() })
}

/// Fills a structure for a plugin, as much of it as that knows.
///
/// # Errors
///
/// As of [`known_bytes`].
///
/// # Safety
///
/// As of [`described`], and the bytes may be written.
unsafe fn describe<T: Described>(out: *mut T, what: &str, fill: impl FnOnce(usize) -> T) -> Result<()> {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let known = unsafe { known_bytes(out.cast_const(), what) }?;
    // SAFETY: guaranteed by the caller, see `# Safety`: it begins with the number, at an address that `known_bytes` has looked at.
    let described = fill(unsafe { out.cast::<usize>().read() });
    // SAFETY: guaranteed by the caller, see `# Safety`: so many bytes may be written; a `T` has at least as many, see
    // `known_bytes`.
    unsafe { ptr::copy_nonoverlapping((&raw const described).cast::<u8>(), out.cast::<u8>(), known) };
    Ok(())
}

fn keys_to(keys: DispatchKeySet) -> OpgridKeys {
    OpgridKeys { layers: keys.layers(), backends: keys.backends(), reserved: 0 }
}

fn keys_from(keys: OpgridKeys) -> DispatchKeySet {
    DispatchKeySet::from_parts(keys.layers, keys.backends)
}

fn text_to(text: &str) -> OpgridText {
    OpgridText { data: text.as_ptr().cast(), size: text.len() }
}
