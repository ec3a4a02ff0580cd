//! torch's C interface: its functions, found in the process, and the types that cross it.
//!
//! Nothing of torch is linked. The functions are looked up in the `libtorch_cpu.so` that the process has loaded, as
//! `import torch` does; a process without torch gets an error. They are those of
//! `torch/csrc/inductor/aoti_torch/c/shim.h` and `torch/csrc/stable/c/shim.h`, as torch 2.13 and later have them.
//!
//! Each of them catches C++ exceptions and returns an error code, with the text to be asked for. The one exception is
//! [`Torch::raise`], which is there to throw.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::mem::{ManuallyDrop, transmute};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use opgrid::dispatch::AnyTensor;
use opgrid::{Error, ErrorKind, Result};

/// The version whose encoding of values this crate speaks, as torch packs it: major in the highest byte, then minor.
const ENCODING: u64 = version(2, 15);

/// The first version that has all functions.
const OLDEST: u64 = version(2, 13);

const fn version(major: u64, minor: u64) -> u64 {
    major << 56 | minor << 48
}

/// What stands behind a handle is known to torch alone.
#[repr(C)]
pub(crate) struct Opaque {
    _private: [u8; 0],
}

/// A function that torch calls for an operator: arguments come and results go in `words`.
pub(crate) type Kernel = unsafe extern "C-unwind" fn(words: *mut u64, arguments: u64, results: u64);

/// What torch calls when the last tensor on lent memory is gone.
pub(crate) type Deleter = unsafe extern "C" fn(data: *mut c_void, context: *mut c_void);

/// An error code; 0 is none.
type Code = i32;

/// Declares the table of functions and how it is filled.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident: $symbol:literal, fn($($argument:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        /// torch's functions.
        pub(crate) struct Torch {
            $($(#[$doc])* $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            raise: unsafe extern "C-unwind" fn(bool, *const c_char, *const c_char, u32, *const c_char),
        }

        impl Torch {
            /// Looks every function up.
            fn found_in(library: &Loaded) -> Result<Self> {
                Ok(Self {
                    $($name: {
                        let symbol = library.symbol($symbol)?;
                        // SAFETY: the headers of torch, which keeps this interface stable, declare the symbol with this type.
                        unsafe { transmute::<NonNull<c_void>, unsafe extern "C" fn($($argument),*) $(-> $result)?>(symbol) }
                    },)*
                    raise: {
                        let symbol = library.symbol(c"aoti_torch_check")?;
                        // SAFETY: the headers of torch, which keeps this interface stable, declare the
                        // symbol with this type; it may throw, which "C-unwind" allows.
                        unsafe {
                            transmute::<
                                NonNull<c_void>,
                                unsafe extern "C-unwind" fn(bool, *const c_char, *const c_char, u32, *const c_char),
                            >(symbol)
                        }
                    },
                })
            }
        }
    };
}

