//! Functions and methods: what `og.add` and `x.add` are.

use opgrid::dispatch::schema::OperatorName;
use opgrid::{OperatorHandle, Result};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use super::arguments::Arguments;
use super::candidates::{Candidates, current_generation, dispatcher};
use super::choose;
use super::fastcall;
use super::function_modes;
use super::messages;
use super::overload::{Overload, Style};
use super::overriding;
use crate::errors::OrRaise;
use crate::gil_cell::GilCell;
use crate::once::{OncePlace, intern};
use crate::tensor::object::{TensorBase, expect_tensor};

/// The namespace whose operators are functions and methods.
const NAMESPACE: &str = "aten";

/// What calls the overloads of one name.
#[pyclass(module = "opgrid", frozen)]
pub(crate) struct Caller {
    /// With its namespace, as in `aten::add`.
    full_name: String,
    pub(crate) style: Style,
    candidates: GilCell<Candidates>,
}

impl Caller {
    pub(crate) fn new(full_name: &str, style: Style) -> Self {
        Self { full_name: full_name.to_owned(), style, candidates: GilCell::new() }
    }

    /// The name without its namespace.
    pub(crate) fn name(&self) -> &str {
        self.full_name.split_once("::").map_or(&self.full_name, |(_, name)| name)
    }

    /// The name with its namespace.
    pub(crate) fn full_name(&self) -> &str {
        &self.full_name
    }

    /// The overloads that there are now.
    ///
    /// # Errors
    ///
    /// As [`dispatcher`].
    #[inline]
    pub(crate) fn candidates(&self, py: Python<'_>) -> PyResult<Py<Candidates>> {
        match self.candidates.get(py) {
            Some(known) if known.get().since == current_generation() => Ok(known),
            _ => self.find(py),
        }
    }

    #[cold]
    fn find(&self, py: Python<'_>) -> PyResult<Py<Candidates>> {
        let found = Py::new(py, Candidates::find(&self.full_name, self.style).or_raise(py)?)?;
        self.candidates.set(py, found.clone_ref(py));
        Ok(found)
    }

    /// Calls the overload that takes the arguments; of functions and methods, modes and classes of users are asked first.
    ///
    /// # Errors
    ///
    /// Where no overload does; those of the call.
    pub(crate) fn call<'py>(&self, py: Python<'py>, arguments: &Arguments<'_, 'py>) -> PyResult<Py<PyAny>> {
        if !self.style.is_function() {
            return self.call_plainly(py, arguments);
        }
        let classes = overriding::classes(arguments);
        if function_modes::is_entered()
            && let Some(answer) = function_modes::call(py, self, &classes, arguments)?
        {
            return Ok(answer);
        }
        if !classes.is_empty() {
            return overriding::call(py, self, classes, arguments);
        }
        self.call_plainly(py, arguments).or_else(|error| overriding::call_others(py, self, arguments, error))
    }

    /// The function or method that classes of users are notified of.
    ///
    /// # Errors
    ///
    /// The operator is gone.
    pub(super) fn function<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        kept(py, self.name(), self.style)
    }

    /// Calls the overload that takes the arguments, and asks nobody.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub(super) fn call_plainly(&self, py: Python<'_>, arguments: &Arguments<'_, '_>) -> PyResult<Py<PyAny>> {
        // Without asking the thread whether it is attached when this goes.
        let candidates = self.candidates(py)?.into_bound(py);
        let result = choose::call(py, &self.full_name, candidates.get(), self.style, arguments)?;
        if !arguments.keyword.is_empty() && self.style.is_function() && wants_gradient(arguments) {
            expect_tensor(result.bind(py))?.requires_grad_(true).or_raise(py)?;
        }
        Ok(result)
    }
}

#[pymethods]
impl Caller {
    /// The function or method that calls it: pickles of functions in C ask the object behind them.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if self.style.is_function() && name == self.name() {
            self.function(py)
        } else {
            Err(PyAttributeError::new_err(format!("'Caller' object has no attribute '{name}'")))
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (&str, bool))> {
        let again = py.import("opgrid._opgrid")?.getattr("_caller")?;
        Ok((again, (self.name(), self.style == Style::Method)))
    }
}

/// What pickles call for what is behind a function or method.
///
/// # Errors
///
/// `AttributeError` where there is no such operator.
#[pyfunction]
pub(crate) fn _caller<'py>(py: Python<'py>, name: &str, is_method: bool) -> PyResult<Bound<'py, Caller>> {
    caller_of(&kept(py, name, if is_method { Style::Method } else { Style::Function })?)
}

