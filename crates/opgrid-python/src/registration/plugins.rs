//! Plugins: libraries of operators that were built elsewhere, and what they registered.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use opgrid::plugin::{Load, Plugin};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::operators::candidates::dispatcher;

/// A plugin that is loaded, until `drop()` is called or nobody holds it any more.
#[pyclass(name = "Plugin", module = "opgrid", frozen, weakref)]
pub(crate) struct PluginObject {
    plugin: Mutex<Option<Plugin>>,
    /// The name that the plugin gives itself.
    #[pyo3(get)]
    name: String,
    /// Its version.
    #[pyo3(get)]
    version: String,
    /// The namespaces to which it adds something.
    #[pyo3(get)]
    namespaces: Vec<String>,
    /// The dispatch keys for which it has kernels.
    #[pyo3(get)]
    keys: Vec<String>,
    /// Its file.
    #[pyo3(get)]
    path: PathBuf,
}

#[pymethods]
impl PluginObject {
    /// Takes back what it registered. Its code stays.
    fn drop(&self, py: Python<'_>) {
        let plugin = self.plugin.lock().unwrap_or_else(PoisonError::into_inner).take();
        crate::collector::detached(py, || drop(plugin));
    }

    /// Whether what it registered is there.
    #[getter]
    fn is_loaded(&self) -> bool {
        self.plugin.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn __repr__(&self) -> String {
        format!("Plugin({} {} at {})", self.name, self.version, self.path.display())
    }
}

/// Loads a plugin: its file, or its name in a folder of OPGRID_PLUGIN_PATH.
#[pyfunction]
pub(crate) fn load_plugin(py: Python<'_>, path: PathBuf) -> PyResult<PluginObject> {
    let plugin = crate::collector::detached(py, || dispatcher()?.load(&path)).or_raise(py)?;
    let manifest = plugin.manifest().clone();
    Ok(PluginObject {
        name: manifest.name,
        version: manifest.version,
        namespaces: manifest.namespaces,
        keys: manifest.keys,
        path: plugin.path().to_owned(),
        plugin: Mutex::new(Some(plugin)),
    })
}