functions! {
    abi_version: c"aoti_torch_abi_version", fn() -> u64;
    last_error: c"torch_exception_get_what_without_backtrace", fn() -> *const c_char;

    library_fragment: c"aoti_torch_library_init_fragment", fn(*const c_char, *const c_char, u32, *mut *mut Opaque) -> Code;
    library_impl: c"aoti_torch_library_init_impl", fn(*const c_char, *const c_char, *const c_char, u32, *mut *mut Opaque) -> Code;
    library_define: c"torch_library_def_with_tags", fn(*mut Opaque, *const c_char, *const i32, i32) -> Code;
    library_kernel: c"torch_library_impl", fn(*mut Opaque, *const c_char, Kernel, u64) -> Code;
    library_delete: c"aoti_torch_delete_library_object", fn(*mut Opaque) -> Code;
    tag_compliant: c"torch_tag_pt2_compliant_tag", fn() -> i32;
    call_dispatcher: c"torch_call_dispatcher", fn(*const c_char, *const c_char, *mut u64, u64) -> Code;

    tensor_delete: c"aoti_torch_delete_tensor_object", fn(*mut Opaque) -> Code;
    tensor_share: c"aoti_torch_new_tensor_handle", fn(*mut Opaque, *mut *mut Opaque) -> Code;
    tensor_undefined: c"aoti_torch_new_uninitialized_tensor", fn(*mut *mut Opaque) -> Code;
    tensor_is_defined: c"aoti_torch_is_defined", fn(*mut Opaque, *mut bool) -> Code;
    tensor_dim: c"aoti_torch_get_dim", fn(*mut Opaque, *mut i64) -> Code;
    tensor_sizes: c"aoti_torch_get_sizes", fn(*mut Opaque, *mut *mut i64) -> Code;
    tensor_strides: c"aoti_torch_get_strides", fn(*mut Opaque, *mut *mut i64) -> Code;
    tensor_dtype: c"aoti_torch_get_dtype", fn(*mut Opaque, *mut i32) -> Code;
    tensor_device: c"aoti_torch_get_device_type", fn(*mut Opaque, *mut i32) -> Code;
    tensor_layout: c"aoti_torch_get_layout", fn(*mut Opaque, *mut i32) -> Code;
    tensor_offset: c"aoti_torch_get_storage_offset", fn(*mut Opaque, *mut i64) -> Code;
    tensor_storage_bytes: c"aoti_torch_get_storage_size", fn(*mut Opaque, *mut i64) -> Code;
    tensor_data: c"aoti_torch_get_data_ptr", fn(*mut Opaque, *mut *mut c_void) -> Code;
    tensor_empty: c"aoti_torch_empty_strided", fn(i64, *const i64, *const i64, i32, i32, i32, *mut *mut Opaque) -> Code;
    tensor_view: c"aoti_torch__reinterpret_tensor", fn(*mut Opaque, i64, *const i64, *const i64, i64, *mut *mut Opaque) -> Code;
    tensor_copy: c"aoti_torch_copy_", fn(*mut Opaque, *mut Opaque, i32) -> Code;
    tensor_of_memory: c"torch_from_blob", fn(
        *mut c_void, i64, *const i64, *const i64, i64, i32, i32, i32, *mut *mut Opaque, i32, *const u8, i64, Deleter, *mut c_void,
    ) -> Code;

    word_new: c"torch_new_stable_ivalue", fn(*mut *mut u64) -> Code;
    word_delete: c"torch_delete_stable_ivalue", fn(*mut u64) -> Code;
    list_new: c"torch_new_list_reserve_size", fn(usize, *mut *mut Opaque) -> Code;
    list_size: c"torch_list_size", fn(*mut Opaque, *mut usize) -> Code;
    list_item: c"torch_list_get_item", fn(*mut Opaque, usize, *mut u64) -> Code;
    list_push: c"torch_list_push_back", fn(*mut Opaque, u64) -> Code;
    list_delete: c"torch_delete_list", fn(*mut Opaque) -> Code;
    text_new: c"torch_new_string_handle", fn(*const c_char, usize, *mut *mut Opaque) -> Code;
    text_size: c"torch_string_length", fn(*mut Opaque, *mut usize) -> Code;
    text_start: c"torch_string_c_str", fn(*mut Opaque, *mut *const c_char) -> Code;
    text_delete: c"torch_delete_string", fn(*mut Opaque) -> Code;
    generator_delete: c"torch_delete_generator", fn(*mut Opaque) -> Code;
}

/// The library of torch that the process has loaded.
struct Loaded(NonNull<c_void>);

impl Loaded {
    const NAME: &CStr = c"libtorch_cpu.so";

