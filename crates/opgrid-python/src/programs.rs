//! Programs for Python: read from files, traced from functions, run.

use std::path::PathBuf;

use opgrid::{DType, Scalar, Tensor, Value};
use opgrid_graph::{
    Archive, Argument, Comparison, Expression, InputKind, OutputKind, Program, Source, Trace, Tree, passes,
    record_comparison,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::drop_attached::DropAttached;
use crate::errors::{OrRaise, carry};
use crate::tensor::object::{expect_tensor, tensor_object};
use crate::values::names::DTypeObject;
use crate::values::{read, write};

/// A program that can run.
#[pyclass(name = "Program", module = "opgrid.export", frozen)]
pub(crate) struct ProgramObject(Program);

/// What a value is to the program: its kind, the name of the value, and the name of the tensor, if it has one.
type Described = (&'static str, String, Option<String>);

#[pymethods]
impl ProgramObject {
    /// Reads a file that `torch.export.save` or `save` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        crate::collector::detached(py, || Program::load(path)).or_raise(py).map(Self)
    }

    /// Writes the program to a file that `torch.export.load` reads, too.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        crate::collector::detached(py, || self.0.save(&path)).or_raise(py)
    }

    /// Runs the program on flattened values, those that are fixed left out.
    fn run<'py>(&self, py: Python<'py>, inputs: Vec<Bound<'py, PyAny>>) -> PyResult<Vec<Py<PyAny>>> {
        let values = inputs.iter().map(|input| read::anything(py, input, 0)).collect::<PyResult<Vec<_>>>()?;
        let results = self.0.run_values(values).or_raise(py)?;
        results.into_iter().map(|result| write::owned(py, result)).collect()
    }

    /// The program as text.
    fn __str__(&self) -> String {
        self.0.graph().to_string()
    }

    fn __repr__(&self) -> String {
        let graph = self.0.graph();
        format!("<Program nodes={} inputs={}>", graph.block.nodes.len(), graph.user_inputs().count())
    }

    /// How often each operator is called.
    fn targets(&self) -> Vec<(String, usize)> {
        let targets = self.0.graph().targets();
        targets.into_iter().map(|(target, count)| (target.to_owned(), count)).collect()
    }

    /// The inputs: what they are, the names of their values, and those of their tensors.
    fn inputs(&self) -> Vec<Described> {
        let graph = self.0.graph();
        let describe = |(kind, name): (&InputKind, String)| {
            let stored = kind.stored_name().map(str::to_owned);
            match kind {
                InputKind::Parameter(_) => ("parameter", name, stored),
                InputKind::Buffer { persistent: true, .. } => ("buffer", name, stored),
                InputKind::Buffer { .. } => ("unsaved buffer", name, stored),
                InputKind::Constant(_) => ("constant", name, stored),
                InputKind::Fixed(_) => ("fixed", name, None),
                _ => ("input", name, None),
            }
        };
        let names = graph.block.parameters.iter().map(|variable| variable.name.clone());
        graph.inputs.iter().zip(names).map(describe).collect()
    }

    /// The values of the inputs that are fixed, in their order.
    fn fixed(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let fixed = self.0.graph().inputs.iter().filter_map(|kind| match kind {
            InputKind::Fixed(value) => Some(value),
            _ => None,
        });
        fixed.map(|value| plain(py, value)).collect()
    }

    /// The results: what they are, and the names of the values and tensors that they are for.
    fn outputs(&self) -> Vec<Described> {
        let graph = self.0.graph();
        let describe = |(kind, result): (&OutputKind, &Argument)| {
            let name = result.references().first().map_or_else(String::new, |name| (*name).to_owned());
            match kind {
                OutputKind::Loss => ("loss", name, None),
                OutputKind::BufferMutation(stored) => ("buffer mutation", name, Some(stored.clone())),
                OutputKind::ParameterMutation(stored) => ("parameter mutation", name, Some(stored.clone())),
                OutputKind::InputMutation(input) => ("input mutation", name, Some(input.clone())),
                OutputKind::ParameterGradient(stored) => ("parameter gradient", name, Some(stored.clone())),
                OutputKind::InputGradient(input) => ("input gradient", name, Some(input.clone())),
                _ => ("output", name, None),
            }
        };
        graph.outputs.iter().zip(&graph.block.results).map(describe).collect()
    }

    /// The sizes that vary: their names and ranges.
    fn ranges(&self) -> Vec<(String, Option<i64>, Option<i64>)> {
        let symbols = self.0.graph().symbols.iter();
        symbols.map(|(name, range)| (name.clone(), range.min, range.max)).collect()
    }

    /// The tensors of the program by name: parameters, buffers, constants.
    fn tensors(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        let all = self.0.parameters().into_iter().chain(self.0.buffers()).chain(self.0.constants());
        all.map(|(name, tensor)| Ok((name, tensor_object(py, tensor)?))).collect()
    }

    /// The program in another floating-point dtype.
    fn to(&self, py: Python<'_>, dtype: &Bound<'_, DTypeObject>) -> PyResult<Self> {
        self.0.to(dtype.get().0).or_raise(py).map(Self)
    }

    /// The program with composite operators taken apart, and without writes before its end.
    fn decomposed(&self, py: Python<'_>) -> PyResult<Self> {
        install_modes(py)?;
        let all = self.0.parameters().into_iter().chain(self.0.buffers()).chain(self.0.constants());
        let archive = Archive::new(self.0.graph().clone(), all.collect());
        let pass = || {
            let archive = passes::functionalize(passes::decompose(archive)?)?;
            Program::new(passes::propagate_types(archive.graph)?, archive.tensors)
        };
        crate::collector::detached(py, pass).or_raise(py).map(Self)
    }

    /// The program with groups of element-wise operators fused.
    fn compiled(&self, py: Python<'_>) -> PyResult<Self> {
        crate::collector::detached(py, || self.0.compiled()).or_raise(py).map(Self)
    }

    /// What is fused and what is not, as text.
    fn report(&self) -> String {
        self.0.report().to_string()
    }

    /// How arguments and results are nested.
    fn trees<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
        let graph = self.0.graph();
        Ok((described(py, &graph.input_tree)?, described(py, &graph.output_tree)?))
    }
}

