//! Tensors of classes that say what operators do with them: those that carry elements, and those that only look like
//! tensors and are implemented by the class.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use opgrid::array::TensorSpec;
use opgrid::dispatch::{TensorType, compute_dispatch_key, tensor_key_set};
use opgrid::tensor::{Geometry, Wrapper};
use opgrid::{Device, DispatchKey, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::attributes::own;
use super::object::{TensorBase, TensorObject, tensor_of};
use crate::collector::{self, Counted, Left};
use crate::drop_attached::DropAttached;
use crate::errors::OrRaise;
use crate::once::intern;
use crate::values::read;

/// The names under which a class says what an operator does with its objects.
pub(crate) const HANDLERS: [&str; 2] = ["__opgrid_dispatch__", "__torch_dispatch__"];

/// What is behind the handle of a tensor that its class implements.
pub(crate) struct OfClass {
    spec: TensorSpec,
    name: String,
    class: DropAttached<Py<PyType>>,
    /// What the user keeps with the object. It outlives the object, so that one that is made later for the same tensor is as
    /// the first one was.
    attributes: OnceLock<DropAttached<Py<PyDict>>>,
    /// How often an operator has written it.
    version: AtomicU64,
    _counted: Counted,
}

impl OfClass {
    /// Shows the collector what the tensor keeps.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&*self.class)?;
        visit.call(self.attributes.get().map(|attributes| &**attributes))
    }
}

impl Wrapper for OfClass {
    fn layer(&self) -> &str {
        &self.name
    }

    fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }
}

/// A tensor on its way to the constructor of its class, which takes it as it is.
#[pyclass(module = "opgrid", frozen)]
pub(super) struct Handed(pub(super) Tensor);

/// A new object of the class for this tensor.
fn made<'py>(class: &Bound<'py, PyType>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let make = py.get_type::<TensorObject>().getattr(intern!(py, "__new__"))?;
    let object = make.call1((class, Handed(tensor.clone())))?;
    // Looked at once, so that the tensor knows its object.
    tensor_of(&object);
    Ok(object)
}

/// The object of a tensor that a class implements, whose first one is gone; `None` of all others.
#[inline]
pub(super) fn object_again<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    if tensor.any_wrapper().is_none() { Ok(None) } else { revived(py, tensor) }
}

#[cold]
fn revived<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(own) = tensor.wrapper::<OfClass>() else { return Ok(None) };
    object_of_class(own.class.bind(py), tensor, own.attributes.get().map(|attributes| &**attributes))
        .map(Some)
}

/// Another object of the class for a tensor whose first one is gone.
pub(super) fn object_of_class<'py>(
    class: &Bound<'py, PyType>,
    tensor: &Tensor,
    attributes: Option<&Py<PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let object = made(class, tensor)?;
    if let Some(attributes) = attributes {
        object.setattr(intern!(class.py(), "__dict__"), attributes)?;
    }
    Ok(object)
}

/// Notes of which class the object of a tensor is, for another one that is made when this one is gone.
#[cold]
pub(super) fn note_class(tensor: &Tensor, object: &Bound<'_, PyAny>) {
    let py = object.py();
    if tensor.any_wrapper().is_some() || Left::for_tensor(tensor).is_some_and(|left| left.class().is_some()) {
        return;
    }
    let attributes = object.getattr_opt(intern!(py, "__dict__")).ok().flatten();
    let attributes = attributes.and_then(|attributes| attributes.cast_into::<PyDict>().ok());
    if let (Ok(()), Some(left)) = (collector::begin(py), Left::of_or_new(tensor)) {
        left.note_class(&object.get_type(), attributes);
    }
}

/// Lets calls ask the class of a new object, if it says what operators do.
pub(super) fn give_key(class: &Bound<'_, PyType>, tensor: &Tensor) -> PyResult<()> {
    if handler_of(class, &HANDLERS)?.is_some() {
        ask_classes(class.py())?;
        tensor.as_any().set_layers(tensor.keys().add(DispatchKey::Python));
    }
    Ok(())
}