    fn find() -> Result<Self> {
        // SAFETY: the name ends with a zero byte; a library that is loaded already runs no code when it is opened again.
        let handle = unsafe { libc::dlopen(Self::NAME.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        NonNull::new(handle).map(Self).ok_or_else(|| {
            let message = "torch is not loaded in this process; import torch in Python first";
            Error::new(ErrorKind::NotImplemented, message)
        })
    }

    fn symbol(&self, name: &CStr) -> Result<NonNull<c_void>> {
        // SAFETY: the handle came from `dlopen` and is never closed; the name ends with a zero byte.
        let found = unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) };
        NonNull::new(found).ok_or_else(|| {
            let name = name.to_string_lossy();
            let message =
                format!("the torch of this process has no function {name}; install torch 2.13 or later");
            Error::new(ErrorKind::NotImplemented, message)
        })
    }
}

static TORCH: OnceLock<Torch> = OnceLock::new();

/// torch's functions.
///
/// # Errors
///
/// [`ErrorKind::NotImplemented`]: torch is not loaded, or too old.
pub(crate) fn torch() -> Result<&'static Torch> {
    if let Some(torch) = TORCH.get() {
        return Ok(torch);
    }
    let torch = Torch::found_in(&Loaded::find()?)?;
    // SAFETY: takes nothing and returns a constant.
    let found = unsafe { (torch.abi_version)() };
    if found < OLDEST {
        let (major, minor) = (found >> 56, found >> 48 & 0xff);
        let message = format!("found torch {major}.{minor}, expected 2.13 or later; install a newer one");
        return Err(Error::new(ErrorKind::NotImplemented, message));
    }
    Ok(TORCH.get_or_init(|| torch))
}

/// Whether the process has torch.
pub(crate) fn is_loaded() -> bool {
    Loaded::find().is_ok()
}

/// Makes the calls that give one value through their last argument.
macro_rules! ask {
    ($torch:expr, $function:ident($($argument:expr),* $(,)?), $initial:expr) => {{
        let mut value = $initial;
        // SAFETY: the arguments are those that the header asks for, kept alive by the caller; the last one leads to a variable.
        let code = unsafe { ($torch.$function)($($argument,)* &raw mut value) };
        if code == 0 { Ok(value) } else { Err($torch.error(stringify!($function))) }
    }};
}

impl Torch {
    /// What went wrong in the last call of this thread that returned an error.
    #[cold]
    fn error(&self, what: &str) -> Error {
        // SAFETY: takes nothing; gives a text of the thread, or null.
        let text = unsafe { (self.last_error)() };
        let text = if text.is_null() {
            format!("torch refused `{what}` without a message")
        } else {
            // SAFETY: a text of torch ends with a zero byte and lives until the next error of the thread.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Error::new(ErrorKind::Kernel, text)
    }

    fn checked(&self, code: Code, what: &str) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.error(what)) }
    }

    /// The version of the encoding that both sides speak.
    fn encoding(&self) -> u64 {
        // SAFETY: takes nothing and returns a constant.
        ENCODING.min(unsafe { (self.abi_version)() })
    }

    /// Throws a C++ exception with this text, which the caller of a kernel turns into an exception of Python.
    ///
    /// # Safety
    ///
    /// - `text` is a text that lives until this returns, which it never does.
    /// - No frame between this call and torch's has anything to drop, and each is of the ABI "C-unwind" or Rust's own.
    pub(crate) unsafe fn raise(&self, text: *const c_char) {
        let (function, file) = (c"opgrid kernel".as_ptr(), c"opgrid-torch".as_ptr());
        // SAFETY: the strings end with zero bytes; the exception goes through frames that allow it, as the caller guarantees.
        unsafe { (self.raise)(false, function, file, line!(), text) }
    }

    /// Defines an operator in torch.
    ///
    /// # Errors
    ///
    /// Those of torch: the schema is not one, the operator is there.
    pub(crate) fn define(&'static self, namespace: &CStr, schema: &CStr) -> Result<TorchLibrary> {
        let file = c"opgrid".as_ptr();
        let library = ask!(self, library_fragment(namespace.as_ptr(), file, 0), ptr::null_mut())?;
        let library = TorchLibrary { torch: self, handle: library };
        // SAFETY: takes nothing and returns a constant.
        let tag = unsafe { (self.tag_compliant)() };
        // SAFETY: the library is ours; the schema ends with a zero byte; there is one tag.
        let code = unsafe { (self.library_define)(library.handle, schema.as_ptr(), &raw const tag, 1) };
        self.checked(code, "define").map(|()| library)
    }

    /// Gives an operator of torch a kernel for a dispatch key.
    ///
    /// # Errors
    ///
    /// Those of torch: no such key.
    pub(crate) fn implement(
        &'static self,
        namespace: &CStr,
        key: &CStr,
        name: &CStr,
        kernel: Kernel,
    ) -> Result<TorchLibrary> {
        let file = c"opgrid".as_ptr();
        let library = ask!(self, library_impl(namespace.as_ptr(), key.as_ptr(), file, 0), ptr::null_mut())?;
        let library = TorchLibrary { torch: self, handle: library };
        // SAFETY: the library is ours; the name ends with a zero byte; the kernel is a function.
        let code = unsafe { (self.library_kernel)(library.handle, name.as_ptr(), kernel, self.encoding()) };
        self.checked(code, "implement").map(|()| library)
    }

    /// Calls an operator of torch. The arguments in `words` are torch's from then on, and the results replace them.
    ///
    /// # Safety
    ///
    /// `words` are the arguments of that operator, encoded for its schema, and have room for its results.
    ///
    /// # Errors
    ///
    /// Those of torch: the operator is not there, or failed.
    pub(crate) unsafe fn call(&self, name: &CStr, overload: &CStr, words: &mut [u64]) -> Result<()> {
        // SAFETY: guaranteed by the caller, see `# Safety`; the strings end with zero bytes.
        let code = unsafe {
            (self.call_dispatcher)(name.as_ptr(), overload.as_ptr(), words.as_mut_ptr(), self.encoding())
        };
        self.checked(code, "call")
    }
}