/// Runs `function` once on tensors that write down what is called on them. It gets the flattened inputs and gives flattened
/// results with their tree.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn _trace(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    inputs: Vec<Bound<'_, PyAny>>,
    names: Vec<String>,
    parameters: Vec<(String, Bound<'_, PyAny>)>,
    buffers: Vec<(String, Bound<'_, PyAny>)>,
    fixed: Vec<(usize, String, Bound<'_, PyAny>)>,
    sizes: Vec<(usize, usize, String, i64, i64)>,
    tree: &Bound<'_, PyTuple>,
    below_autograd: bool,
    guard_reads: bool,
    source: Py<PyAny>,
) -> PyResult<ProgramObject> {
    // Where the code stands is told for people only: a source that cannot be had is empty.
    let source = DropAttached::new(source);
    let mut trace = Trace::new().sources(move || {
        let told = crate::collector::attached(|py| {
            source.call0(py).and_then(|told| told.extract::<(String, String)>(py))
        });
        told.map_or_else(|_| Source::default(), |(module, place)| Source { module, place })
    });
    for name in names {
        trace = trace.input(name);
    }
    for (name, tensor) in &parameters {
        trace = trace.parameter(name, expect_tensor(tensor)?);
    }
    for (name, tensor) in &buffers {
        trace = trace.buffer(name, expect_tensor(tensor)?);
    }
    for (place, name, value) in &fixed {
        trace = trace.fixed(*place, name, argument(value)?);
    }
    for (input, dimension, name, least, most) in sizes {
        trace = trace.vary(input, dimension, name, least..=most);
    }
    if below_autograd {
        install_modes(py)?;
        trace = trace.below_autograd();
    }
    if guard_reads {
        trace = trace.guard_reads();
    }
    let tensors = inputs.iter().map(|input| expect_tensor(input)).collect::<PyResult<Vec<_>>>()?;
    let mut results_tree = None;
    let mut body = |stand_ins: &[Tensor]| -> PyResult<Vec<Tensor>> {
        let stand_ins = stand_ins.iter().map(|tensor| tensor_object(py, tensor.clone()));
        let given = PyList::new(py, stand_ins.collect::<PyResult<Vec<_>>>()?)?;
        let (results, tree): (Vec<Bound<'_, PyAny>>, Bound<'_, PyTuple>) =
            function.call1((given,))?.extract()?;
        results_tree = Some(read_tree(&tree)?);
        results.iter().map(|result| expect_tensor(result).cloned()).collect()
    };
    let program = trace.run(&tensors, |stand_ins| body(stand_ins).map_err(carry)).or_raise(py)?;
    let results_tree = results_tree.unwrap_or(Tree::Leaf);
    program.with_trees(read_tree(tree)?, results_tree).or_raise(py).map(ProgramObject)
}

/// Has the layer be there that traces below autograd share with modes and classes of tensors: that of the package, which handles all of them, and
/// not one that a trace would register for itself.
fn install_modes(py: Python<'_>) -> PyResult<()> {
    py.import("opgrid._modes")?.call_method0("_install").map(drop)
}

/// Records that integers compared so, or not, which code computed from sizes of traced tensors; they are as sympy writes them.
#[pyfunction]
pub(crate) fn _record_comparison(
    py: Python<'_>,
    left: &str,
    how: &str,
    right: &str,
    holds: bool,
) -> PyResult<()> {
    let comparison = Comparison::from_symbol(how)
        .ok_or_else(|| PyValueError::new_err(format!("found {how}, expected a comparison such as <=")))?;
    let comparison = if holds { comparison } else { comparison.negated() };
    let (left, right) =
        (Expression::from_sympy(left).or_raise(py)?, Expression::from_sympy(right).or_raise(py)?);
    record_comparison(&left, comparison, &right).or_raise(py)
}

/// A plain value of Python as one that a program holds.
fn argument(value: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let py = value.py();
    if let Ok(dtype) = value.cast::<DTypeObject>() {
        let dtype: DType = dtype.get().0;
        return Ok(Argument::DType(dtype));
    }
    Ok(match read::anything(py, value, 0)? {
        Value::None => Argument::None,
        Value::Str(text) => Argument::Str(text.to_string()),
        Value::Bool(value) => Argument::Number(Scalar::Bool(value)),
        Value::Int(value) => value.into(),
        Value::UInt(value) => Argument::Number(Scalar::UInt(value)),
        Value::Float(value) => Argument::Number(Scalar::Float(value)),
        Value::Complex(value) => Argument::Number(Scalar::Complex(*value)),
        Value::DType(dtype) => Argument::DType(dtype),
        Value::Device(device) => Argument::Device(device),
        Value::Layout(layout) => Argument::Layout(layout),
        Value::MemoryFormat(format) => Argument::MemoryFormat(format),
        _ => {
            let found = value.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "export(): found an argument of class {found}, expected tensors, numbers, strings, \
                 None and tuples, lists or dicts of them"
            )));
        }
    })
}

