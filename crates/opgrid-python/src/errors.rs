//! Errors of the dispatcher as Python's exceptions, and the other way round.
//!
//! The classes are written in Python (`opgrid/errors.py`); the kind of an error chooses one. An exception that a kernel
//! in Python raised travels inside of an [`Error`] and comes out as itself, with its traceback.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use opgrid::dispatch::ValueRef;
use opgrid::{DispatchKeySet, Error, ErrorKind, OperatorHandle, Result};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::drop_attached::DropAttached;
use crate::keys::KeySet;
use crate::once::OncePlace;
use crate::rust_names::in_python;

/// What the list of backends that have a kernel begins with.
const BACKENDS: &str = " is only available for these backends: ";

/// The exception of an error.
#[cold]
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    match raised_inside(error) {
        Some(raised) => raised.clone_ref(py),
        None if is_missing_file(error) => named(py, "MissingFileError", error.message()),
        None => {
            let (summary, listing) = summary_and_listing(error);
            let raised = new(py, error.kind(), summary);
            if let Some(listing) = listing {
                // An exception without an explanation is better than another exception.
                let _ = raised.value(py).setattr("_explanation", listing);
            }
            raised
        }
    }
}

/// What an error says first, and the rest: errors of cells without a kernel list all backends and the whole table there, which
/// `explain()` shows.
fn summary_and_listing(error: &Error) -> (&str, Option<&str>) {
    let message = error.message();
    let listing = match error.kind() {
        ErrorKind::MissingKernel => message.find(BACKENDS).and_then(|at| message[..at].rfind(". ")),
        ErrorKind::AmbiguousKernel => message.find("\n\n"),
        _ => None,
    };
    match listing {
        Some(end) => (&message[..end], Some(message[end..].trim_start_matches(['.', ' ', '\n']))),
        None => (message, None),
    }
}

/// Whether a file was not where it was looked for.
fn is_missing_file(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    error.kind() == ErrorKind::File && cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::NotFound)
}

/// The exception of a call that failed, which knows the operator and the keys, and can explain. `keys` are those that the
/// caller gave, if it gave any.
#[cold]
pub(crate) fn of_call(
    py: Python<'_>,
    error: &Error,
    operator: &OperatorHandle,
    args: &[ValueRef<'_>],
    keys: Option<DispatchKeySet>,
) -> PyErr {
    let raised = exception(py, error);
    if raised_inside(error).is_none() {
        // An exception without these attributes is better than another exception.
        let _ = describe(py, &raised, error, operator, args, keys);
    }
    raised
}

fn describe(
    py: Python<'_>,
    raised: &PyErr,
    error: &Error,
    operator: &OperatorHandle,
    args: &[ValueRef<'_>],
    keys: Option<DispatchKeySet>,
) -> PyResult<()> {
    let value = raised.value(py);
    value.setattr("op", operator.name().to_string())?;
    let arguments = args.iter().fold(DispatchKeySet::EMPTY, |keys, arg| keys | arg.tensor_keys());
    if let Some(keys) = keys.or_else(|| operator.effective_keys(arguments).ok()) {
        value.setattr("keys", KeySet(keys))?;
    }
    let explanation = operator.explain(args).map(|explanation| explanation.to_string());
    let listing = summary_and_listing(error).1.map(str::to_owned);
    let parts: Vec<String> = explanation.ok().into_iter().chain(listing).collect();
    if !parts.is_empty() {
        value.setattr("_explanation", parts.join("\n\n"))?;
    }
    Ok(())
}

/// A Python exception that an error carries.
fn raised_inside(error: &Error) -> Option<&PyErr> {
    let carried: &DropAttached<PyErr> = std::error::Error::source(error)?.downcast_ref()?;
    Some(carried)
}

/// The error of a Python exception, for the way through the dispatcher.
#[cold]
pub(crate) fn carry(raised: PyErr) -> Error {
    Error::from_source(DropAttached::new(raised))
}

/// A new exception of the class that the kind chooses.
#[cold]
pub(crate) fn new(py: Python<'_>, kind: ErrorKind, message: &str) -> PyErr {
    let class = match kind {
        ErrorKind::Schema => "SchemaError",
        ErrorKind::Duplicate | ErrorKind::Signature | ErrorKind::Registration => "RegistrationError",
        ErrorKind::MissingKernel => "MissingKernelError",
        ErrorKind::AmbiguousKernel => "AmbiguousKernelError",
        ErrorKind::Index => "OutOfRangeError",
        ErrorKind::SlowPath => "SlowPathError",
        ErrorKind::Depth => "DepthError",
        ErrorKind::Stale => "StaleError",
        ErrorKind::NotImplemented => "NotSupportedError",
        ErrorKind::File => "FileError",
        ErrorKind::LinearAlgebra => "LinAlgError",
        _ => "OperatorError",
    };
    named(py, class, message)
}

/// A new exception of the class of that name in `opgrid.errors`.
#[cold]
pub(crate) fn named(py: Python<'_>, class: &str, message: &str) -> PyErr {
    static ERRORS: OncePlace<Py<PyModule>> = OncePlace::new();
    let find = || -> PyResult<PyErr> {
        let module = ERRORS.get_or_make(py, || py.import("opgrid.errors").map(Bound::unbind))?;
        let class = module.bind(py).getattr(class)?.cast_into::<PyType>()?;
        // Somebody may have put something else in its place.
        if !class.is_subclass_of::<PyException>()? {
            return Ok(PyRuntimeError::new_err(in_python(message).into_owned()));
        }
        Ok(PyErr::from_type(class, in_python(message).into_owned()))
    };
    find().unwrap_or_else(|_| PyRuntimeError::new_err(message.to_owned()))
}

/// Runs what may panic; a panic becomes an exception.
#[inline]
pub(crate) fn guarded<T>(py: Python<'_>, body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(panicked(py, &*payload)))
}

#[cold]
fn panicked(py: Python<'_>, payload: &(dyn Any + Send)) -> PyErr {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    named(py, "PanicError", &format!("Rust code panicked: {text}"))
}

/// Turns errors of the dispatcher into exceptions.
pub(crate) trait OrRaise<T> {
    /// The value, or the error's exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T> {
    #[inline]
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}