/// Whether the caller wants gradients by the tensor that a factory makes.
fn wants_gradient(arguments: &Arguments<'_, '_>) -> bool {
    arguments.keyword.iter().any(|(name, value)| {
        name.to_str().is_ok_and(|name| name == "requires_grad")
            && value.extract::<bool>().is_ok_and(|wanted| wanted)
    })
}

/// The operator that an infix or another special method of Python stands for, found once.
pub(crate) struct Special(&'static str, OncePlace<Py<Caller>>);

impl Special {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name, OncePlace::new())
    }

    /// The operator's name.
    pub(crate) fn name(&self) -> &'static str {
        self.0
    }

    /// Calls the operator.
    ///
    /// # Errors
    ///
    /// As [`Caller::call`].
    pub(crate) fn call<'py>(&self, py: Python<'py>, arguments: &Arguments<'_, 'py>) -> PyResult<Py<PyAny>> {
        let new = || Py::new(py, caller(self.0, Style::Method));
        self.1.get_or_make(py, new)?.get().call(py, arguments)
    }
}

/// The function of that name, if operators are called so.
///
/// # Errors
///
/// `AttributeError` where there is no such operator.
#[pyfunction]
pub(crate) fn function<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    kept(py, name, Style::Function)
}

/// What the class of tensors has for a method: it is there as long as the operator is.
#[pyclass(module = "opgrid", frozen)]
struct Method {
    name: String,
    found: OncePlace<Found>,
}

/// A method that was asked for.
struct Found {
    function: Py<PyAny>,
    caller: Py<Caller>,
}

impl Found {
    fn new(py: Python<'_>, name: &str) -> PyResult<Self> {
        let function = kept(py, name, Style::Method)?;
        Ok(Self { caller: caller_of(&function)?.unbind(), function: function.unbind() })
    }
}

#[pymethods]
impl Method {
    fn __get__<'py>(
        &self,
        tensor: &Bound<'py, PyAny>,
        _class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = tensor.py();
        let found = self.found.get_or_make(py, || Found::new(py, &self.name))?;
        if found.caller.get().candidates(py)?.get().overloads.is_empty() {
            return Err(missing(&self.name, Style::Method));
        }
        let function = found.function.bind(py);
        if tensor.is_none() { Ok(function.clone()) } else { fastcall::bound(function, tensor) }
    }
}

/// Gives the class of tensors the methods of the operators that there are.
///
/// # Errors
///
/// As [`dispatcher`].
pub(crate) fn give_methods(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<TensorBase>();
    for name in methods().or_raise(py)? {
        // What a class defines itself comes first.
        if !class.hasattr(name.as_str())? {
            give_method(&class, name)?;
        }
    }
    Ok(())
}

fn give_method(class: &Bound<'_, PyType>, name: String) -> PyResult<()> {
    let py = class.py();
    class.setattr(name.as_str(), Bound::new(py, Method { name: name.clone(), found: OncePlace::new() })?)
}

/// The method of that name of a tensor: one of an operator that came later. From now on the class has it.
///
/// # Errors
///
/// `AttributeError` where no operator is a method of that name.
pub(crate) fn method_of<'py>(tensor: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = tensor.py();
    let function = kept(py, name, Style::Method)?;
    give_method(&py.get_type::<TensorBase>(), name.to_owned())?;
    fastcall::bound(&function, tensor)
}

#[cold]
fn missing(name: &str, style: Style) -> PyErr {
    let what = if style == Style::Method { "'Tensor' object" } else { "module 'opgrid'" };
    PyAttributeError::new_err(format!("{what} has no attribute '{name}'"))
}

/// What calls the functions or methods of that name.
pub(super) fn caller(name: &str, style: Style) -> Caller {
    Caller::new(&format!("{NAMESPACE}::{name}"), style)
}

/// The function or method of that name, made when it is asked for first.
fn kept<'py>(py: Python<'py>, name: &str, style: Style) -> PyResult<Bound<'py, PyAny>> {
    static FUNCTIONS: OncePlace<Py<PyDict>> = OncePlace::new();
    static METHODS: OncePlace<Py<PyDict>> = OncePlace::new();
    if name.starts_with("__") && name.ends_with("__") {
        return Err(missing(name, style));
    }
    let functions = if style == Style::Method { &METHODS } else { &FUNCTIONS };
    let functions = functions.get_or_make(py, || Ok(PyDict::new(py).unbind()))?.bind(py);
    let known = functions.get_item(name)?;
    let caller = match &known {
        Some(function) => caller_of(function)?,
        None => Bound::new(py, caller(name, style))?,
    };
    // Operators come and go: what was known is looked at, too.
    let candidates = caller.get().candidates(py)?;
    let overloads = &candidates.get().overloads;
    if !overloads.iter().any(|overload| style == Style::Function || is_method(&overload.handle)) {
        return Err(missing(name, style));
    }
    if let Some(function) = known {
        return Ok(function);
    }
    let function = fastcall::function(&caller, &documentation(candidates.get(), style))?;
    functions.set_item(name, &function)?;
    Ok(function)
}

