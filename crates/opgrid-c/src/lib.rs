//! The library that programs in C link: one function, which gives them the table of functions that plugins get.
//!
//! ```c
//! const OpgridApi *api;
//! OpgridLibrary *library;
//! OpgridError *error = NULL;
//! if (opgrid_open(&api, &library, &error)) return 1;
//! ```
//!
//! `python/opgrid/include/opgrid.h` declares it and the table; `docs/how-to/models-in-c.md` shows how a program is built and runs a model.
#![allow(unsafe_code)]

use opgrid::plugin::foreign;
use opgrid_abi::{OpgridApi, OpgridError, OpgridLibrary};

/// Writes the table to `api`, and to `library` one by which functions of the table find the operators of the process. Each call
/// gives another library, which stays for as long as the process runs. Nothing can be registered by it.
///
/// The status is `OPGRID_OK` or the kind of the error that is written to `error`. The table is written even then, to read the error.
///
/// # Safety
///
/// Each address is null, or can be written.
// SAFETY: a process has one library of opgrid, so that nothing else has the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opgrid_open(
    api: *mut *const OpgridApi,
    library: *mut *mut OpgridLibrary,
    error: *mut *mut OpgridError,
) -> i32 {
    let name = std::env::current_exe().ok();
    let name = name.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let dispatcher = || opgrid::dispatcher().cloned();
    // SAFETY: guaranteed by the caller, see `# Safety`.
    unsafe {
        foreign::open_table(dispatcher, name.as_deref().unwrap_or("a program in C"), api, library, error)
    }
}
