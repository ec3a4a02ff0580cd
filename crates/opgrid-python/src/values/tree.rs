//! Nested values of Python: tuples, named tuples, lists and dicts, whose leaves are all else.

use pyo3::exceptions::{PyRecursionError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

/// How deep values may be nested, as Python's own limit.
const DEEPEST: usize = 1000;

/// How a value is nested.
#[pyclass(name = "Tree", module = "opgrid", frozen)]
pub(crate) struct Tree(Node);

enum Node {
    Leaf,
    Nothing,
    Tuple(Vec<Node>),
    /// A tuple with names, of that class.
    Named(Py<PyType>, Vec<Node>),
    List(Vec<Node>),
    /// The class, where it is not `dict` itself; keys and values.
    Dict(Option<Py<PyType>>, Vec<(Py<PyAny>, Node)>),
}

#[pymethods]
impl Tree {
    /// The leaves, nested so.
    fn nest<'py>(&self, py: Python<'py>, leaves: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.nested(py, leaves.try_iter()?)
    }

    /// How many leaves there are.
    fn count(&self) -> usize {
        self.0.count()
    }

    /// What the value is: `leaf`, `None`, `tuple`, `list`, `dict`, or the name of a named tuple.
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<String> {
        self.0.kind(py)
    }
}

/// The leaves of a value, and how it is nested.
///
/// # Errors
///
/// A value that is nested in itself, or too deep.
#[pyfunction]
pub(crate) fn _flatten<'py>(value: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyList>, Tree)> {
    let (leaves, tree) = Tree::flatten(value)?;
    Ok((PyList::new(value.py(), leaves)?, tree))
}

/// One item for each leaf of a tree: of a value that is nested so, or the value itself for all leaves below where it is not nested.
///
/// # Errors
///
/// A value that is nested in another way; `place` says whose it is.
#[pyfunction]
pub(crate) fn _broadcast<'py>(
    value: &Bound<'py, PyAny>,
    tree: &Bound<'py, Tree>,
    place: &str,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(value.py(), tree.get().broadcast(value, place)?)
}

impl Tree {
    /// The leaves of a value, and how it is nested.
    ///
    /// # Errors
    ///
    /// A value that is nested in itself, or too deep.
    pub(crate) fn flatten<'py>(value: &Bound<'py, PyAny>) -> PyResult<(Vec<Bound<'py, PyAny>>, Self)> {
        let mut leaves = Vec::new();
        let tree = Node::flatten(value, &mut leaves, DEEPEST)?;
        Ok((leaves, Self(tree)))
    }

    /// The leaves, nested so.
    ///
    /// # Errors
    ///
    /// Those of the leaves; fewer of them than there are places.
    pub(crate) fn nested<'py>(
        &self,
        py: Python<'py>,
        leaves: impl IntoIterator<Item = PyResult<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.0.nest(py, &mut leaves.into_iter())
    }

    /// One item for each leaf: of a value that is nested so, or the value itself for all leaves below where it is not nested.
    ///
    /// # Errors
    ///
    /// A value that is nested in another way; `place` says whose it is.
    pub(crate) fn broadcast<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        place: &str,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut items = Vec::new();
        self.0.spread(value, &mut items, place)?;
        Ok(items)
    }
}