/// A registration in torch, undone on drop.
pub(crate) struct TorchLibrary {
    torch: &'static Torch,
    handle: *mut Opaque,
}

impl TorchLibrary {
    /// Lets the registration stay for as long as the process.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for TorchLibrary {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and not used again.
        unsafe { (self.torch.library_delete)(self.handle) };
    }
}

/// A tensor of torch: an owned handle, which counts as one reference.
///
/// Invariant: the handle is torch's, and nobody else deletes it.
pub(crate) struct TorchTensor(NonNull<Opaque>);

// SAFETY: torch counts references atomically, and its tensors may be used and freed on any thread.
unsafe impl Send for TorchTensor {}
// SAFETY: torch's tensors may be used by several threads at a time as long as they only read, and what is asked of a shared
// handle only reads.
unsafe impl Sync for TorchTensor {}

impl Drop for TorchTensor {
    fn drop(&mut self) {
        if let Some(torch) = TORCH.get() {
            // SAFETY: the handle is ours by the invariant, and not used again.
            unsafe { (torch.tensor_delete)(self.0.as_ptr()) };
        }
    }
}

/// What a tensor of torch is like.
pub(crate) struct Described<'t> {
    pub(crate) sizes: &'t [i64],
    pub(crate) strides: &'t [i64],
    pub(crate) dtype: i32,
    pub(crate) device: i32,
    pub(crate) layout: i32,
}

impl TorchTensor {
    /// Takes over the handle in a word.
    ///
    /// # Safety
    ///
    /// The word is the handle of a tensor, and the caller gives its ownership away.
    ///
    /// # Errors
    ///
    /// The word is zero.
    pub(crate) unsafe fn of_word(word: u64) -> Result<Self> {
        let handle = NonNull::new(ptr::with_exposed_provenance_mut(word as usize));
        handle.map(Self).ok_or_else(|| Error::new(ErrorKind::Value, "found no tensor, expected one"))
    }