/// What a function or method calls.
pub(super) fn caller_of<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Caller>> {
    Ok(function.getattr(intern!(function.py(), "__self__"))?.cast_into::<Caller>()?)
}

/// What `help` shows: a signature for `inspect`, then each overload with the place of its definition.
pub(crate) fn documentation(candidates: &Candidates, style: Style) -> String {
    let mut text = String::new();
    // Overloads that write outputs are those that do not with one more argument.
    let plain: Vec<&Overload> = candidates
        .overloads
        .iter()
        .map(AsRef::as_ref)
        .filter(|overload| !overload.writes_outputs())
        .collect();
    if let Some(signature) = text_signature(&plain, plain.len() < candidates.overloads.len(), style) {
        text += &format!("{}({signature})\n--\n\n", plain[0].schema().name.base());
    }
    text + &candidates.overloads.iter().map(|overload| overload.documentation()).collect::<String>()
}

/// A signature that `inspect` can read: the parameters of the overload that has the most, of which those that others do without
/// have defaults. Defaults that Python has no literal for become `None`.
fn text_signature(overloads: &[&Overload], has_out: bool, style: Style) -> Option<String> {
    let count = |overload: &&&Overload| overload.schema().arguments.len();
    // Of several, the first one that is tried.
    let longest = overloads.iter().rev().max_by_key(count)?;
    let is_in_all = |name: &str| overloads.iter().all(|other| other.schema().argument_index(name).is_some());
    let variadic = longest.variadic(style);
    let mut parts = Vec::new();
    let (mut by_name, mut has_default) = (false, false);
    for (index, argument) in longest.schema().arguments.iter().enumerate() {
        let name = messages::parameter_name(argument, style);
        if argument.kwarg_only && !by_name {
            parts.push("*".to_owned());
            by_name = true;
        }
        let literal = messages::default_text(argument).map(|text| {
            let is_literal = matches!(text.as_str(), "None" | "True" | "False" | "[]")
                || text.parse::<f64>().is_ok_and(f64::is_finite);
            if is_literal { text } else { "None".to_owned() }
        });
        if variadic == Some(index) {
            parts.push(format!("*{name}"));
            by_name = true;
            continue;
        }
        if style == Style::Method && index == 0 {
            parts.push("$self".to_owned());
            continue;
        }
        // Parameters by position have defaults from the first one on that has.
        let needs_default = !is_in_all(&argument.name) || (has_default && !by_name);
        let default = literal.or_else(|| needs_default.then(|| "None".to_owned()));
        has_default |= default.is_some();
        parts.push(default.map_or_else(|| name.to_owned(), |default| format!("{name}={default}")));
    }
    if has_out {
        parts.extend((!by_name).then(|| "*".to_owned()));
        parts.push("out=None".to_owned());
    }
    Some(parts.join(", "))
}

fn is_method(operator: &OperatorHandle) -> bool {
    operator.find_schema().is_some_and(|schema| schema.is_method())
}

/// The names of functions among operators, in order.
fn names<'o>(operators: impl Iterator<Item = &'o OperatorName>) -> Vec<String> {
    let own = operators.filter(|name| name.namespace() == Some(NAMESPACE));
    let mut names: Vec<_> = own.map(|name| name.base().to_owned()).collect();
    names.dedup();
    names
}

fn methods() -> Result<Vec<String>> {
    let mut operators = dispatcher()?.operators();
    operators.retain(is_method);
    Ok(names(operators.iter().map(OperatorHandle::name)))
}

/// The names of all functions.
#[pyfunction]
pub(crate) fn function_names(py: Python<'_>) -> PyResult<Vec<String>> {
    Ok(names(dispatcher().or_raise(py)?.names().iter()))
}

/// The names of all methods that operators are.
#[pyfunction]
pub(crate) fn method_names(py: Python<'_>) -> PyResult<Vec<String>> {
    methods().or_raise(py)
}
