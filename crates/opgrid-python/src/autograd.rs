//! Gradients for Python: what tensors say of them, the backward pass, hooks, and calls with a derivative written in Python.

use std::sync::{Arc, Mutex, PoisonError};

use opgrid::dispatch::{TensorType, ValueRef, ValueView};
use opgrid::layers::autograd::{
    self, BackwardOptions, CheckpointOptions, Derivative, DetectAnomaly, Forward, Gradients, Hook, Node,
    PackSavedTensors, Packed,
};
use opgrid::{Result, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::collector::{self, Holder};
use crate::drop_attached::DropAttached;
use crate::errors::{OrRaise, carry};
use crate::operators::candidates::dispatcher;
use crate::operators::overriding::result_of_method;
use crate::registration::registrations::{At, RegistrationObject, place};
use crate::tensor::attributes::own;
use crate::tensor::object::{TensorBase, expect_tensor, of_any, tensor_object, tensor_of};
use crate::values::write;

/// A recorded call, or a leaf.
#[pyclass(name = "Node", module = "opgrid.autograd", frozen)]
pub(crate) struct NodeObject(Arc<Node>);

impl NodeObject {
    /// The node and where this is, by which the collector knows it.
    pub(crate) fn content(&self) -> (usize, &Arc<Node>) {
        (std::ptr::from_ref(self).addr(), &self.0)
    }
}

#[pymethods]
impl NodeObject {
    /// The operator's name, or what else the node stands for.
    fn name(&self) -> String {
        self.0.name()
    }

    /// The nodes that gradients go on to, each with the number of its result.
    #[getter]
    fn next_functions(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        let next = self.0.next().map(|(node, output)| (Self(node.clone()), output));
        let next = next.map(|(node, output)| Ok((Py::new(py, node)?, output)));
        Ok(PyTuple::new(py, next.collect::<PyResult<Vec<_>>>()?)?.unbind())
    }

    /// Calls `hook(grad_inputs)` with the gradients that the node gives on; what it returns takes their place.
    fn register_hook(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<HookObject> {
        let held = Holder::new(py, hook)?;
        let hook = held.clone();
        Ok(HookObject::from_hook(self.0.register_hook_with(held, move |grads| called_with_all(&hook, grads))))
    }

    /// Calls `hook(grad_outputs)` with the gradients of the results; what it returns takes their place.
    fn register_prehook(&self, py: Python<'_>, hook: Py<PyAny>) -> PyResult<HookObject> {
        let held = Holder::new(py, hook)?;
        let hook = held.clone();
        Ok(HookObject::from_hook(
            self.0.register_prehook_with(held, move |grads| called_with_all(&hook, grads)),
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        collector::visit_node(std::ptr::from_ref(self).addr(), &self.0, &visit)
    }

    fn __clear__(&self) {
        collector::clear_node(std::ptr::from_ref(self).addr(), &self.0);
    }

    fn __eq__(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn __hash__(&self) -> isize {
        (Arc::as_ptr(&self.0).addr() >> 4) as isize
    }

    fn __repr__(&self) -> String {
        format!("<Node {}>", self.0.name())
    }
}

/// A hook that was registered.
#[pyclass(name = "RemovableHandle", module = "opgrid.autograd", frozen)]
pub(crate) struct HookObject(Mutex<Option<Hook>>);

impl HookObject {
    fn from_hook(hook: Hook) -> Self {
        Self(Mutex::new(Some(hook)))
    }
}

#[pymethods]
impl HookObject {
    /// Takes the hook out.
    fn remove(&self) {
        // Taken out before it is removed: what goes with the hook may ask for this handle again.
        let hook = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(hook) = hook {
            hook.remove();
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        self.remove();
    }
}

#[pymethods]
impl TensorBase {
    /// Whether gradients lead to this tensor.
    #[getter]
    fn get_requires_grad(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.requires_grad())
    }

    #[setter]
    fn set_requires_grad(slf: &Bound<'_, Self>, on: bool) -> PyResult<()> {
        own(slf)?.requires_grad_(on).map(drop).or_raise(slf.py())
    }

    /// Asks for gradients by this tensor, or no more.
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(slf: &Bound<'py, Self>, requires_grad: bool) -> PyResult<Bound<'py, Self>> {
        own(slf)?.requires_grad_(requires_grad).or_raise(slf.py())?;
        Ok(slf.clone())
    }

    /// What `backward` has added up.
    #[getter]
    fn get_grad(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        own(slf)?.grad().map(|grad| tensor_object(slf.py(), grad)).transpose()
    }

    #[setter]
    fn set_grad(slf: &Bound<'_, Self>, grad: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let grad = grad.map(|grad| expect_tensor(grad).cloned()).transpose()?;
        own(slf)?.set_grad(grad).or_raise(slf.py())
    }

    #[deleter]
    fn delete_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        own(slf)?.set_grad(None).or_raise(slf.py())
    }

    /// Whether the tensor was not computed of others that require gradients.
    #[getter]
    fn is_leaf(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.is_leaf())
    }

    /// The recorded call whose result this is; `None` for leaves.
    #[getter]
    fn grad_fn(slf: &Bound<'_, Self>) -> PyResult<Option<NodeObject>> {
        Ok(own(slf)?.origin().or_raise(slf.py())?.map(NodeObject))
    }

    /// Returns a tensor on this memory that is not part of the graph, which does not notice writes to it.
    #[getter]
    fn data(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        result_of_method(slf, own(slf)?.untracked().or_raise(slf.py())?)
    }

    #[setter]
    fn set_data(slf: &Bound<'_, Self>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let Some(new) = tensor_of(data) else {
            let found = data.get_type().name()?;
            return Err(PyTypeError::new_err(format!("Variable data has to be a tensor, but got {found}")));
        };
        #[expect(deprecated, reason = "what replaces it is unsafe")]
        let is_temporary = data.get_refcnt() <= TEMPORARY;
        let done =
            if is_temporary { autograd::replace_data(own(slf)?, new) } else { own(slf)?.set_data(new) };
        done.or_raise(slf.py())
    }

    #[deleter]
    fn delete_data(_slf: &Bound<'_, Self>) -> PyResult<()> {
        Err(PyRuntimeError::new_err("Deleting tensor data is not allowed. Delete tensor instead!"))
    }

    /// Keeps the gradient of a tensor that is no leaf, too.
    fn retain_grad(slf: &Bound<'_, Self>) -> PyResult<()> {
        own(slf)?.retain_grad().or_raise(slf.py())
    }

    #[getter]
    fn retains_grad(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(own(slf)?.retains_grad())
    }

    /// Calls `hook(grad)` when the gradient of this tensor is complete; what it returns takes its place.
    fn register_hook(slf: &Bound<'_, Self>, hook: Py<PyAny>) -> PyResult<HookObject> {
        let held = Holder::new(slf.py(), hook)?;
        let hook = held.clone();
        let called = move |grad: &Tensor| {
            collector::attached(|py| {
                let Some(hook) = hook.get(py) else { return Ok(None) };
                let given =
                    tensor_object(py, grad.clone()).and_then(|grad| hook.call1((grad,))).map_err(carry)?;
                optional(&given).map_err(carry)
            })
        };
        own(slf)?.register_hook_with(held, called).map(HookObject::from_hook).or_raise(slf.py())
    }

    /// Adds the gradients of this tensor to those of the leaves that it depends on.
    #[pyo3(signature = (gradient=None, retain_graph=None, create_graph=false, inputs=None))]
    fn backward(
        slf: &Bound<'_, Self>,
        gradient: Option<&Bound<'_, PyAny>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<()> {
        let gradient = gradient.map(|gradient| expect_tensor(gradient).cloned()).transpose()?;
        let options = options(retain_graph, create_graph);
        go_back(slf.py(), vec![own(slf)?.clone()], vec![gradient], options, inputs)
    }
}

/// The references to a value that nobody else has: the interpreter's own.
const TEMPORARY: isize = 1;

fn options(retain_graph: Option<bool>, create_graph: bool) -> BackwardOptions {
    BackwardOptions { retain_graph: retain_graph.unwrap_or(create_graph), create_graph }
}

fn tensors(objects: &[Bound<'_, PyAny>]) -> PyResult<Vec<Tensor>> {
    objects.iter().map(|object| expect_tensor(object).cloned()).collect()
}

fn gradients(objects: Vec<Option<Bound<'_, PyAny>>>) -> PyResult<Vec<Option<Tensor>>> {
    objects
        .iter()
        .map(|object| object.as_ref().map(|object| expect_tensor(object).cloned()).transpose())
        .collect()
}

fn go_back(
    py: Python<'_>,
    outputs: Vec<Tensor>,
    gradients: Vec<Option<Tensor>>,
    options: BackwardOptions,
    inputs: Option<Vec<Bound<'_, PyAny>>>,
) -> PyResult<()> {
    let inputs = inputs.map(|inputs| tensors(&inputs)).transpose()?;
    let done = collector::detached(py, || {
        let outputs: Vec<&Tensor> = outputs.iter().collect();
        let inputs: Option<Vec<&Tensor>> = inputs.as_ref().map(|inputs| inputs.iter().collect());
        autograd::backward(&outputs, &gradients, inputs.as_deref(), options)
    });
    done.or_raise(py)
}

/// Adds the gradients of leaves that tensors depend on to what these have.
#[pyfunction]
#[pyo3(signature = (tensors_, grad_tensors, retain_graph, create_graph, inputs))]
pub(crate) fn _backward(
    py: Python<'_>,
    tensors_: Vec<Bound<'_, PyAny>>,
    grad_tensors: Vec<Option<Bound<'_, PyAny>>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<Vec<Bound<'_, PyAny>>>,
) -> PyResult<()> {
    let (outputs, gradients) = (tensors(&tensors_)?, gradients(grad_tensors)?);
    go_back(py, outputs, gradients, options(retain_graph, create_graph), inputs)
}

/// The gradients of outputs by inputs; `None` where an output does not depend on one.
#[pyfunction]
pub(crate) fn _grad(
    py: Python<'_>,
    outputs: Vec<Bound<'_, PyAny>>,
    inputs: Vec<Bound<'_, PyAny>>,
    grad_outputs: Vec<Option<Bound<'_, PyAny>>>,
    retain_graph: Option<bool>,
    create_graph: bool,
) -> PyResult<Vec<Option<Py<PyAny>>>> {
    let (outputs, inputs, gradients) = (tensors(&outputs)?, tensors(&inputs)?, gradients(grad_outputs)?);
    let found = collector::detached(py, || {
        let (outputs, inputs): (Vec<&Tensor>, Vec<&Tensor>) =
            (outputs.iter().collect(), inputs.iter().collect());
        autograd::grad(&outputs, &inputs, &gradients, options(retain_graph, create_graph))
    });
    found.or_raise(py)?.into_iter().map(|grad| grad.map(|grad| tensor_object(py, grad)).transpose()).collect()
}

/// Whether calls on this thread are recorded.
#[pyfunction]
pub(crate) fn is_grad_enabled() -> bool {
    autograd::is_grad_enabled()
}

/// Switches recording on or off on this thread; says what was so before.
#[pyfunction]
pub(crate) fn _set_grad_enabled(py: Python<'_>, on: bool) -> PyResult<bool> {
    let before = autograd::is_grad_enabled();
    autograd::set_grad_enabled(on).or_raise(py)?;
    Ok(before)
}

/// Switches looking for anomalies on or off on this thread; says what was so before.
#[pyfunction]
pub(crate) fn _set_anomaly_enabled(on: bool) -> bool {
    let before = autograd::is_anomaly_enabled();
    // The scope is that of the caller, who switches back.
    std::mem::forget(DetectAnomaly::new(on));
    before
}

/// How many recorded calls are kept.
#[pyfunction]
pub(crate) fn _nodes_alive() -> u64 {
    autograd::nodes_alive()
}

/// Where Python is, for calls that note it.
pub(crate) fn say_places() {
    autograd::say_places_by(|| {
        collector::attached(|py| {
            let stack = py.import("traceback").and_then(|module| module.call_method0("format_stack"));
            let text =
                stack.and_then(|stack| PyString::new(py, "").call_method1("join", (stack,))?.extract());
            text.unwrap_or_else(|_: PyErr| "an unknown place".to_owned())
        })
    });
}

/// What a function with a derivative in Python gives: results, tensors to keep, and the arguments that it has written.
type Given<'py> = (Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>);

/// Runs `forward()`, which gives results, tensors to keep and the arguments that it has written, without recording, and has gradients of the results go to
/// `arguments` by `formula(grads, kept)`.
#[pyfunction]
pub(crate) fn _custom(
    py: Python<'_>,
    name: &str,
    arguments: Vec<Bound<'_, PyAny>>,
    forward: Py<PyAny>,
    formula: Py<PyAny>,
) -> PyResult<Vec<Py<PyAny>>> {
    let arguments = tensors(&arguments)?;
    let arguments: Vec<&Tensor> = arguments.iter().collect();
    let run = || {
        let given = forward.bind(py).call0().and_then(|given| given.extract::<Given<'_>>());
        let (results, kept, written) = given.map_err(carry)?;
        let forward = Forward::new(tensors(&results).map_err(carry)?).keep(tensors(&kept).map_err(carry)?);
        Ok(forward.write(tensors(&written).map_err(carry)?))
    };
    let held = Holder::new(py, formula)?;
    let formula = held.clone();
    let results =
        autograd::custom_with(name, &arguments, run, held, move |grads, kept| back(&formula, grads, kept));
    results.or_raise(py)?.into_iter().map(|result| tensor_object(py, result)).collect()
}

/// Runs `function(inputs)` so that its graph keeps `inputs` only, and runs it again in the backward pass; gives what the first run gives.
#[pyfunction]
pub(crate) fn _checkpoint(
    py: Python<'_>,
    function: Py<PyAny>,
    inputs: Vec<Bound<'_, PyAny>>,
    preserve_random: bool,
) -> PyResult<Option<Py<PyAny>>> {
    let inputs = tensors(&inputs)?;
    // Results of later runs have no place to go to, so that the graph does not keep its own results.
    let first = Arc::new(Mutex::new(None));
    let place = Arc::downgrade(&first);
    let held = Holder::new(py, function)?;
    let function = held.clone();
    let run = move |inputs: &[Tensor]| {
        collector::attached(|py| {
            let function = function.get(py).ok_or_else(collected).map_err(carry)?;
            let objects =
                inputs.iter().map(|input| tensor_object(py, input.clone())).collect::<PyResult<Vec<_>>>();
            let given = objects.and_then(|objects| function.call1((objects,))).map_err(carry)?;
            if let Some(place) = place.upgrade() {
                *place.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(DropAttached::new(given.unbind()));
            }
            Ok(Vec::new())
        })
    };
    autograd::checkpoint_with(held, run, &inputs, CheckpointOptions { preserve_random }).or_raise(py)?;
    let given = first.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(given.map(DropAttached::into_inner))
}

/// Has graphs on this thread keep `pack(tensor)`, from which `unpack` restores the tensor; gives how many such scopes are around it.
#[pyfunction]
pub(crate) fn _push_packing(pack: Py<PyAny>, unpack: Py<PyAny>) -> usize {
    let (pack, unpack) = (DropAttached::new(pack), DropAttached::new(unpack));
    PackSavedTensors::push(move |tensor| {
        collector::attached(|py| {
            let packed = tensor_object(py, tensor.clone()).and_then(|tensor| pack.bind(py).call1((tensor,)));
            // One object for both: what the graph holds alone is shown to the collector.
            let both = packed.and_then(|packed| PyTuple::new(py, [unpack.bind(py), &packed]));
            let held = both.and_then(|both| Holder::new(py, both.into_any().unbind())).map_err(carry)?;
            let both = held.clone();
            Ok(Packed::with_held(held, move || unpacked(&both)))
        })
    })
}

/// Ends the scopes of this thread inside of as many as `_push_packing` gave.
#[pyfunction]
pub(crate) fn _pop_packing(depth: usize) {
    PackSavedTensors::pop(depth);
}

/// Asks Python for the tensor that a graph keeps packed.
fn unpacked(both: &Holder) -> Result<Tensor> {
    collector::attached(|py| {
        let both = both.get(py).ok_or_else(collected).map_err(carry)?;
        let module = py.import("opgrid.autograd.graph").map_err(carry)?;
        let tensor = module.call_method1("_unpacked", (both,)).map_err(carry)?;
        Ok(expect_tensor(&tensor).map_err(carry)?.clone())
    })
}

/// Asks a formula in Python for gradients.
fn back(formula: &Holder, grads: Gradients<'_>, kept: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
    collector::attached(|py| {
        let object = |tensor: &Tensor| tensor_object(py, tensor.clone());
        let grads = grads.all().iter().map(|grad| grad.as_ref().map(object).transpose());
        let grads = grads.collect::<PyResult<Vec<_>>>().map_err(carry)?;
        let kept = kept.iter().map(object).collect::<PyResult<Vec<_>>>().map_err(carry)?;
        let formula = formula.get(py).ok_or_else(collected).map_err(carry)?;
        let given = formula.call1((grads, kept)).map_err(carry)?;
        let given = given.extract::<Vec<Option<Bound<'_, PyAny>>>>().map_err(carry)?;
        gradients(given).map_err(carry)
    })
}

/// The error of somebody who calls what the collector has taken away, because nobody could reach it.
#[cold]
fn collected() -> PyErr {
    PyRuntimeError::new_err(
        "the garbage collector has freed what this graph needs, because it was unreachable; compute \
         the result again",
    )
}

/// Calls a hook of a node with gradients.
fn called_with_all(hook: &Holder, grads: &[Option<Tensor>]) -> Result<Option<Vec<Option<Tensor>>>> {
    let called = |py: Python<'_>| -> PyResult<_> {
        let Some(hook) = hook.get(py) else { return Ok(None) };
        let objects =
            grads.iter().map(|grad| grad.as_ref().map(|grad| tensor_object(py, grad.clone())).transpose());
        let objects = PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)?;
        let given = hook.call1((objects,))?;
        if given.is_none() {
            return Ok(None);
        }
        gradients(given.extract::<Vec<Option<Bound<'_, PyAny>>>>()?).map(Some)
    };
    collector::attached(|py| called(py).map_err(carry))
}

fn optional(object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if object.is_none() {
        return Ok(None);
    }
    match tensor_of(object) {
        Some(tensor) => Ok(Some(tensor.clone())),
        None => {
            let found = object.get_type().name()?;
            Err(PyTypeError::new_err(format!("the hook returned {found}, expected a tensor or None")))
        }
    }
}

/// Gives an operator a derivative. `setup(inputs, results)` gives an object, tensors to keep, and how many results gradients
/// come from, if not from all. `formula(object, grads, kept)` gets that object and the gradients of the results, and gives one
/// gradient, or `None`, for each tensor among the inputs. The elements of lists stand one by one, in both.
#[pyfunction]
pub(crate) fn _register_derivative(
    py: Python<'_>,
    name: &str,
    setup: Py<PyAny>,
    formula: Py<PyAny>,
    at: At,
) -> PyResult<RegistrationObject> {
    let namespace = name.split_once("::").map_or("", |(namespace, _)| namespace);
    let mut library = dispatcher().or_raise(py)?.fragment(namespace);
    library.stands_at(place(&at));
    let (setup, formula) = (DropAttached::new(setup), Arc::new(DropAttached::new(formula)));
    let rule = Derivative::of_values(move |recorder, args| {
        let recorded = collector::attached(|py| -> PyResult<_> {
            let inputs = args.iter().map(|value| write::lent(py, *value)).collect::<PyResult<Vec<_>>>()?;
            let results = recorder.results().iter().map(|result| of_any(py, result.clone().into()));
            let results = results.collect::<PyResult<Vec<_>>>()?;
            let given = setup.bind(py).call1((PyTuple::new(py, inputs)?, results))?;
            let (object, kept, differentiable): (Py<PyAny>, Vec<Bound<'_, PyAny>>, Option<usize>) =
                given.extract()?;
            if let Some(count) = differentiable {
                recorder.differentiable(count);
            }
            Ok((Holder::new(py, object)?, tensors(&kept)?))
        });
        let (held, kept) = recorded.map_err(carry)?;
        let object = held.clone();
        let present = tensors_in(args);
        let formula = formula.clone();
        recorder.by_values_with(&present, &kept.iter().collect::<Vec<_>>(), held, move |grads, kept| {
            let given = collector::attached(|py| -> PyResult<Vec<Option<Tensor>>> {
                let tensor = |tensor: &Tensor| tensor_object(py, tensor.clone());
                let grads = grads.all().iter().map(|grad| grad.as_ref().map(tensor).transpose());
                let grads = grads.collect::<PyResult<Vec<_>>>()?;
                let kept = kept.iter().map(tensor).collect::<PyResult<Vec<_>>>()?;
                let object = object.get(py).ok_or_else(collected)?;
                let given = formula.bind(py).call1((object, grads, kept))?;
                gradients(given.extract::<Vec<Option<Bound<'_, PyAny>>>>()?)
            });
            given.map_err(carry)
        })
    });
    let _ = library.implement(name).column(rule);
    RegistrationObject::from_library(py, library)
}

/// The tensors among arguments, those of lists one by one.
fn tensors_in<'a>(args: &'a [ValueRef<'a>]) -> Vec<&'a Tensor> {
    let mut found = Vec::new();
    for value in args {
        match value.view() {
            ValueView::Tensor(tensor) => found.extend(Tensor::from_any_ref(tensor)),
            ValueView::Tensors(list) => found.extend(list.iter().filter_map(Tensor::from_any_ref)),
            ValueView::OptionalTensors(list) => {
                found.extend(list.iter().flatten().filter_map(Tensor::from_any_ref));
            }
            _ => {}
        }
    }
    // One that is not there is `None` in Python.
    found.retain(|tensor| tensor.is_defined());
    found
}

/// The key that marks tensors which gradients lead to.
#[pyfunction]
pub(crate) fn _requires_grad_key(py: Python<'_>) -> PyResult<crate::keys::Key> {
    opgrid::tensor::requires_grad_key().map(crate::keys::Key).or_raise(py)
}
