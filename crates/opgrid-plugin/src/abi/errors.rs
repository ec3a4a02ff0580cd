//! Errors in the hands of plugins: numbers that look like pointers, so that one that is given back twice, or was never
//! there, is noticed and does no harm.
#![allow(unsafe_code)]

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opgrid_abi::{OPGRID_ERROR_KERNEL, OPGRID_OK, OpgridError, OpgridText};
use opgrid_core::panics::discard;
use opgrid_core::{Error, ErrorKind};

use super::{slice, text_to};

/// The errors that plugins hold.
struct Held {
    last: usize,
    /// In boxes, so that their messages stay where they are.
    errors: BTreeMap<usize, Box<Error>>,
}

static HELD: Mutex<Held> = Mutex::new(Held { last: 0, errors: BTreeMap::new() });

/// What is held while the process forks.
pub(super) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    held.lock(&HELD);
}

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many errors plugins hold.
#[cfg(test)]
pub(super) fn count() -> usize {
    held().errors.len()
}

/// The kinds by their numbers, from 1 on.
const KINDS: [ErrorKind; 15] = [
    ErrorKind::Kernel,
    ErrorKind::Schema,
    ErrorKind::Duplicate,
    ErrorKind::Registration,
    ErrorKind::Unknown,
    ErrorKind::MissingKernel,
    ErrorKind::Value,
    ErrorKind::Argument,
    ErrorKind::Index,
    ErrorKind::SlowPath,
    ErrorKind::Depth,
    ErrorKind::Stale,
    ErrorKind::NotImplemented,
    ErrorKind::File,
    ErrorKind::Internal,
];

/// The kind of that number; what nobody knows is a kernel's own.
pub fn kind_of(status: i32) -> ErrorKind {
    let place = usize::try_from(status).ok().and_then(|status| status.checked_sub(1));
    place.and_then(|place| KINDS.get(place)).copied().unwrap_or(ErrorKind::Kernel)
}

/// The number of a kind. Those without one are told apart from others of theirs by their message alone.
fn status_of(kind: ErrorKind) -> i32 {
    let known = match kind {
        ErrorKind::Signature => ErrorKind::Registration,
        ErrorKind::AmbiguousKernel => ErrorKind::MissingKernel,
        kind => kind,
    };
    KINDS.iter().position(|kind| *kind == known).map_or(OPGRID_ERROR_KERNEL, |place| place as i32 + 1)
}

/// Gives an error to a plugin.
pub(super) fn give(error: Error) -> *mut OpgridError {
    let mut held = held();
    held.last += 1;
    let number = held.last;
    held.errors.insert(number, Box::new(error));
    ptr::without_provenance_mut(number)
}

/// Takes an error from a plugin, if it is there.
pub(super) fn take(error: *const OpgridError) -> Option<Error> {
    held().errors.remove(&error.addr()).map(|error| *error)
}

/// Takes an error from an extension that has caught it, by its number.
pub fn take_error(number: usize) -> Option<Error> {
    take(ptr::without_provenance(number))
}

/// What a plugin's function says by its status and its error.
#[inline]
pub(super) fn outcome(
    status: i32,
    error: *mut OpgridError,
    subject: impl FnOnce() -> String,
) -> Result<(), Error> {
    if status == OPGRID_OK && error.is_null() {
        return Ok(());
    }
    Err(failure(status, error, subject))
}

#[cold]
#[inline(never)]
fn failure(status: i32, error: *mut OpgridError, subject: impl FnOnce() -> String) -> Error {
    let subject = subject();
    if error.is_null() {
        let message = format!(
            "{subject} failed with status {status} and returned no error; create one with \
                 `error_new`"
        );
        return Error::new(kind_of(status), message);
    }
    take(error).unwrap_or_else(|| {
        let message = format!(
            "{subject} failed with status {status} and returned an error that does not exist; return \
             each error once, and do not free it before"
        );
        Error::new(ErrorKind::Internal, message)
    })
}

/// Runs the body of a function of the table: its status, and its error in `out`.
///
/// # Safety
///
/// `out` is null, or may be written.
#[inline]
pub(super) unsafe fn answer(out: *mut *mut OpgridError, body: impl FnOnce() -> Result<(), Error>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => OPGRID_OK,
        // SAFETY: guaranteed by the caller, see `# Safety`.
        Ok(Err(error)) => unsafe { report(out, error) },
        // SAFETY: guaranteed by the caller, see `# Safety`, which is that of `report`.
        Err(panic) => unsafe { report(out, panicked(panic)) },
    }
}

/// # Safety
///
/// As of [`answer`].
#[cold]
unsafe fn report(out: *mut *mut OpgridError, error: Error) -> i32 {
    let status = status_of(error.kind());
    if !out.is_null() && out.is_aligned() {
        // SAFETY: guaranteed by the caller, see `# Safety`.
        unsafe { out.write(give(error)) };
    }
    status
}

#[cold]
fn panicked(panic: Box<dyn Any + Send>) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let error =
        Error::new(ErrorKind::Internal, format!("a kernel or a function of the host panicked: {text}"));
    discard(panic);
    error
}

/// Runs the body of a function that cannot fail. A panic has printed its message by then.
pub(super) fn quietly<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        discard(panic);
        otherwise
    })
}

pub(super) unsafe extern "C" fn error_new(kind: i32, message: OpgridText) -> *mut OpgridError {
    quietly(ptr::null_mut(), || {
        // SAFETY: the plugin guarantees that the text has the bytes that it says.
        let bytes = unsafe { slice(message.data.cast::<u8>(), message.size, "the message of an error") };
        let text = match &bytes {
            Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Err(error) => error.to_string(),
        };
        give(Error::new(kind_of(kind), text))
    })
}

pub(super) unsafe extern "C" fn error_kind(error: *const OpgridError) -> i32 {
    held().errors.get(&error.addr()).map_or(OPGRID_OK, |error| status_of(error.kind()))
}

pub(super) unsafe extern "C" fn error_message(error: *const OpgridError) -> OpgridText {
    held().errors.get(&error.addr()).map_or(text_to(""), |error| text_to(error.message()))
}

pub(super) unsafe extern "C" fn error_release(error: *mut OpgridError) {
    // What is behind an error may be code of users, which may panic when it is dropped.
    quietly((), || drop(take(error)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_is_given_back_twice_is_gone_once() {
        let before = count();
        let error = give(Error::new(ErrorKind::Index, "index 7, expected at most 3"));
        // SAFETY: these take any number.
        let (kind, text) = unsafe { (error_kind(error), error_message(error)) };
        assert_eq!((kind, text.size), (9, 27));
        // SAFETY: it takes any number, also one whose error is gone.
        unsafe { (error_release(error), error_release(error)) };
        assert_eq!(count(), before);
        // SAFETY: these take any number.
        assert_eq!(unsafe { (error_kind(error), error_message(error).size) }, (0, 0));
        let found = outcome(9, error, || "a kernel".into()).unwrap_err();
        assert!(found.to_string().contains("returned an error that does not exist"), "{found}");
    }

    #[test]
    fn kinds_come_back() {
        for (place, kind) in KINDS.iter().enumerate() {
            assert_eq!((status_of(*kind), kind_of(place as i32 + 1)), (place as i32 + 1, *kind));
        }
        assert_eq!(
            (kind_of(-1), kind_of(99), kind_of(0)),
            (ErrorKind::Kernel, ErrorKind::Kernel, ErrorKind::Kernel)
        );
    }
}
