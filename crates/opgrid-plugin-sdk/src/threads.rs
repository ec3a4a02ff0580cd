//! The host's threads.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

use opgrid_abi::{OpgridError, OpgridLibrary};

use crate::error::{Result, check};
use crate::host::{self, guarded, running};

/// Calls `work` for ranges that together are `0..n`, each of `grain` numbers but for the last one, on the host's threads where
/// there are some, with the keys of this thread. A process has one pool of threads, which plugins need not add to.
///
/// It returns when nothing of it runs any more. Once `work` has failed or panicked for a range no further one is begun.
///
/// # Errors
///
/// The one of `work` that came first; the plugin is not loaded.
///
/// # Examples
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use opgrid_plugin_sdk::{Result, parallel_for};
///
/// fn sum(numbers: &[usize]) -> Result<usize> {
///     let sum = AtomicUsize::new(0);
///     parallel_for(numbers.len(), 1 << 12, |range| {
///         sum.fetch_add(numbers[range].iter().sum(), Ordering::Relaxed);
///         Ok(())
///     })?;
///     Ok(sum.into_inner())
/// }
/// ```
pub fn parallel_for<F>(n: usize, grain: usize, work: F) -> Result<()>
where
    F: Fn(Range<usize>) -> Result<()> + Sync,
{
    let mut error = ptr::null_mut();
    let work = Work { library: host::library(), work };
    let context: *mut c_void = ptr::from_ref(&work).cast_mut().cast();
    // SAFETY: the function is the one for contexts of this type. What `F` says may be shared between threads, a library is a
    // number; both live until the host returns, and by then nothing uses them any more.
    let status = unsafe { (host::api()?.parallel_for)(n, grain, Some(run::<F>), context, &raw mut error) };
    check(status, error)
}

/// What threads do, and for which library.
struct Work<F> {
    library: *mut OpgridLibrary,
    work: F,
}

/// # Safety
///
/// `context` is a `Work<F>` that lives until the function returns.
unsafe extern "C" fn run<F>(
    context: *mut c_void,
    start: usize,
    end: usize,
    error: *mut *mut OpgridError,
) -> i32
where
    F: Fn(Range<usize>) -> Result<()> + Sync,
{
    guarded(error, || {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        let Work { library, work } = unsafe { &*context.cast_const().cast::<Work<F>>() };
        running(*library, || work(start..end))
    })
}

/// On how many threads [`parallel_for`] works at most.
///
/// # Errors
///
/// The plugin is not loaded.
///
/// # Examples
///
/// ```
/// // Outside of a host there is nobody to ask.
/// assert!(opgrid_plugin_sdk::num_threads().is_err());
/// ```
pub fn num_threads() -> Result<usize> {
    // SAFETY: takes nothing.
    Ok(unsafe { (host::api()?.num_threads)() })
}