/// Registers what asks classes and modes, once.
fn ask_classes(py: Python<'_>) -> PyResult<()> {
    static IS_ASKED: AtomicBool = AtomicBool::new(false);
    if !IS_ASKED.load(Ordering::Acquire) {
        py.import("opgrid._modes")?.call_method0("_install")?;
        IS_ASKED.store(true, Ordering::Release);
    }
    Ok(())
}

/// The name under which a class, or one that it is derived from, says something that those of this package do not.
pub(crate) fn handler_of(
    class: &Bound<'_, PyType>,
    names: &[&'static str],
) -> PyResult<Option<&'static str>> {
    let py = class.py();
    for ancestor in class.mro().iter() {
        if ancestor.is(py.get_type::<TensorObject>()) || ancestor.is(py.get_type::<TensorBase>()) {
            return Ok(None);
        }
        let own = ancestor.getattr(intern!(py, "__dict__"))?;
        for name in names {
            if own.contains(name)? {
                return Ok(Some(name));
            }
        }
    }
    Ok(None)
}

/// The name of the method by which a class says what operators do with its objects, if it has one.
#[pyfunction]
pub(crate) fn _dispatch_handler(class: &Bound<'_, PyType>) -> PyResult<Option<&'static str>> {
    handler_of(class, &HANDLERS)
}

/// Counts that an operator has written a tensor, if its class implements it; others count what is written to their memory.
#[pyfunction]
pub(crate) fn _count_write(tensor: &Bound<'_, TensorBase>) -> PyResult<()> {
    if let Some(own) = own(tensor)?.wrapper::<OfClass>() {
        own.version.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

#[cold]
fn unfit(what: &str, found: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let found = found.get_type().name()?;
    Ok(PyTypeError::new_err(format!("_make_wrapper_subclass: found {found}, expected a {what}")))
}

/// An object of the class that looks like a tensor and has no elements: what operators do with it, the class says.
#[pyfunction]
#[pyo3(signature = (class, sizes, strides, offset, dtype, device))]
pub(crate) fn _wrapper<'py>(
    class: &Bound<'py, PyType>,
    sizes: Vec<i64>,
    strides: Option<Vec<i64>>,
    offset: i64,
    dtype: &Bound<'py, PyAny>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let name = class.name()?.to_string();
    if !class.is_subclass(&py.get_type::<TensorObject>())? || handler_of(class, &HANDLERS)?.is_none() {
        let message = format!(
            "_make_wrapper_subclass: found {name}, expected a class derived from Tensor that defines `__opgrid_dispatch__` or \
             `__torch_dispatch__`"
        );
        return Err(PyTypeError::new_err(message));
    }
    let dtype = match read::dtype(dtype) {
        Some(dtype) => dtype,
        None if dtype.is_none() => opgrid::tensor::default_dtype(),
        None => return Err(unfit("dtype", dtype)?),
    };
    let device = match read::device(device)? {
        Some(device) => device,
        None if device.is_none() => Device::CPU,
        None => return Err(unfit("device", device)?),
    };
    let contiguous = TensorSpec::contiguous(&sizes, dtype, device).or_raise(py)?;
    let geometry = match strides {
        Some(strides) => Some(Geometry::strided(&sizes, &strides, offset)),
        None if offset != 0 => Some(Geometry::strided(&sizes, contiguous.strides(), offset)),
        None => None,
    };
    let spec = match geometry {
        Some(geometry) => contiguous.with_geometry(geometry.or_raise(py)?),
        None => contiguous,
    };
    let key = compute_dispatch_key(Some(dtype), None, Some(device)).or_raise(py)?;
    let keys = tensor_key_set(key).add(DispatchKey::Python);
    ask_classes(py)?;
    collector::begin(py)?;
    let own = OfClass {
        spec,
        name,
        class: DropAttached::new(class.clone().unbind()),
        attributes: OnceLock::new(),
        version: AtomicU64::new(0),
        _counted: Counted::new(),
    };
    let tensor = Tensor::wrap(keys, own);
    let object = made(class, &tensor)?;
    if let (Some(own), Some(attributes)) =
        (tensor.wrapper::<OfClass>(), object.getattr_opt(intern!(py, "__dict__"))?)
    {
        let _ = own.attributes.set(DropAttached::new(attributes.cast_into::<PyDict>()?.unbind()));
    }
    Ok(object)
}
