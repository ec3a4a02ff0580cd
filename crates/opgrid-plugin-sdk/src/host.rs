//! The host: its table, the library that runs, and the border that no panic crosses.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::Cell;
use std::ffi::CString;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use opgrid_abi::{
    OPGRID_ABI_MAJOR, OPGRID_ABI_MINOR, OPGRID_ERROR_REGISTRATION, OPGRID_LOG_NOTE, OPGRID_LOG_WARNING,
    OPGRID_OK, OpgridApi, OpgridError, OpgridLibrary, OpgridText,
};

use crate::error::{Error, ErrorKind, Result};
use crate::library::{Dispatcher, Registration};

static API: OnceLock<&'static OpgridApi> = OnceLock::new();
static LIBRARY: AtomicPtr<OpgridLibrary> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    /// The library by which the kernel was registered that this thread runs; null outside of this plugin's kernels.
    static RUNNING: Cell<*mut OpgridLibrary> = const { Cell::new(ptr::null_mut()) };
}

/// The table, if the plugin is loaded.
pub(crate) fn known() -> Option<&'static OpgridApi> {
    API.get().copied()
}

/// The table.
///
/// # Errors
///
/// The plugin is not loaded.
pub(crate) fn api() -> Result<&'static OpgridApi> {
    known().ok_or_else(|| {
        Error::new(
            ErrorKind::Stale,
            "the plugin is not loaded; load the library with opgrid before it is used",
        )
    })
}

/// The plugin's library. Where several dispatchers have loaded the file, that of the kernel which runs; outside of kernels the
/// last one.
pub(crate) fn library() -> *mut OpgridLibrary {
    let running = RUNNING.get();
    if running.is_null() { LIBRARY.load(Ordering::Acquire) } else { running }
}

/// Runs a kernel, or a part of one, that was registered by that library.
pub(crate) fn running<X>(library: *mut OpgridLibrary, body: impl FnOnce() -> X) -> X {
    /// Puts the library back, also when a panic passes.
    struct Before(*mut OpgridLibrary);

    impl Drop for Before {
        fn drop(&mut self) {
            RUNNING.set(self.0);
        }
    }

    let _before = Before(RUNNING.replace(library));
    body()
}

/// Tells people something that is probably not meant so: where the host tells its own warnings, with the plugin's name. While no host has
/// loaded the plugin, on the standard error.
///
/// # Examples
///
/// ```
/// use opgrid_plugin_sdk::{note, warn};
///
/// fn choose(has_fast_path: bool) {
///     if has_fast_path {
///         note("the fast path is used");
///     } else {
///         warn(format_args!("the fast path is missing; install version {} of the driver", 7));
///     }
/// }
/// ```
pub fn warn(message: impl fmt::Display) {
    log(OPGRID_LOG_WARNING, "warning", &message.to_string());
}

/// Tells people something that may be good to know, as [`warn()`] does.
pub fn note(message: impl fmt::Display) {
    log(OPGRID_LOG_NOTE, "note", &message.to_string());
}

fn log(level: u32, name: &str, message: &str) {
    match known() {
        // SAFETY: the text lives until the function returns; the host knows its libraries.
        Some(api) => unsafe {
            (api.log)(library(), level, OpgridText { data: message.as_ptr().cast(), size: message.len() });
        },
        None => eprintln!("{name}: {message}"),
    }
}

/// A text as the table takes it.
///
/// # Errors
///
/// A zero byte inside.
pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::new(ErrorKind::Value, format!("`{text}` has a zero byte inside; leave it out")))
}

/// The entry of the plugin.
///
/// # Safety
///
/// The host calls it, with its table and a library.
#[doc(hidden)]
pub unsafe fn initialize(
    api: *const OpgridApi,
    library: *mut OpgridLibrary,
    register: impl FnOnce(&Dispatcher) -> Result<Registration>,
) -> i32 {
    if api.is_null() {
        return OPGRID_ERROR_REGISTRATION;
    }
    // SAFETY: guaranteed by the caller, see `# Safety`: every table begins so. It is looked at in place, because one of an older host
    // is shorter than this type.
    let (size, major) = unsafe { ((*api).struct_size, (*api).abi_major) };
    if major != OPGRID_ABI_MAJOR || size < size_of::<OpgridApi>() {
        return OPGRID_ERROR_REGISTRATION;
    }
    // SAFETY: guaranteed by the caller, see `# Safety`: it is the host's table, which lives as long as the process. Its
    // size, compared above, says that it has every function of this type.
    let table = unsafe { &*api };
    API.get_or_init(|| table);
    LIBRARY.store(library, Ordering::Release);
    let mut error = ptr::null_mut();
    let entry = || running(library, || register(&Dispatcher::current())?.say_to(library));
    let status = guarded(&raw mut error, entry);
    if status != OPGRID_OK {
        // SAFETY: the host gave the library; the error is handed over.
        unsafe { (table.library_fail)(library, error) };
    }
    status
}

