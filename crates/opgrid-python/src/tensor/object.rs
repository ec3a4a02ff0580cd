//! The classes `TensorBase` and `Tensor`, and the way between them and tensors.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use opgrid::Tensor;
use opgrid::dispatch::{AnyTensor, TensorType};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use super::{construct, dispatching, identity};
use crate::collector::{self, Left};
use crate::errors::{OrRaise, guarded};
use crate::exchange::foreign;
use crate::once::intern;
use crate::operators;

/// What every class of tensors is derived from. It cannot be made itself.
#[pyclass(module = "opgrid", subclass, frozen, weakref)]
pub(crate) struct TensorBase {
    tensor: Tensor,
    /// The object that this is in, as soon as somebody has looked at it.
    object: AtomicPtr<()>,
    /// What users keep with the object. A dictionary that the interpreter knows of would be made with every object.
    attributes: OnceLock<Py<PyDict>>,
}

/// A tensor. `Tensor(2, 3)` has that shape and any content, `Tensor([2, 3])` that content; `opgrid.tensor` is clearer.
#[pyclass(name = "Tensor", module = "opgrid", extends = TensorBase, subclass, frozen)]
pub(crate) struct TensorObject;

impl TensorBase {
    pub(super) fn new(tensor: Tensor) -> Self {
        Self { tensor, object: AtomicPtr::default(), attributes: OnceLock::new() }
    }

    /// The tensor and where this is, by which the collector knows it.
    pub(crate) fn content(&self) -> (usize, &Tensor) {
        (std::ptr::from_ref(self).addr(), &self.tensor)
    }

    /// The tensor of the object that this is in.
    #[inline]
    fn tensor_in(&self, object: &Bound<'_, PyAny>) -> &Tensor {
        // An object that a class made does not know where it is until it is used.
        if self.object.load(Ordering::Relaxed).is_null() {
            self.settle(object);
        }
        &self.tensor
    }

    /// What users keep with the object.
    fn attributes<'py>(&self, py: Python<'py>) -> &Bound<'py, PyDict> {
        let attributes = self.attributes.get().unwrap_or_else(|| {
            // Made first: to make it may run others' code, which may be faster.
            let new = PyDict::new(py).unbind();
            self.attributes.get_or_init(|| new)
        });
        attributes.bind(py)
    }

    /// Returns the attributes that users keep with the object, if there are any.
    pub(super) fn kept<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyDict>> {
        self.attributes.get().map(|attributes| attributes.bind(py).clone())
    }

    fn settle(&self, object: &Bound<'_, PyAny>) {
        if object.cast_exact::<TensorObject>().is_err() {
            dispatching::note_class(&self.tensor, object);
        }
        self.object.store(object.as_ptr().cast(), Ordering::Relaxed);
        identity::note(&self.tensor, object);
    }
}

impl Drop for TensorBase {
    fn drop(&mut self) {
        identity::forget(&self.tensor, *self.object.get_mut());
        // Another object of the tensor may be asked for, such as that of a gradient.
        if let Some(attributes) = self.attributes.take()
            && self.tensor.as_any().handle_count() > 1
            && let Some(left) = Left::of_or_new(&self.tensor)
        {
            left.put(attributes);
        }
    }
}

/// The tensor of an object, if it has one.
#[inline]
pub(crate) fn tensor_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Tensor> {
    match plain_tensor_of(object) {
        None => object.cast::<TensorBase>().ok().map(|base| base.get().tensor_in(object)),
        found => found,
    }
}

/// The tensor of an object whose class is `Tensor` itself.
#[inline]
pub(crate) fn plain_tensor_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Tensor> {
    object.cast_exact::<TensorObject>().ok().map(|exact| exact.as_super().get().tensor_in(object))
}

/// The tensor of an object.
///
/// # Errors
///
/// `TypeError` where it has none.
pub(crate) fn expect_tensor<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a Tensor> {
    match tensor_of(object) {
        Some(tensor) => Ok(tensor),
        None => {
            let (found, remedy) = (foreign::class_name(object), foreign::remedy(object));
            Err(PyTypeError::new_err(format!("expected a tensor, found {found}{remedy}")))
        }
    }
}