fn plain(py: Python<'_>, value: &Argument) -> PyResult<Py<PyAny>> {
    let value = match value {
        Argument::Number(number) => Value::from(*number),
        Argument::Str(text) => Value::from(text.as_str()),
        Argument::DType(dtype) => Value::DType(*dtype),
        Argument::Device(device) => Value::Device(*device),
        Argument::Layout(layout) => Value::Layout(*layout),
        Argument::MemoryFormat(format) => Value::MemoryFormat(*format),
        _ => Value::None,
    };
    write::owned(py, value)
}

/// A tree as nested tuples: `("leaf",)`, `("tuple", [...])`, `("dict", [(key, ...)])` and so on.
fn described<'py>(py: Python<'py>, tree: &Tree) -> PyResult<Bound<'py, PyTuple>> {
    let items = |items: &[Tree]| {
        PyList::new(py, items.iter().map(|item| described(py, item)).collect::<PyResult<Vec<_>>>()?)
    };
    let entries = |entries: &[(String, Tree)]| {
        let each = entries.iter().map(|(key, tree)| Ok((key.as_str(), described(py, tree)?)));
        PyList::new(py, each.collect::<PyResult<Vec<_>>>()?)
    };
    match tree {
        Tree::None => ("none",).into_pyobject(py),
        Tree::Tuple(all) => ("tuple", items(all)?).into_pyobject(py),
        Tree::List(all) => ("list", items(all)?).into_pyobject(py),
        Tree::Dict(all) => ("dict", entries(all)?).into_pyobject(py),
        Tree::Named(name, all) => ("named", entries(all)?, name.as_str()).into_pyobject(py),
        _ => ("leaf",).into_pyobject(py),
    }
}

fn read_tree(tree: &Bound<'_, PyTuple>) -> PyResult<Tree> {
    let kind = tree.get_item(0)?.cast_into::<PyString>()?.to_string();
    let items = || -> PyResult<Vec<Tree>> {
        let items: Vec<Bound<'_, PyTuple>> = tree.get_item(1)?.extract()?;
        items.iter().map(read_tree).collect()
    };
    let entries = || -> PyResult<Vec<(String, Tree)>> {
        let items: Vec<(String, Bound<'_, PyTuple>)> = tree.get_item(1)?.extract()?;
        items.into_iter().map(|(key, tree)| Ok((key, read_tree(&tree)?))).collect()
    };
    Ok(match kind.as_str() {
        "leaf" => Tree::Leaf,
        "none" => Tree::None,
        "tuple" => Tree::Tuple(items()?),
        "list" => Tree::List(items()?),
        "dict" => Tree::Dict(entries()?),
        "named" => Tree::Named(tree.get_item(2)?.extract()?, entries()?),
        kind => return Err(PyValueError::new_err(format!("found a tree of kind {kind}"))),
    })
}
