//! The one error of the crate: a kind to match on and a message that names subject, found, expected and remedy.
//!
//! [`Error`] is one pointer wide, so that `Result<Tensor>` travels in two registers; everything it carries is
//! behind that pointer and built on cold paths only.

use std::fmt;

use crate::deferred_drop::Flat;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, for programs; the message is for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A schema text could not be read.
    Schema,
    /// An operator, library or kernel is already there.
    Duplicate,
    /// A kernel or a typed handle does not fit the operator's schema or the signature of its other kernels.
    Signature,
    /// A registration that no rule allows: wrong namespace, wrong kind of library, wrong key.
    Registration,
    /// No operator, key, device or dtype of that name.
    Unknown,
    /// The operator has no kernel for the key that the call reached.
    MissingKernel,
    /// The operator has kernels between which no rule chooses.
    AmbiguousKernel,
    /// A boxed value or a list of values is not what the schema or the kernel asks for.
    Value,
    /// An argument has a shape, dtype, device or value that the operator refuses.
    Argument,
    /// An index or a dimension beyond its range.
    Index,
    /// A slow path, in strict mode.
    SlowPath,
    /// Calls are nested deeper than the thread's limit.
    Depth,
    /// The operator behind a handle is no longer registered.
    Stale,
    /// The feature exists by name only, or not for this combination.
    NotImplemented,
    /// A file could not be read or written.
    File,
    /// A matrix is singular or not positive definite, or nothing was found that iterations look for.
    LinearAlgebra,
    /// Anything that a kernel reports in words of its own.
    Kernel,
    /// An invariant of the dispatcher does not hold.
    Internal,
}

/// An error: a [kind](ErrorKind), a message and, where there is one, the error behind it.
///
/// It is printed without its causes, whose number has no bound; [`source`](std::error::Error::source) leads from each to the
/// next. Dropping an error does not recurse into its causes.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Argument, "myops::myadd: argument `other` has 3 elements, expected 2");
/// assert_eq!(error.kind(), ErrorKind::Argument);
/// assert!(error.to_string().contains("expected 2"));
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    /// It may be another error with a cause, and so on, so that dropping it must not recurse.
    source: Option<Flat<Box<dyn std::error::Error + Send + Sync>>>,
    /// The argument that could not be read, until whoever knows the operator puts its name into the message.
    argument: Option<usize>,
}

const _: () = assert!(size_of::<Result<std::ptr::NonNull<u8>>>() == 16);

impl Error {
    /// An error of `kind` that says `message` (lower case, no full stop).
    #[cold]
    #[inline(never)]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), source: None, argument: None }))
    }

    /// A kernel's own error, wrapped without losing it.
    #[cold]
    #[inline(never)]
    pub fn from_source(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let source = source.into();
        let message = source.to_string();
        Self(Box::new(Inner {
            kind: ErrorKind::Kernel,
            message,
            source: Some(Flat::new(source)),
            argument: None,
        }))
    }

    /// Prefixes the message with `subject: `.
    #[cold]
    #[inline(never)]
    pub fn within(mut self, subject: impl fmt::Display) -> Self {
        self.0.message = format!("{subject}: {}", self.0.message);
        self
    }

    /// Attaches the error that caused this one.
    #[cold]
    #[inline(never)]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(Flat::new(source.into()));
        self
    }

    /// Remembers which argument the error is about.
    #[cold]
    #[inline(never)]
    pub(crate) fn at_argument(mut self, place: usize) -> Self {
        self.0.argument = Some(place);
        self
    }

    /// The number of the argument that the error is about.
    pub(crate) fn argument(&self) -> Option<usize> {
        self.0.argument
    }

    /// What went wrong, for programs.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The whole message.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &***source as _)
    }
}
