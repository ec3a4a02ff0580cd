//! Dispatch keys and sets of them, with torch's algebra and printing.

use opgrid::dispatch::BackendComponent;
use opgrid::{DispatchKey, DispatchKeySet};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::OrRaise;

/// A dispatch key. `DispatchKey("CPU")` and `DispatchKey.CPU` are the same.
#[pyclass(name = "DispatchKey", module = "opgrid", frozen, eq, hash, ord)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(pub(crate) DispatchKey);

/// A set of dispatch keys.
#[pyclass(name = "DispatchKeySet", module = "opgrid", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KeySet(pub(crate) DispatchKeySet);

impl<'py> FromPyObject<'_, 'py> for Key {
    type Error = PyErr;

    /// A key, or a text that names one.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(key) = object.cast::<Self>() {
            return Ok(*key.get());
        }
        let Ok(name) = object.cast::<PyString>() else {
            let found = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("expected a dispatch key or its name, found {found}")));
        };
        name.to_str()?.parse().or_raise(object.py()).map(Self)
    }
}

impl<'py> FromPyObject<'_, 'py> for KeySet {
    type Error = PyErr;

    /// A set, a key, a text that names one, or a sequence of these.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(set) = object.cast::<Self>() {
            return Ok(*set.get());
        }
        if object.is_instance_of::<Key>() || object.is_instance_of::<PyString>() {
            return object.extract::<Key>().map(|key| Self(key.0.key_set()));
        }
        let mut set = DispatchKeySet::EMPTY;
        for key in object.try_iter()? {
            set |= key?.extract::<Self>()?.0;
        }
        Ok(Self(set))
    }
}

#[pymethods]
impl Key {
    #[new]
    fn new(name: Self) -> Self {
        name
    }

    /// The names of all keys, those of users too.
    #[staticmethod]
    fn all() -> Vec<Self> {
        DispatchKey::all().chain(DispatchKey::aliases()).map(Self).collect()
    }

    #[getter]
    fn name(&self) -> String {
        self.0.to_string()
    }

    /// Whether the key stands for several others.
    #[getter]
    fn is_alias(&self) -> bool {
        self.0.is_alias()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<DispatchKey.{}>", self.0)
    }

    fn __or__(&self, other: KeySet) -> KeySet {
        KeySet(self.0.key_set() | other.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().0.to_string(),))
    }
}

#[pymethods]
impl KeySet {
    #[new]
    #[pyo3(signature = (*keys))]
    fn new(keys: Self) -> Self {
        keys
    }

    /// The set of every key.
    #[staticmethod]
    fn full() -> Self {
        Self(DispatchKeySet::FULL)
    }

    /// The keys below this one.
    #[staticmethod]
    fn full_after(key: Key) -> Self {
        Self(DispatchKeySet::full_after(key.0))
    }

    /// The bits that torch has for this set; keys that torch does not have are left out.
    fn raw_repr(&self) -> u64 {
        self.0.to_torch_bits()
    }

    /// The set of torch's bits.
    #[staticmethod]
    fn from_raw_repr(py: Python<'_>, bits: u64) -> PyResult<Self> {
        DispatchKeySet::from_torch_bits(bits).or_raise(py).map(Self)
    }

    fn __or__(&self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn __and__(&self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn __sub__(&self, other: Self) -> Self {
        Self(self.0 - other.0)
    }

    fn add(&self, key: Key) -> Self {
        Self(self.0.add(key.0))
    }

    fn remove(&self, key: Key) -> Self {
        Self(self.0.remove(key.0))
    }

    /// Whether the set has the key.
    fn has(&self, key: Key) -> bool {
        self.0.contains(key.0)
    }

    fn __contains__(&self, key: Key) -> bool {
        self.0.contains(key.0)
    }

    /// The key that a call with this set goes to first.
    #[allow(non_snake_case)]
    fn highestPriorityTypeId(&self) -> Key {
        Key(self.0.highest_priority_key())
    }

    /// The key that a call with this set goes to first.
    #[getter]
    fn highest(&self) -> Key {
        Key(self.0.highest_priority_key())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __bool__(&self) -> bool {
        !self.0.is_empty()
    }

    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let keys: Vec<Key> = slf.get().0.iter().map(Key).collect();
        Ok(keys.into_pyobject(slf.py())?.try_iter()?.into_any().unbind())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (u64, u32))> {
        let again = py.import("opgrid._opgrid")?.getattr("_keys_of_parts")?;
        Ok((again, (self.0.layers(), self.0.backends())))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

/// What pickles call to make a set anew: layers and backends by their bits, which processes with the same keys have in common.
#[pyfunction]
pub(crate) fn _keys_of_parts(layers: u64, backends: u32) -> KeySet {
    KeySet(DispatchKeySet::from_parts(layers, backends))
}

/// Gives the class an attribute for every key, as in `DispatchKey.CPU`.
///
/// # Errors
///
/// Those of the class.
pub(crate) fn give_names(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<Key>();
    for key in DispatchKey::all().chain(DispatchKey::aliases()) {
        class.setattr(key.to_string(), Key(key))?;
    }
    Ok(())
}

/// The key of a backend of one's own, allocated if it is new.
#[pyfunction]
pub(crate) fn backend(py: Python<'_>, name: &str) -> PyResult<Key> {
    let backend = BackendComponent::register(name).or_raise(py)?;
    give_names(py)?;
    Ok(Key(backend.key()))
}

/// The key of a layer of one's own, allocated if it is new, between other keys.
#[pyfunction]
#[pyo3(signature = (name, *, above=None, below=None, excludes_below=None))]
pub(crate) fn layer(
    py: Python<'_>,
    name: &str,
    above: Option<Key>,
    below: Option<Key>,
    excludes_below: Option<KeySet>,
) -> PyResult<Key> {
    let mut layer = DispatchKey::layer(name);
    if let Some(key) = above {
        layer = layer.above(key.0);
    }
    if let Some(key) = below {
        layer = layer.below(key.0);
    }
    if let Some(keys) = excludes_below {
        layer = layer.excludes_below(keys.0);
    }
    let key = layer.register().or_raise(py)?;
    give_names(py)?;
    Ok(Key(key))
}