/// Runs what may fail or panic, for the host: the status, and the error in `out`.
pub(crate) fn guarded(out: *mut *mut OpgridError, body: impl FnOnce() -> Result<()>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => OPGRID_OK,
        Ok(Err(error)) => error.leave(out),
        Err(panic) => match panic.downcast::<Error>() {
            // Of a function that has no other way to fail.
            Ok(error) => error.leave(out),
            Err(panic) => {
                let status = panicked(&*panic).leave(out);
                discard(panic);
                status
            }
        },
    }
}

/// Ends the kernel that runs with an error, where a function cannot return one. Nothing is printed: it is no mistake of the
/// plugin's code.
#[cold]
pub(crate) fn give_up(error: Error) -> ! {
    std::panic::resume_unwind(Box::new(error))
}

/// Frees a context for the host, who hears of no panic: that has printed its message by then.
pub(crate) fn freeing(body: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
        discard(panic);
    }
}

/// Drops what a panic carried. That is code of the plugin too: where it panics in turn, the same is done with what that panic
/// carries, a few times. Then it is leaked, because it may go on forever.
fn discard(mut panic: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            Ok(()) => return,
            Err(again) => panic = again,
        }
    }
    std::mem::forget(panic);
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Error::new(ErrorKind::Kernel, format!("a plugin panicked: {text}"))
}

// What `plugin!` says in the manifest.
const _: () = assert!(OPGRID_ABI_MAJOR == 1 && OPGRID_ABI_MINOR == 3);

/// States the manifest and the entry of a plugin; once in a library.
///
/// `register` is a function of a [`Dispatcher`](crate::Dispatcher) that returns a [`Registration`](crate::Registration). What
/// that holds is registered at once if it returns `Ok`, and not at all if it fails or panics. It becomes the two symbols
/// `opgrid_plugin_manifest` and `opgrid_plugin_init`.
#[macro_export]
macro_rules! plugin {
    (
        name: $name:literal,
        version: $version:literal,
        namespaces: $namespaces:literal,
        keys: $keys:literal,
        register: $register:expr $(,)?
    ) => {
        #[allow(unsafe_code, non_upper_case_globals, missing_docs)]
        const _: () = {
            const TEXT: &str = ::core::concat!(
                "opgrid plugin\nabi 1.3\nname ",
                $name,
                "\nversion ",
                $version,
                "\nnamespaces ",
                $namespaces,
                "\nkeys ",
                $keys,
                "\n"
            );
            // SAFETY: a library states one plugin, so that nothing else has the name.
            #[unsafe(no_mangle)]
            #[used]
            pub static opgrid_plugin_manifest: [u8; TEXT.len() + 1] = $crate::__private::bytes(TEXT);

            // SAFETY: a library states one plugin, so that nothing else has the name.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn opgrid_plugin_init(
                api: *const $crate::abi::OpgridApi,
                library: *mut $crate::abi::OpgridLibrary,
            ) -> i32 {
                // SAFETY: the host calls this, as the interface says.
                unsafe { $crate::__private::initialize(api, library, $register) }
            }
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_that_runs_is_put_back_when_a_kernel_panics() {
        let number = |library: usize| ptr::without_provenance_mut::<OpgridLibrary>(library);
        running(number(1), || {
            let panic = catch_unwind(|| running(number(2), || std::panic::resume_unwind(Box::new(7))));
            assert!(panic.is_err_and(|panic| panic.is::<i32>()));
            assert_eq!(library(), number(1));
        });
        assert!(library().is_null());
    }

    #[test]
    fn giving_up_is_the_error_itself() {
        let error = || Error::new(ErrorKind::Argument, "no sizes");
        assert_eq!(guarded(ptr::null_mut(), || give_up(error())), ErrorKind::Argument as i32);
    }
}
