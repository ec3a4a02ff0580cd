//! Tensors of other libraries where operators want ours: who has made them, and how they become ours.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::once::intern;
use crate::tensor::object::TensorBase;

/// The library that an object's class belongs to, if it is a tensor or an array of another library.
pub(crate) fn library_of(object: &Bound<'_, PyAny>) -> Option<String> {
    let class = object.get_type();
    if object.is_instance_of::<TensorBase>() || !class.hasattr(intern!(object.py(), "__dlpack__")).ok()? {
        return None;
    }
    let module = class.module().ok()?.to_string();
    let library = module.split('.').next()?;
    if matches!(library, "builtins" | "__main__") { None } else { Some(library.to_owned()) }
}

/// The name of an object's class, of another library's tensors with the library's name.
pub(crate) fn class_name(object: &Bound<'_, PyAny>) -> String {
    let class = object.get_type();
    let name = class.name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    match library_of(object) {
        Some(library) => format!("{library}.{name}"),
        None => name,
    }
}

/// How another library's tensor becomes one of ours, as the end of a message; nothing for other objects.
pub(crate) fn remedy(object: &Bound<'_, PyAny>) -> String {
    match library_of(object).as_deref() {
        None => String::new(),
        Some("numpy") => {
            "; convert the array with opgrid.from_numpy, which shares its memory, or opgrid.tensor".to_owned()
        }
        Some(library) => {
            format!(
                "; it is a tensor of {library}: convert it with opgrid.from_dlpack, which shares its memory"
            )
        }
    }
}

/// The exception where an infix operator has a tensor of another library beside ours, and neither library knows what to do.
#[cold]
pub(crate) fn refused(operator: &str, object: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "{operator}: unsupported operand types: found opgrid.Tensor and {}{}",
        class_name(object),
        remedy(object)
    ))
}
