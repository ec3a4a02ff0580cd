//! Levels of transforms for `opgrid.func`, which nests and unnests the arguments and results of functions.

use std::sync::atomic::{AtomicBool, Ordering};

use opgrid::dispatch::{List, TensorType, Value, ValueView};
use opgrid::layers::functional::{self, Functional, Kept};
use opgrid::layers::levels::{self, Level, Leveled, each_tensor, map_tensors};
use opgrid::layers::vmap::{Batch, BatchedCall, BatchingRule, Randomness};
use opgrid::{Result, Tensor};
use opgrid_transforms::{Dual, Reverse, Vjp, install, wrap_inputs};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::collector;
use crate::drop_attached::DropAttached;
use crate::errors::{OrRaise, carry};
use crate::operators::candidates::dispatcher;
use crate::registration::registrations::{At, RegistrationObject, place};
use crate::tensor::object::{expect_tensor, tensor_object};
use crate::values::write;

/// What is behind a tensor at the innermost transform, or at all of them with `recurse`; the tensor where it is of none.
#[pyfunction]
pub(crate) fn _unwrapped(py: Python<'_>, tensor: &Bound<'_, PyAny>, recurse: bool) -> PyResult<Py<PyAny>> {
    let tensor = expect_tensor(tensor)?;
    let inner = if recurse {
        levels::plain(tensor)
    } else {
        tensor.wrapper::<Leveled>().map_or(tensor, Leveled::inner)
    };
    tensor_object(py, inner.clone())
}

/// A transform that a thread has entered.
#[pyclass(name = "Level", module = "opgrid", frozen)]
pub(crate) struct LevelObject(Level);

#[pymethods]
impl LevelObject {
    /// Leaves the transform, on the thread that entered it.
    fn leave(&self) {
        self.0.leave();
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyTuple>) {
        self.leave();
    }

    /// The tensor as a variable of the level.
    fn variable(&self, py: Python<'_>, tensor: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        tensor_object(py, Reverse::variable(expect_tensor(tensor)?, &self.0).or_raise(py)?)
    }

    /// The tensor with a tangent.
    fn dual(
        &self,
        py: Python<'_>,
        primal: &Bound<'_, PyAny>,
        tangent: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        tensor_object(py, Dual::wrap(expect_tensor(primal)?, expect_tensor(tangent)?, &self.0).or_raise(py)?)
    }

    /// What a tensor stands for outside of the level.
    fn inner(&self, py: Python<'_>, tensor: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        tensor_object(py, self.0.inner_of(expect_tensor(tensor)?))
    }

    /// The tangent of a tensor, if it has one.
    fn tangent(&self, py: Python<'_>, tensor: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
        let tensor = expect_tensor(tensor)?;
        let tangent = self.0.behind(tensor).and_then(|dual| dual.more());
        tangent.map(|tangent| tensor_object(py, tangent.clone())).transpose()
    }

    /// The tensors as ones of a level without writes.
    fn functional(&self, py: Python<'_>, inputs: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Py<PyAny>>> {
        let inputs = inputs.iter().map(|input| expect_tensor(input)).collect::<PyResult<Vec<_>>>()?;
        let wrapped = wrap_inputs(&inputs, &self.0).or_raise(py)?;
        wrapped.into_iter().map(|tensor| tensor_object(py, tensor)).collect()
    }

    /// The value of a tensor of a level without writes, and whether its memory was written.
    fn value(&self, py: Python<'_>, tensor: &Bound<'_, PyAny>) -> PyResult<(Py<PyAny>, bool)> {
        let (value, is_written) = functional::value(expect_tensor(tensor)?, &self.0).or_raise(py)?;
        Ok((tensor_object(py, value)?, is_written))
    }

    /// What multiplies vectors with the Jacobian of results by variables.
    fn vjp(&self, inputs: Vec<Bound<'_, PyAny>>, results: Vec<Bound<'_, PyAny>>) -> PyResult<VjpObject> {
        let tensors = |all: &[Bound<'_, PyAny>]| -> PyResult<Vec<Tensor>> {
            all.iter().map(|tensor| Ok(expect_tensor(tensor)?.clone())).collect()
        };
        Ok(VjpObject(Vjp::new(self.0.clone(), tensors(&inputs)?, tensors(&results)?)))
    }
}

/// Products of vectors with a Jacobian.
#[pyclass(name = "Vjp", module = "opgrid", frozen)]
pub(crate) struct VjpObject(Vjp);

#[pymethods]
impl VjpObject {
    fn __call__(&self, py: Python<'_>, gradients: Vec<Bound<'_, PyAny>>) -> PyResult<Py<PyTuple>> {
        let gradients = gradients.iter().map(|grad| Ok(Some(expect_tensor(grad)?.clone())));
        let gradients = gradients.collect::<PyResult<Vec<_>>>()?;
        let found = py.detach(|| self.0.call(&gradients)).or_raise(py)?;
        let found = found.into_iter().map(|grad| tensor_object(py, grad)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, found)?.unbind())
    }
}

