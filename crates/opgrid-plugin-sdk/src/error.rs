//! The one error of a plugin: its own, or one of the host on its way back.
#![allow(unsafe_code)]

use std::fmt;
use std::ptr;

use opgrid_abi::{OPGRID_OK, OpgridError, OpgridText};

use crate::host;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, for programs. The numbers are those of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(i32)]
pub enum ErrorKind {
    /// Anything that a kernel reports in words of its own.
    Kernel = 1,
    /// A schema text could not be read.
    Schema = 2,
    /// An operator, a library or a kernel is there already.
    Duplicate = 3,
    /// A registration that no rule allows.
    Registration = 4,
    /// No operator, key, device or dtype of that name.
    Unknown = 5,
    /// The operator has no kernel for the key that the call reached.
    MissingKernel = 6,
    /// A value is not what the schema or the kernel asks for.
    Value = 7,
    /// An argument has a shape, dtype, device or value that the operator refuses.
    Argument = 8,
    /// An index or a dimension beyond its range.
    Index = 9,
    /// A slow path, in strict mode.
    SlowPath = 10,
    /// Calls are nested deeper than the thread's limit.
    Depth = 11,
    /// The operator or the plugin is no longer there.
    Stale = 12,
    /// The feature exists by name only.
    NotImplemented = 13,
    /// A file could not be read or written.
    File = 14,
    /// An invariant does not hold.
    Internal = 15,
}

impl ErrorKind {
    fn from_status(status: i32) -> Self {
        const ALL: [ErrorKind; 15] = [
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
        ALL.into_iter().find(|kind| *kind as i32 == status).unwrap_or(Self::Kernel)
    }
}

/// An error: a kind and a message. One of the host keeps what is behind it, and goes back as it came.
pub struct Error {
    kind: ErrorKind,
    message: String,
    held: *mut OpgridError,
}

// SAFETY: the host lets its errors be used on any thread.
unsafe impl Send for Error {}
// SAFETY: the host lets its errors be used by several threads at a time.
unsafe impl Sync for Error {}

impl Error {
    /// An error of `kind` that says `message` (lower case, no full stop).
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), held: ptr::null_mut() }
    }

    /// Prefixes the message with its subject; an error of the host is returned unchanged.
    pub(crate) fn within(mut self, subject: &str) -> Self {
        if self.held.is_null() {
            self.message = format!("{subject}: {}", self.message);
        }
        self
    }

    /// The error that a function of the table has left.
    pub(crate) fn of_host(status: i32, error: *mut OpgridError) -> Self {
        let mut message = String::from("the host failed without an error");
        if let (Some(api), false) = (host::known(), error.is_null()) {
            // SAFETY: the host gave the error; its message lives as long as it does.
            message = unsafe { text((api.error_message)(error)) };
        }
        Self { kind: ErrorKind::from_status(status), message, held: error }
    }

    /// What went wrong, for programs.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The whole message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The number of the host's error, for front ends that hand it back; 0 for one of the plugin.
    pub fn into_number(mut self) -> usize {
        std::mem::replace(&mut self.held, ptr::null_mut()).addr()
    }

    /// Leaves the error to the host: its status.
    pub(crate) fn leave(mut self, out: *mut *mut OpgridError) -> i32 {
        let status = self.kind as i32;
        let Some(api) = host::known().filter(|_| !out.is_null()) else { return status };
        let mut held = std::mem::replace(&mut self.held, ptr::null_mut());
        if held.is_null() {
            let message = OpgridText { data: self.message.as_ptr().cast(), size: self.message.len() };
            // SAFETY: the text lives until the function returns.
            held = unsafe { (api.error_new)(status, message) };
        }
        // SAFETY: the host gave the address to be written, which is not null.
        unsafe { out.write(held) };
        status
    }
}

impl Drop for Error {
    fn drop(&mut self) {
        if let (Some(api), false) = (host::known(), self.held.is_null()) {
            // SAFETY: the error belongs to this value, which goes.
            unsafe { (api.error_release)(self.held) }
        }
    }
}

/// The text that the host lends.
///
/// # Safety
///
/// It lives, with as many bytes as it says.
pub(crate) unsafe fn text(text: OpgridText) -> String {
    if text.size == 0 {
        return String::new();
    }
    // SAFETY: guaranteed by the caller, see `# Safety`.
    let bytes = unsafe { std::slice::from_raw_parts(text.data.cast::<u8>(), text.size) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a function of the table says.
pub(crate) fn check(status: i32, error: *mut OpgridError) -> Result<()> {
    if status == OPGRID_OK { Ok(()) } else { Err(Error::of_host(status, error)) }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_numbers_of_the_interface() {
        for status in 1..=15 {
            assert_eq!(ErrorKind::from_status(status) as i32, status);
        }
        assert_eq!(ErrorKind::from_status(99), ErrorKind::Kernel);
        assert_eq!(ErrorKind::Argument as i32, opgrid_abi::OPGRID_ERROR_ARGUMENT);
        assert_eq!(ErrorKind::Internal as i32, opgrid_abi::OPGRID_ERROR_INTERNAL);
    }
}
