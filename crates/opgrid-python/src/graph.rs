//! The graph of gradients for Python: text, pictures, figures.

use opgrid::Tensor;
use opgrid::layers::autograd::{self, Graph, GraphNode, GraphOptions};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::OrRaise;
use crate::tensor::object::expect_tensor;
use crate::values::names::DTypeObject;

/// The graph that leads from results to their leaves.
#[pyclass(name = "Graph", module = "opgrid.autograd", frozen)]
pub(crate) struct GraphObject(Graph);

#[pymethods]
impl GraphObject {
    /// How many bytes of memory the graph keeps alive; what several tensors share counts once.
    #[getter]
    fn saved_bytes(&self) -> usize {
        self.0.saved_bytes()
    }

    /// How many recorded calls the graph has.
    #[getter]
    fn calls(&self) -> usize {
        self.0.calls()
    }

    /// How many leaves the graph has.
    #[getter]
    fn leaves(&self) -> usize {
        self.0.leaves()
    }

    /// How many nodes are not shown.
    #[getter]
    fn hidden(&self) -> usize {
        self.0.hidden()
    }

    /// The nodes that are shown, each before those that its gradients go on to.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let nodes = self.0.nodes().iter().map(|node| described(py, node));
        PyList::new(py, nodes.collect::<PyResult<Vec<_>>>()?)
    }

    /// The graph in the language of Graphviz.
    fn dot(&self) -> String {
        self.0.to_dot()
    }

    /// The graph as a picture.
    fn svg(&self) -> String {
        self.0.to_svg()
    }

    /// A page with the picture.
    fn html(&self) -> String {
        self.0.to_html()
    }

    fn _repr_html_(&self) -> String {
        self.0.to_svg()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let (calls, leaves, bytes) = (self.0.calls(), self.0.leaves(), self.0.saved_bytes());
        format!("<Graph calls={calls} leaves={leaves} saved_bytes={bytes}>")
    }
}

fn described<'py>(py: Python<'py>, node: &GraphNode) -> PyResult<Bound<'py, PyDict>> {
    let shaped = |entry: &Bound<'py, PyDict>, sizes: &[i64], dtype| -> PyResult<()> {
        entry.set_item("shape", pyo3::types::PyTuple::new(py, sizes)?)?;
        entry.set_item("dtype", DTypeObject::from_value(py, dtype)?)
    };
    let mut results = Vec::new();
    for result in &node.results {
        let entry = PyDict::new(py);
        entry.set_item("name", result.name.as_deref())?;
        match &result.shape {
            Some((sizes, dtype)) => shaped(&entry, sizes, *dtype)?,
            None => {
                entry.set_item("shape", py.None())?;
                entry.set_item("dtype", py.None())?;
            }
        }
        results.push(entry);
    }
    let mut saved = Vec::new();
    for tensor in &node.saved {
        let entry = PyDict::new(py);
        entry.set_item("name", &tensor.name)?;
        shaped(&entry, &tensor.sizes, tensor.dtype)?;
        entry.set_item("bytes", tensor.bytes)?;
        entry.set_item("is_recomputed", tensor.is_recomputed)?;
        saved.push(entry);
    }
    let targets: Vec<(Option<usize>, usize)> =
        node.targets.iter().map(|target| (target.node, target.output)).collect();
    let entry = PyDict::new(py);
    entry.set_item("name", &node.name)?;
    entry.set_item("is_leaf", node.is_leaf)?;
    entry.set_item("place", node.place.as_deref())?;
    entry.set_item("results", results)?;
    entry.set_item("saved", saved)?;
    entry.set_item("is_freed", node.is_freed)?;
    entry.set_item("next", targets)?;
    Ok(entry)
}

/// The graph from results; `names` are pairs of names and tensors.
#[pyfunction]
pub(crate) fn _graph(
    py: Python<'_>,
    results: Vec<Bound<'_, PyAny>>,
    names: Vec<(String, Bound<'_, PyAny>)>,
    limit: usize,
) -> PyResult<GraphObject> {
    let results = results.iter().map(expect_tensor).collect::<PyResult<Vec<&Tensor>>>()?;
    let names = names.iter().map(|(name, tensor)| Ok((name.as_str(), expect_tensor(tensor)?)));
    let names = names.collect::<PyResult<Vec<(&str, &Tensor)>>>()?;
    autograd::graph(&results, &GraphOptions { names: &names, limit }).map(GraphObject).or_raise(py)
}
