//! Sources of random numbers.

use opgrid::dispatch::value;
use opgrid::kernels::random::{self, Random};
use opgrid::{DType, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::names::DeviceObject;
use super::read;
use crate::errors::OrRaise;
use crate::tensor::object::{expect_tensor, tensor_object};

/// The seed of a generator that nobody has given one.
const SEED: u64 = 67_280_421_310_721;

/// A stream of random numbers of its own, for the `generator` argument of operators.
#[pyclass(name = "Generator", module = "opgrid", frozen)]
pub(crate) struct GeneratorObject(pub(crate) value::Generator);

#[pymethods]
impl GeneratorObject {
    #[new]
    #[pyo3(signature = (device=None))]
    fn new(device: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let named = device.map(read::device).transpose()?.flatten();
        let device = named.unwrap_or_default();
        if !opgrid::devices::is_available(device.kind()) {
            return Err(PyRuntimeError::new_err(format!(
                "found device {device}, expected the cpu or a device of a backend that is registered here"
            )));
        }
        opgrid::devices::generator(device, SEED)
            .map(Self)
            .map_err(|error| PyRuntimeError::new_err(error.message().to_owned()))
    }

    /// Begins the stream anew, from this seed, and gives the generator.
    fn manual_seed(slf: Bound<'_, Self>, seed: i64) -> PyResult<Bound<'_, Self>> {
        random::reseed(&slf.get().0, seed as u64).or_raise(slf.py())?;
        Ok(slf)
    }

    /// Begins the stream anew, from a seed that is another one each time, and gives that.
    fn seed(&self, py: Python<'_>) -> PyResult<u64> {
        random::seed(Some(&self.0)).or_raise(py)
    }

    /// The seed that the stream began with.
    fn initial_seed(&self, py: Python<'_>) -> PyResult<u64> {
        random::initial_seed(Some(&self.0)).or_raise(py)
    }

    /// Where the stream is, in the bytes that torch's generator has.
    fn get_state(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        state(py, Some(&self.0))
    }

    /// Puts the stream where another one was, or this one earlier, and gives the generator.
    fn set_state<'py>(slf: Bound<'py, Self>, new_state: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        set_state(new_state, Some(&slf.get().0))?;
        Ok(slf)
    }

    /// Another generator that is where this one is.
    fn clone_state(&self, py: Python<'_>) -> PyResult<Self> {
        let other = opgrid::devices::generator(self.0.device(), SEED).or_raise(py)?;
        random::set_state(Some(&other), random::state(Some(&self.0)).or_raise(py)?).or_raise(py)?;
        Ok(Self(other))
    }

    #[getter]
    fn device(&self) -> DeviceObject {
        DeviceObject(self.0.device())
    }

    fn __repr__(&self) -> String {
        format!("<opgrid.Generator on {}>", self.0.device())
    }
}

/// The stream that operators on the CPU draw from when no generator is given.
///
/// # Errors
///
/// None: the CPU has one.
#[pyfunction]
pub(crate) fn _default_generator(py: Python<'_>) -> PyResult<GeneratorObject> {
    opgrid::devices::default_generator(opgrid::Device::CPU).or_raise(py).map(GeneratorObject)
}

/// Where a stream, or the default one, is: a tensor of bytes.
///
/// # Errors
///
/// A generator that was not made here; no memory.
fn state(py: Python<'_>, generator: Option<&value::Generator>) -> PyResult<Py<PyAny>> {
    let bytes = random::state(generator).or_raise(py)?.to_bytes();
    tensor_object(py, Tensor::from_slice(&bytes, &[bytes.len()]).or_raise(py)?)
}

/// Puts a stream, or the default one, where the bytes of a tensor say.
///
/// # Errors
///
/// What is no tensor of bytes; bytes of no stream; a generator that was not made here.
fn set_state(state: &Bound<'_, PyAny>, generator: Option<&value::Generator>) -> PyResult<()> {
    let py = state.py();
    let tensor = expect_tensor(state)?;
    if tensor.dtype() != DType::U8 {
        return Err(PyTypeError::new_err(format!(
            "expected the state of a random stream as a tensor of uint8, found {}; pass what get_state() or get_rng_state() gave",
            tensor.dtype()
        )));
    }
    let stream = Random::from_bytes(&tensor.to_vec::<u8>().or_raise(py)?).or_raise(py)?;
    random::set_state(generator, stream).or_raise(py)
}

/// Starts the default streams of random numbers anew, of the CPU and of every device, from this seed, and gives that of the CPU.
///
/// # Errors
///
/// None: the CPU has a stream.
#[pyfunction]
pub(crate) fn manual_seed(py: Python<'_>, seed: i64) -> PyResult<GeneratorObject> {
    opgrid::manual_seed(seed as u64);
    _default_generator(py)
}

/// Starts the default stream of random numbers anew, from a seed that is another one each time, and gives that.
#[pyfunction]
pub(crate) fn seed(py: Python<'_>) -> PyResult<u64> {
    random::seed(None).or_raise(py)
}

/// The seed that the default stream of random numbers began with.
#[pyfunction]
pub(crate) fn initial_seed(py: Python<'_>) -> PyResult<u64> {
    random::initial_seed(None).or_raise(py)
}

/// Where the default stream of random numbers is, in the bytes that torch's generator has.
#[pyfunction]
pub(crate) fn get_rng_state(py: Python<'_>) -> PyResult<Py<PyAny>> {
    state(py, None)
}

/// Puts the default stream of random numbers where it, or another one, was.
#[pyfunction]
pub(crate) fn set_rng_state(new_state: &Bound<'_, PyAny>) -> PyResult<()> {
    set_state(new_state, None)
}