    fn owned(handle: *mut Opaque) -> Result<Self> {
        NonNull::new(handle)
            .map(Self)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "torch returned a null handle"))
    }

    /// Returns a second handle that does not delete the tensor when dropped.
    ///
    /// # Safety
    ///
    /// It is not used after `self` was dropped.
    pub(crate) unsafe fn lent(&self) -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self(self.0))
    }

    /// Gives the handle away as a word.
    pub(crate) fn into_word(self) -> u64 {
        let handle = ManuallyDrop::new(self);
        handle.0.as_ptr().expose_provenance() as u64
    }

    /// Another handle of the same tensor.
    pub(crate) fn share(&self, torch: &Torch) -> Result<Self> {
        Self::owned(ask!(torch, tensor_share(self.0.as_ptr()), ptr::null_mut())?)
    }

    /// A tensor that is not there.
    pub(crate) fn undefined(torch: &Torch) -> Result<Self> {
        Self::owned(ask!(torch, tensor_undefined(), ptr::null_mut())?)
    }

    /// Whether there is a tensor behind the handle.
    pub(crate) fn is_defined(&self, torch: &Torch) -> Result<bool> {
        ask!(torch, tensor_is_defined(self.0.as_ptr()), false)
    }

    /// Sizes, strides (in elements) and kinds.
    pub(crate) fn describe(&self, torch: &Torch) -> Result<Described<'_>> {
        let handle = self.0.as_ptr();
        let device = ask!(torch, tensor_device(handle), 0)?;
        let layout = ask!(torch, tensor_layout(handle), 0)?;
        let dtype = ask!(torch, tensor_dtype(handle), 0)?;
        // Sparse tensors have no strides.
        if layout != 0 {
            return Ok(Described { sizes: &[], strides: &[], dtype, device, layout });
        }
        let dims = usize::try_from(ask!(torch, tensor_dim(handle), 0)?).unwrap_or(0);
        let sizes = ask!(torch, tensor_sizes(handle), ptr::null_mut())?;
        let strides = ask!(torch, tensor_strides(handle), ptr::null_mut())?;
        if dims == 0 {
            return Ok(Described { sizes: &[], strides: &[], dtype, device, layout });
        }
        // SAFETY: torch keeps so many numbers there as long as the tensor, which the handle keeps; who changes the sizes of a
        // tensor while an operator runs on it breaks torch's own rule. What is lent ends before this crate has torch do so.
        let sizes = unsafe { std::slice::from_raw_parts(sizes, dims) };
        // SAFETY: torch keeps as many strides as sizes, as long as the tensor, which the handle keeps; who changes
        // them while an operator runs on it breaks torch's own rule.
        let strides = unsafe { std::slice::from_raw_parts(strides, dims) };
        Ok(Described { sizes, strides, dtype, device, layout })
    }

    /// Where the first element lies; null where there is none.
    pub(crate) fn data(&self, torch: &Torch) -> Result<*mut u8> {
        Ok(ask!(torch, tensor_data(self.0.as_ptr()), ptr::null_mut())?.cast())
    }

    /// How far the first element is from the beginning of the storage, in elements, and the storage's size in bytes.
    pub(crate) fn storage(&self, torch: &Torch) -> Result<(i64, i64)> {
        let handle = self.0.as_ptr();
        Ok((ask!(torch, tensor_offset(handle), 0)?, ask!(torch, tensor_storage_bytes(handle), 0)?))
    }

    /// A new tensor with any content.
    pub(crate) fn empty(
        torch: &Torch,
        sizes: &[i64],
        strides: &[i64],
        dtype: i32,
        device: i32,
    ) -> Result<Self> {
        let dims = sizes.len() as i64;
        Self::owned(ask!(
            torch,
            tensor_empty(dims, sizes.as_ptr(), strides.as_ptr(), dtype, device, 0),
            ptr::null_mut()
        )?)
    }

    /// Another tensor on the same storage, whose first element is `offset` elements after that of this one.
    pub(crate) fn view(&self, torch: &Torch, sizes: &[i64], strides: &[i64], offset: i64) -> Result<Self> {
        let (handle, dims) = (self.0.as_ptr(), sizes.len() as i64);
        Self::owned(ask!(
            torch,
            tensor_view(handle, dims, sizes.as_ptr(), strides.as_ptr(), offset),
            ptr::null_mut()
        )?)
    }

    /// Writes the elements of another tensor into this one.
    pub(crate) fn copy_from(&self, torch: &Torch, source: &Self) -> Result<()> {
        // SAFETY: both handles are alive.
        let code = unsafe { (torch.tensor_copy)(self.0.as_ptr(), source.0.as_ptr(), 0) };
        torch.checked(code, "copy_")
    }

    /// Gives the tensor other sizes, and memory for them.
    pub(crate) fn resize(&self, torch: &Torch, sizes: &[i64]) -> Result<()> {
        let mut words = [self.share(torch)?.into_word(), new_integers(torch, sizes)?, 0];
        // SAFETY: `aten::resize_` takes a tensor, a list of integers and an optional memory format, and gives the tensor.
        unsafe { torch.call(c"aten::resize_", c"", &mut words) }?;
        // SAFETY: the result is the handle of a tensor, and ours.
        drop(unsafe { Self::of_word(words[0]) });
        Ok(())
    }

    /// Has the tensor show its storage in another way.
    pub(crate) fn set_strides(
        &self,
        torch: &Torch,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<()> {
        let offset = new_optional(torch)?.fill(offset as u64);
        let (sizes, strides) = (new_integers(torch, sizes)?, new_integers(torch, strides)?);
        let mut words = [self.share(torch)?.into_word(), sizes, strides, offset];
        // SAFETY: `aten::as_strided_` takes a tensor, two lists of integers and an optional integer, and gives the tensor.
        unsafe { torch.call(c"aten::as_strided_", c"", &mut words) }?;
        // SAFETY: the result is the handle of a tensor, and ours.
        drop(unsafe { Self::of_word(words[0]) });
        Ok(())
    }

    /// A tensor on memory that `keeper` keeps, which is dropped when torch has no tensor on it any more.
    ///
    /// # Safety
    ///
    /// `data` leads to the elements that sizes and strides address, initialised, for as long as `keeper` lives.
    pub(crate) unsafe fn of_memory(
        torch: &Torch,
        data: *mut u8,
        sizes: &[i64],
        strides: &[i64],
        dtype: i32,
        keeper: AnyTensor,
    ) -> Result<Self> {
        /// # Safety
        ///
        /// `context` is a handle that was given away, and nobody uses it again.
        unsafe extern "C" fn release(_data: *mut c_void, context: *mut c_void) {
            let Some(raw) = NonNull::new(context.cast::<()>()) else { return };
            // SAFETY: guaranteed by the caller, see `# Safety`.
            let keeper = unsafe { AnyTensor::from_raw(raw) };
            // A panic of a destructor has nowhere to go.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(keeper)));
        }
        let context: *mut c_void = keeper.into_raw().as_ptr().cast();
        let mut handle = ptr::null_mut();
        // SAFETY: guaranteed by the caller, see `# Safety`; the deleter is that of the context, which is called once.
        let code = unsafe {
            (torch.tensor_of_memory)(
                data.cast(),
                sizes.len() as i64,
                sizes.as_ptr(),
                strides.as_ptr(),
                0,
                dtype,
                0,
                // A CPU has no number.
                -1,
                &raw mut handle,
                0,
                ptr::null(),
                0,
                release,
                context,
            )
        };
        // Where it fails, torch may have called the deleter or not; the keeper is leaked rather than dropped twice.
        torch.checked(code, "from_blob")?;
        Self::owned(handle)
    }
}

