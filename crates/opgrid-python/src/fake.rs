//! Fake tensors: the layer that Python enters, and what it counts.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use opgrid::layers::fake::{self, Entry, FakeMemory};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::tensor::attributes::own;
use crate::tensor::object::{TensorBase, tensor_object};
use crate::values::names::DeviceObject;
use crate::values::read;

/// The memory that tensors of fake devices would take, and the blocks in which threads count with it.
#[pyclass(name = "FakeMemory", module = "opgrid", frozen)]
pub(crate) struct FakeMemoryObject {
    memory: Arc<FakeMemory>,
    /// The share of elements that masks select.
    density: Option<f64>,
    entries: Mutex<Vec<(ThreadId, Entry)>>,
}

#[pymethods]
impl FakeMemoryObject {
    #[new]
    #[pyo3(signature = (density=None))]
    fn new(density: Option<f64>) -> Self {
        Self { memory: Arc::default(), density, entries: Mutex::default() }
    }

    /// Has tensors that this thread makes lie on fake devices.
    fn enter(&self, py: Python<'_>) -> PyResult<()> {
        let entry = fake::push(self.memory.clone(), self.density).or_raise(py)?;
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push((thread::current().id(), entry));
        Ok(())
    }

    /// Ends what this thread has entered last.
    fn leave(&self) -> PyResult<()> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let own = entries.iter().rposition(|(thread, _)| *thread == thread::current().id());
        match own.map(|place| entries.remove(place)) {
            Some((_, entry)) => {
                entry.leave();
                Ok(())
            }
            None => Err(PyRuntimeError::new_err(
                "FakeTensorMode was not entered on this thread; use modes in `with` statements",
            )),
        }
    }

    /// Says how many bytes tensors of a device may take at once.
    fn limit(&self, device: &Bound<'_, PyAny>, bytes: usize) -> PyResult<()> {
        self.memory.limit(named(device)?.0, bytes);
        Ok(())
    }

    /// The bytes that tensors of a device take, and the most that they took at once.
    fn usage(&self, device: &Bound<'_, PyAny>) -> PyResult<(usize, usize)> {
        let usage = self.memory.usage(named(device)?.0);
        Ok((usage.bytes, usage.peak))
    }

    /// Counts the most from here on.
    fn restart_peak(&self, device: &Bound<'_, PyAny>) -> PyResult<()> {
        self.memory.restart_peak(named(device)?.0);
        Ok(())
    }

    /// The devices of which there were tensors, or that have a limit.
    fn devices(&self) -> Vec<DeviceObject> {
        self.memory.devices().into_iter().map(|device| DeviceObject(device.real())).collect()
    }

    /// A tensor like another one without its data, which counts here.
    fn like(
        &self,
        py: Python<'_>,
        tensor: &Bound<'_, TensorBase>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let device = device.map(named).transpose()?;
        let made =
            self.memory.within(|| fake::like(own(tensor)?, device.map(|device| device.0)).or_raise(py));
        tensor_object(py, made?)
    }
}

fn named(device: &Bound<'_, PyAny>) -> PyResult<DeviceObject> {
    read::device(device)?
        .map(DeviceObject)
        .ok_or_else(|| PyTypeError::new_err(format!("expected a device, found {device}")))
}

/// Whether a tensor has no data, and passes for one that has.
#[pyfunction]
pub(crate) fn _is_fake(tensor: &Bound<'_, TensorBase>) -> PyResult<bool> {
    Ok(own(tensor)?.device().is_fake())
}

/// The bytes that tensors take: those of fake devices where this thread counts them, else those of the CPU.
#[pyfunction]
pub(crate) fn _memory_in_use() -> usize {
    match fake::memory() {
        Some(memory) => memory.devices().into_iter().map(|device| memory.usage(device).bytes).sum(),
        None => opgrid::array::cache_statistics().live_bytes,
    }
}
