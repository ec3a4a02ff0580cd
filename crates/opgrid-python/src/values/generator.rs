//! Sources of random numbers.

use opgrid::kernels::random;
use pyo3::prelude::*;

/// A stream of random numbers of its own, for the `generator` argument of operators.
#[pyclass(name = "Generator", module = "opgrid", frozen)]
pub(crate) struct GeneratorObject(pub(crate) opgrid::value::Generator);

#[pymethods]
impl GeneratorObject {
    #[new]
    #[pyo3(signature = (seed=0))]
    fn new(seed: u64) -> Self {
        Self(random::generator(seed))
    }

    #[getter]
    fn device(&self) -> crate::values::names::DeviceObject {
        crate::values::names::DeviceObject(self.0.device())
    }

    fn __repr__(&self) -> String {
        format!("<opgrid.Generator on {}>", self.0.device())
    }
}

/// Starts the default stream of random numbers anew, from this seed.
#[pyfunction]
pub(crate) fn manual_seed(seed: i64) {
    random::manual_seed(seed as u64);
}
