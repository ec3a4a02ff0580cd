//! Levels of transforms for `opgrid.func`, which nests and unnests the arguments and results of functions.

use std::sync::atomic::{AtomicBool, Ordering};

use opgrid::layers::levels::Level;
use opgrid::layers::vmap::{Batch, Randomness, batched, unbatched};
use opgrid::{Result, Tensor, ops};
use opgrid_transforms::{Dual, Reverse, Vjp, install};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::OrRaise;
use crate::operators::candidates::dispatcher;
use crate::tensor::object::{expect_tensor, tensor_object};

/// A transform that a thread has entered.
#[pyclass(name = "Level", module = "opgrid", frozen)]
pub(crate) struct LevelObject(Level);

#[pymethods]
impl LevelObject {
    /// Leaves the transform, on the thread that entered it.
    fn leave(&self) {
        self.0.leave();
    }

    /// The tensor as one of the examples along its dimension `dim`.
    fn batched(&self, py: Python<'_>, tensor: &Bound<'_, PyAny>, dim: i64) -> PyResult<Py<PyAny>> {
        let tensor = expect_tensor(tensor)?;
        let moved = if dim == 0 { Ok(tensor.clone()) } else { ops::MovedimInt.call(tensor, dim, 0) };
        tensor_object(py, moved.and_then(|moved| batched(moved, &self.0)).or_raise(py)?)
    }

    /// All examples of a tensor, along dimension `dim`; of one that is the same for all only itself without a dimension.
    fn unbatched(&self, py: Python<'_>, tensor: &Bound<'_, PyAny>, dim: Option<i64>) -> PyResult<Py<PyAny>> {
        let tensor = expect_tensor(tensor)?;
        let Some(dim) = dim else {
            if self.0.behind(tensor).is_some() {
                return Err(PyValueError::new_err(
                    "vmap(): found None in out_dims for a result that differs from example to example; give its \
                     dimension",
                ));
            }
            return tensor_object(py, tensor.clone());
        };
        let whole = unbatched(tensor, &self.0);
        let moved = |whole: Tensor| if dim == 0 { Ok(whole) } else { ops::MovedimInt.call(&whole, 0, dim) };
        tensor_object(py, whole.and_then(moved).or_raise(py)?)
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

/// Registers the layers, once.
fn ensure_installed() -> Result<()> {
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

/// Enters a batch of so many examples on this thread.
#[pyfunction]
pub(crate) fn _enter_batch(py: Python<'_>, size: i64, randomness: &str) -> PyResult<LevelObject> {
    let randomness = match randomness {
        "same" => Randomness::Same,
        "different" => Randomness::Different,
        _ => Randomness::Refused,
    };
    ensure_installed().and_then(|()| Batch::push(size, randomness)).map(LevelObject).or_raise(py)
}

/// Enters a level on this thread whose calls are recorded.
#[pyfunction]
pub(crate) fn _enter_reverse(py: Python<'_>) -> PyResult<LevelObject> {
    ensure_installed().and_then(|()| Level::push(Reverse)).map(LevelObject).or_raise(py)
}

/// Enters a level on this thread whose tensors have tangents.
#[pyfunction]
pub(crate) fn _enter_forward(py: Python<'_>) -> PyResult<LevelObject> {
    ensure_installed().and_then(|()| Level::push(Dual)).map(LevelObject).or_raise(py)
}