/// The object of a tensor: the one that it has, or a new one.
#[inline]
pub(crate) fn tensor_object(py: Python<'_>, tensor: Tensor) -> PyResult<Py<PyAny>> {
    if let Some(object) = identity::known(py, &tensor) {
        return Ok(object.unbind());
    }
    if let Some(object) = dispatching::object_again(py, &tensor)? {
        return Ok(object.unbind());
    }
    let left = Left::for_tensor(&tensor);
    if let Some((class, attributes)) = left.and_then(Left::class) {
        return dispatching::object_of_class(class.bind(py), &tensor, attributes).map(Bound::unbind);
    }
    let left = left.and_then(Left::take);
    let mut base = TensorBase::new(tensor);
    base.attributes = left.map_or_else(OnceLock::new, OnceLock::from);
    let initializer = PyClassInitializer::from(base).add_subclass(TensorObject);
    let object = Bound::new(py, initializer)?.into_any();
    tensor_of(&object);
    Ok(object.unbind())
}

/// The object of a tensor of any library; `None` for one that is not there.
///
/// # Errors
///
/// A tensor of a library that Python does not know.
#[inline]
pub(crate) fn of_any(py: Python<'_>, tensor: AnyTensor) -> PyResult<Py<PyAny>> {
    let tensor = Tensor::try_from(tensor).or_raise(py)?;
    if tensor.is_defined() { tensor_object(py, tensor) } else { Ok(py.None()) }
}

/// Whether the object's class has the attribute, or a place for any.
fn belongs_to_class(object: &Bound<'_, TensorBase>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    let class = object.get_type();
    let has_place = class.getattr(intern!(object.py(), "__dictoffset__"))?.extract::<isize>()? != 0;
    Ok(has_place || class.hasattr(name)?)
}

#[pymethods]
impl TensorBase {
    #[new]
    #[classmethod]
    #[pyo3(signature = (*args, **kwargs))]
    fn make(
        class: &Bound<'_, PyType>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        if class.is(class.py().get_type::<Self>()) {
            let message = "cannot directly construct TensorBase; subclass it and then construct that";
            return Err(PyTypeError::new_err(message));
        }
        guarded(class.py(), || construct::legacy(args, kwargs)).map(Self::new)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.attributes.get())?;
        collector::visit_tensor(std::ptr::from_ref(self).addr(), &self.tensor, &visit)
    }

    fn __clear__(&self) {
        collector::clear_tensor(std::ptr::from_ref(self).addr(), &self.tensor);
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        (slf.as_ptr().addr() >> 4) as isize
    }

    /// What users keep with the object, and methods of operators that came after the class was made.
    fn __getattr__<'py>(slf: &Bound<'py, Self>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(attributes) = slf.get().attributes.get()
            && let Some(value) = attributes.bind(slf.py()).get_item(name)?
        {
            return Ok(value);
        }
        if slf.get_type().hasattr(name)? {
            // A property has raised `AttributeError`, which is what the caller gets, not an operator of that name.
            return identity::attribute(slf.as_any(), name);
        }
        operators::functions::method_of(slf.as_any(), name.to_str()?)
    }

    fn __setattr__<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyString>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        if belongs_to_class(slf, name)? {
            return identity::set_attribute(slf.as_any(), name, Some(value));
        }
        slf.get().attributes(py).set_item(name, value)
    }

    fn __delattr__<'py>(slf: &Bound<'py, Self>, name: &Bound<'py, PyString>) -> PyResult<()> {
        let py = slf.py();
        match slf
            .get()
            .attributes
            .get()
            .filter(|attributes| attributes.bind(py).contains(name).unwrap_or(false))
        {
            Some(attributes) => attributes.bind(py).del_item(name),
            None => identity::set_attribute(slf.as_any(), name, None),
        }
    }

    fn __dir__(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        let own = slf.py().get_type::<PyAny>().call_method1("__dir__", (slf,))?;
        let mut names: Vec<String> = own.try_iter()?.map(|name| name?.extract()).collect::<PyResult<_>>()?;
        names.extend(operators::functions::method_names(slf.py())?);
        names.sort();
        names.dedup();
        Ok(names)
    }
}

#[pymethods]
impl TensorObject {
    /// What there is to visit, the base class visits; a class has to say so itself that it is collected.
    fn __traverse__(&self, _visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        Ok(())
    }

    fn __clear__(&self) {}

    #[new]
    #[classmethod]
    #[pyo3(signature = (*args, **kwargs))]
    fn make(
        class: &Bound<'_, PyType>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let tensor = guarded(class.py(), || construct::legacy(args, kwargs))?;
        if !class.is(class.py().get_type::<Self>()) {
            dispatching::give_key(class, &tensor)?;
        }
        Ok(PyClassInitializer::from(TensorBase::new(tensor)).add_subclass(Self))
    }
}