/// Reads and frees a word behind a pointer, as optionals are passed; nothing for a null pointer.
///
/// # Safety
///
/// `word` is zero, or the address of a word that torch allocated, whose ownership the caller gives away.
pub(crate) unsafe fn take_optional(torch: &Torch, word: u64) -> Option<u64> {
    let place = NonNull::new(ptr::with_exposed_provenance_mut::<u64>(word as usize))?;
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let inner = unsafe { place.read() };
    // SAFETY: guaranteed by the caller, see `# Safety`: torch allocated the word, and it is given away; it is not used again.
    unsafe { (torch.word_delete)(place.as_ptr()) };
    Some(inner)
}

/// A new word behind a pointer, as optionals are passed.
///
/// Invariant: torch allocated the word, and it is ours.
pub(crate) struct NewOptional(NonNull<u64>);

/// Memory for an optional that is there.
pub(crate) fn new_optional(torch: &Torch) -> Result<NewOptional> {
    let place: *mut u64 = ask!(torch, word_new(), ptr::null_mut())?;
    let place = NonNull::new(place);
    place
        .map(NewOptional)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "torch returned no memory for an optional"))
}

impl NewOptional {
    /// The address, with this word behind it.
    pub(crate) fn fill(self, inner: u64) -> u64 {
        // SAFETY: the word is ours by the invariant.
        unsafe { self.0.write(inner) };
        self.0.as_ptr().expose_provenance() as u64
    }
}

