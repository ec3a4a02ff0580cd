//! Python's objects of dtypes, layouts, memory formats and devices.

use std::hash::{Hash, Hasher};

use opgrid::dispatch::Layout;
use opgrid::{DType, Device, MemoryFormat};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::default_device;
use crate::errors::OrRaise;
use crate::once::OncePlace;

/// Declares the class of a named value: one object for each, equal by identity, pickled by its name.
macro_rules! named_objects {
    ($(#[$attribute:meta])* $class:ident($value:ty), $name:literal) => {
        $(#[$attribute])*
        #[pyclass(name = $name, module = "opgrid", frozen)]
        #[derive(Clone)]
        pub(crate) struct $class(pub(crate) $value);

        impl $class {
            /// The objects of all values, in the order of the numbers.
            pub(crate) fn all(py: Python<'_>) -> PyResult<&[(i64, Py<Self>)]> {
                static OBJECTS: OncePlace<Vec<(i64, Py<$class>)>> = OncePlace::new();
                let objects = OBJECTS.get_or_make(py, || {
                    <$value>::all().map(|value| Ok((value.number(), Py::new(py, $class(value))?))).collect::<PyResult<_>>()
                })?;
                Ok(objects)
            }

            /// The object of a value.
            pub(crate) fn from_value(py: Python<'_>, value: $value) -> PyResult<Py<PyAny>> {
                let (number, all) = (value.number(), Self::all(py)?);
                let is_known = |(known, _): &&(i64, Py<Self>)| *known == number;
                // Most have the place of their number.
                let in_place = usize::try_from(number).ok().and_then(|place| all.get(place)).filter(is_known);
                let found = in_place.or_else(|| all.iter().find(is_known));
                let (_, object) = found.expect("every value has an object");
                Ok(object.clone_ref(py).into_any())
            }
        }

        #[pymethods]
        impl $class {
            fn __repr__(&self) -> String {
                format!("opgrid.{}", self.0.name())
            }

            fn __reduce__(&self) -> &'static str {
                self.0.name()
            }
        }
    };
}

named_objects! {
    /// The type of a tensor's elements.
    DTypeObject(DType), "dtype"
}

named_objects! {
    /// How a tensor keeps its elements.
    LayoutObject(Layout), "layout"
}

named_objects! {
    /// The order of a strided tensor's elements in memory.
    MemoryFormatObject(MemoryFormat), "memory_format"
}

#[pymethods]
impl DTypeObject {
    /// Bytes per element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size_in_bytes()
    }

    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_floating_point()
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    #[getter]
    fn is_signed(&self) -> bool {
        self.0.is_signed()
    }
}

/// Where a tensor's elements are: `device("cpu")`, `device("cuda", 1)`, `device("cuda:1")`.
///
/// That of a fake tensor equals the one that it passes for; given back to opgrid, it stays fake.
#[pyclass(name = "device", module = "opgrid", frozen, eq, hash)]
#[derive(Clone)]
pub(crate) struct DeviceObject(pub(crate) Device);

impl PartialEq for DeviceObject {
    fn eq(&self, other: &Self) -> bool {
        self.0.real() == other.0.real()
    }
}

impl Eq for DeviceObject {}

impl Hash for DeviceObject {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.real().hash(state);
    }
}

impl DeviceObject {
    /// The object of a device: one for the CPU, a new one for others.
    pub(crate) fn from_device(py: Python<'_>, device: Device) -> PyResult<Py<Self>> {
        static CPU: OncePlace<Py<DeviceObject>> = OncePlace::new();
        if device == Device::CPU {
            return Ok(CPU.get_or_make(py, || Py::new(py, Self(device)))?.clone_ref(py));
        }
        Py::new(py, Self(device))
    }
}

#[pymethods]
impl DeviceObject {
    #[new]
    #[pyo3(signature = (device=None, index=None, *, r#type=None))]
    fn new(
        py: Python<'_>,
        device: Option<&Bound<'_, PyAny>>,
        index: Option<usize>,
        r#type: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let device = match (device, r#type) {
            (Some(device), None) | (None, Some(device)) => device,
            (None, None) => {
                return Err(PyTypeError::new_err("device() missing 1 required argument: 'device'"));
            }
            (Some(_), Some(_)) => {
                return Err(PyTypeError::new_err("device(): found both 'device' and 'type', expected one"));
            }
        };
        if let Ok(device) = device.cast::<Self>() {
            return Ok(device.get().clone());
        }
        let text: String = device.extract()?;
        let Some(index) = index else { return text.parse().or_raise(py).map(Self) };
        let kind = text.parse().or_raise(py)?;
        Device::numbered(kind, index).or_raise(py).map(Self)
    }

    /// The kind of device, such as `"cpu"`.
    #[getter(r#type)]
    fn kind(&self) -> &'static str {
        self.0.real().kind().name()
    }

    /// Which one of its kind; `None` for the current one.
    #[getter]
    fn index(&self) -> Option<usize> {
        self.0.index()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        match self.0.index() {
            None => format!("device(type='{}')", self.kind()),
            Some(index) => format!("device(type='{}', index={index})", self.kind()),
        }
    }

    /// Makes it the device of new tensors where none is named, for the length of a `with` block on this thread.
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        default_device::enter(slf.get().0);
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        default_device::leave();
    }

    /// The function, which runs with this device as that of new tensors.
    fn __call__<'py>(slf: &Bound<'py, Self>, func: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("opgrid._devices")?.getattr("with_device")?.call1((slf, func))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().0.to_string(),))
    }
}