/// Has a function in Python do all examples of a batch at once: `rule(size, randomness, in_dims, args)` gives `(result, is_batched)` of
/// each result, with the examples along dimension 0.
#[pyfunction]
pub(crate) fn _register_batching(
    py: Python<'_>,
    name: &str,
    rule: Py<PyAny>,
    at: At,
) -> PyResult<RegistrationObject> {
    let namespace = name.split_once("::").map_or("", |(namespace, _)| namespace);
    let mut library = dispatcher().or_raise(py)?.fragment(namespace);
    library.stands_at(place(&at));
    let rule = DropAttached::new(rule);
    let rule = BatchingRule::new(move |call| {
        let results = collector::attached(|py| batch_in_python(py, &rule, call)).map_err(carry)?;
        results.into_iter().try_for_each(|(result, is_batched)| {
            if is_batched {
                return call.push(result);
            }
            call.push_same(result);
            Ok(())
        })
    });
    let _ = library.implement(name).column(rule);
    RegistrationObject::from_library(py, library)
}

/// The results of a rule in Python, and whether each has the examples along its dimension 0.
fn batch_in_python(
    py: Python<'_>,
    rule: &Py<PyAny>,
    call: &BatchedCall<'_, '_>,
) -> PyResult<Vec<(Value, bool)>> {
    let level = call.level();
    let randomness = match level.transform_as::<Batch>().map(Batch::randomness) {
        Some(Randomness::Same) => "same",
        Some(Randomness::Different) => "different",
        _ => "error",
    };
    let (mut args, mut in_dims) = (Vec::new(), Vec::new());
    for value in call.args() {
        let mut dims = Vec::new();
        each_tensor(&[*value], &mut |tensor| dims.push(level.behind(tensor).map(|_| 0)));
        let plain = map_tensors(*value, &mut |tensor| Ok(level.inner_of(tensor))).or_raise(py)?;
        args.push(write::lent(py, plain.borrow())?);
        in_dims.push(match value.view() {
            ValueView::Tensor(_) => dims.first().copied().flatten().into_pyobject(py)?.into_any(),
            ValueView::Tensors(_) => dims.into_pyobject(py)?,
            _ => py.None().into_bound(py),
        });
    }
    let (args, in_dims) = (PyTuple::new(py, args)?, PyTuple::new(py, in_dims)?);
    let results = rule.bind(py).call1((call.size(), randomness, in_dims, args))?;
    results
        .try_iter()?
        .map(|result| {
            let (result, is_batched): (Bound<'_, PyAny>, bool) = result?.extract()?;
            if let Ok(tensor) = expect_tensor(&result) {
                return Ok((tensor.clone().into(), is_batched));
            }
            let list = result.try_iter()?.map(|item| Ok(expect_tensor(&item?)?.clone().into_any()));
            Ok((List::Tensors(list.collect::<PyResult<_>>()?).into(), is_batched))
        })
        .collect()
}

/// Registers the layers, once.
pub(crate) fn ensure_installed() -> Result<()> {
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    // No lock: who hears of registrations may be in Python, and other threads would wait for it with the interpreter's lock.
    if IS_INSTALLED.swap(true, Ordering::AcqRel) {
        return Ok(());
    }
    match dispatcher().and_then(install) {
        Ok(registration) => {
            registration.keep();
            Ok(())
        }
        Err(error) => {
            IS_INSTALLED.store(false, Ordering::Release);
            Err(error)
        }
    }
}

/// Enters a level on this thread whose calls are recorded.
#[pyfunction]
pub(crate) fn _enter_reverse(py: Python<'_>) -> PyResult<LevelObject> {
    ensure_installed().and_then(|()| Level::push(Reverse)).map(LevelObject).or_raise(py)
}

/// Enters a level on this thread whose writes become results.
#[pyfunction]
pub(crate) fn _enter_functional(py: Python<'_>, keeps_views: bool) -> PyResult<LevelObject> {
    let kept = if keeps_views { Kept::Views } else { Kept::Nothing };
    ensure_installed().and_then(|()| Functional::push(kept)).map(LevelObject).or_raise(py)
}

/// The innermost level of forward mode at which one of the objects is a tensor with a tangent.
#[pyfunction]
pub(crate) fn _forward_level(objects: Vec<Bound<'_, PyAny>>) -> Option<LevelObject> {
    let level_of = |object: &Bound<'_, PyAny>| {
        let tensor = expect_tensor(object).ok()?.wrapper::<Leveled>()?;
        let has_tangent = tensor.more().is_some() && tensor.level().transform_as::<Dual>().is_some();
        has_tangent.then(|| tensor.level().clone())
    };
    let levels = objects.iter().filter_map(level_of);
    levels.reduce(|one, other| if one.is_around(&other) { other } else { one }).map(LevelObject)
}

/// Enters a level on this thread whose tensors have tangents.
#[pyfunction]
pub(crate) fn _enter_forward(py: Python<'_>) -> PyResult<LevelObject> {
    ensure_installed().and_then(|()| Level::push(Dual)).map(LevelObject).or_raise(py)
}