/// Reads and frees a list.
///
/// # Safety
///
/// The word is the handle of a list, whose ownership the caller gives away; that of its items goes to the caller.
pub(crate) unsafe fn take_list(torch: &Torch, word: u64) -> Result<Vec<u64>> {
    let list: *mut Opaque = ptr::with_exposed_provenance_mut(word as usize);
    let size = ask!(torch, list_size(list), 0)?;
    let items = (0..size).map(|index| ask!(torch, list_item(list, index), 0u64)).collect();
    // SAFETY: guaranteed by the caller, see `# Safety`; it is not used again.
    unsafe { (torch.list_delete)(list) };
    items
}

/// A list of these items, which it owns.
pub(crate) fn new_list(torch: &Torch, items: &[u64]) -> Result<u64> {
    let list = ask!(torch, list_new(items.len()), ptr::null_mut())?;
    for item in items {
        // SAFETY: the list is ours.
        let code = unsafe { (torch.list_push)(list, *item) };
        torch.checked(code, "push_back")?;
    }
    Ok(list.expose_provenance() as u64)
}

fn new_integers(torch: &Torch, items: &[i64]) -> Result<u64> {
    let words: Vec<u64> = items.iter().map(|item| *item as u64).collect();
    new_list(torch, &words)
}

/// Reads and frees a text.
///
/// # Safety
///
/// The word is the handle of a text, whose ownership the caller gives away.
pub(crate) unsafe fn take_text(torch: &Torch, word: u64) -> Result<String> {
    let text: *mut Opaque = ptr::with_exposed_provenance_mut(word as usize);
    let size = ask!(torch, text_size(text), 0usize)?;
    let start: *const c_char = ask!(torch, text_start(text), ptr::null())?;
    // SAFETY: torch gave start and length of a text that lives until it is deleted, three lines below.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), size) }.to_vec();
    // SAFETY: guaranteed by the caller, see `# Safety`; it is not used again.
    unsafe { (torch.text_delete)(text) };
    String::from_utf8(bytes)
        .map_err(|_| Error::new(ErrorKind::Value, "found a string that is not UTF-8; pass one that is"))
}

/// A text of torch's.
pub(crate) fn new_text(torch: &Torch, text: &str) -> Result<u64> {
    let handle = ask!(torch, text_new(text.as_ptr().cast(), text.len()), ptr::null_mut())?;
    Ok(handle.expose_provenance() as u64)
}

/// Frees a generator.
///
/// # Safety
///
/// The word is the handle of a generator, whose ownership the caller gives away.
pub(crate) unsafe fn drop_generator(torch: &Torch, word: u64) {
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe { (torch.generator_delete)(ptr::with_exposed_provenance_mut(word as usize)) };
}