impl Node {
    fn flatten<'py>(
        value: &Bound<'py, PyAny>,
        leaves: &mut Vec<Bound<'py, PyAny>>,
        deepest: usize,
    ) -> PyResult<Self> {
        let py = value.py();
        if deepest == 0 {
            let message = format!(
                "found a value that is nested deeper than {DEEPEST} times, or in itself; make it flat"
            );
            return Err(PyRecursionError::new_err(message));
        }
        let mut all = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| {
            items.map(|item| Self::flatten(&item, leaves, deepest - 1)).collect::<PyResult<Vec<_>>>()
        };
        if let Ok(tuple) = value.cast::<PyTuple>() {
            let items = all(&mut tuple.iter())?;
            let is_named =
                !tuple.is_exact_instance_of::<PyTuple>() && tuple.hasattr(intern!(py, "_fields"))?;
            return Ok(if is_named {
                Self::Named(value.get_type().unbind(), items)
            } else {
                Self::Tuple(items)
            });
        }
        if let Ok(list) = value.cast::<PyList>() {
            return Ok(Self::List(all(&mut list.iter())?));
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            let class = (!dict.is_exact_instance_of::<PyDict>()).then(|| value.get_type().unbind());
            let items = dict
                .copy()?
                .iter()
                .map(|(key, item)| Ok((key.unbind(), Self::flatten(&item, leaves, deepest - 1)?)));
            return Ok(Self::Dict(class, items.collect::<PyResult<_>>()?));
        }
        if value.is_none() {
            return Ok(Self::Nothing);
        }
        leaves.push(value.clone());
        Ok(Self::Leaf)
    }

    fn nest<'py>(
        &self,
        py: Python<'py>,
        leaves: &mut dyn Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut all =
            |nodes: &[Self]| nodes.iter().map(|node| node.nest(py, leaves)).collect::<PyResult<Vec<_>>>();
        Ok(match self {
            Self::Leaf => leaves.next().unwrap_or_else(|| {
                Err(PyValueError::new_err("found fewer leaves than there are places for them"))
            })?,
            Self::Nothing => py.None().into_bound(py),
            Self::Tuple(nodes) => PyTuple::new(py, all(nodes)?)?.into_any(),
            Self::Named(class, nodes) => class.bind(py).call1(PyTuple::new(py, all(nodes)?)?)?,
            Self::List(nodes) => PyList::new(py, all(nodes)?)?.into_any(),
            Self::Dict(class, items) => {
                let dict = PyDict::new(py);
                for (key, node) in items {
                    dict.set_item(key, node.nest(py, leaves)?)?;
                }
                match class {
                    None => dict.into_any(),
                    Some(class) => class.bind(py).call1((dict.items(),))?,
                }
            }
        })
    }

    /// Appends one item for each leaf.
    fn spread<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        into: &mut Vec<Bound<'py, PyAny>>,
        place: &str,
    ) -> PyResult<()> {
        let py = value.py();
        let (tuple, list, dict) = (value.cast::<PyTuple>(), value.cast::<PyList>(), value.cast::<PyDict>());
        if matches!(self, Self::Leaf) || (tuple.is_err() && list.is_err() && dict.is_err()) {
            into.extend(std::iter::repeat_n(value, self.count()).cloned());
            return Ok(());
        }
        let (kind, below) = (self.kind(py)?, self.below());
        if dict.is_ok() != matches!(self, Self::Dict(..)) {
            let found = value.get_type().name()?;
            return Err(PyValueError::new_err(format!(
                "{place}: found a {found} for a {kind}, expected a {kind}"
            )));
        }
        let found = value.len()?;
        if found != below.len() {
            let expected = below.len();
            return Err(PyValueError::new_err(format!(
                "{place}: found {found} items for a {kind} of {expected}, expected one for each"
            )));
        }
        if let (Ok(dict), Self::Dict(_, items)) = (dict, self) {
            return items.iter().try_for_each(|(key, node)| match dict.get_item(key)? {
                Some(item) => node.spread(&item, into, place),
                None => Err(PyValueError::new_err(format!("{place}: found no item for the key {key}"))),
            });
        }
        let items = value.try_iter()?.zip(below);
        items.into_iter().try_for_each(|(item, node)| node.spread(&item?, into, place))
    }

    fn below(&self) -> Vec<&Self> {
        match self {
            Self::Leaf | Self::Nothing => Vec::new(),
            Self::Tuple(nodes) | Self::Named(_, nodes) | Self::List(nodes) => nodes.iter().collect(),
            Self::Dict(_, items) => items.iter().map(|(_, node)| node).collect(),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Leaf => 1,
            node => node.below().into_iter().map(Self::count).sum(),
        }
    }

    fn kind(&self, py: Python<'_>) -> PyResult<String> {
        Ok(match self {
            Self::Leaf => "leaf",
            Self::Nothing => "None",
            Self::Tuple(_) => "tuple",
            Self::Named(class, _) => return class.bind(py).name().map(|name| name.to_string()),
            Self::List(_) => "list",
            Self::Dict(..) => "dict",
        }
        .to_owned())
    }
}
