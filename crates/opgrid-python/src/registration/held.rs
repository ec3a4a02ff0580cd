//! A kernel that is held apart from the table, and called directly.

use opgrid::OperatorHandle;
use opgrid::dispatch::{HeldKernel, Returns, ValueRef};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{OrRaise, guarded, of_call};
use crate::keys::{Key, KeySet};
use crate::operators::call::results;
use crate::operators::packet::OpOverload;

/// The kernel that an operator's table had for a key. It is called only while its registration is there.
#[pyclass(name = "SafeKernelFunction", module = "opgrid", frozen)]
pub(crate) struct KernelFunction {
    held: HeldKernel,
    operator: Py<OpOverload>,
}

/// The kernel that the operator's table has for a key now.
#[pyfunction]
pub(crate) fn held_kernel(py: Python<'_>, operator: Py<OpOverload>, key: Key) -> PyResult<KernelFunction> {
    let held = operator.get().current(py)?.get().overload().handle.held_kernel(key.0).or_raise(py)?;
    Ok(KernelFunction { held, operator })
}

#[pymethods]
impl KernelFunction {
    /// Calls the kernel with these keys.
    #[pyo3(signature = (keys, /, *args, **kwargs))]
    fn call_boxed(
        &self,
        py: Python<'_>,
        keys: KeySet,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        guarded(py, || {
            self.operator.get().with_bound(py, args, kwargs, |_, values: &[ValueRef<'_>]| {
                let mut returns = Returns::new();
                match self.held.call_boxed(keys.0, values, &mut returns) {
                    Ok(()) => results(py, &mut returns),
                    Err(error) => Err(of_call(py, &error, self.handle(), values, Some(keys.0))),
                }
            })
        })
    }

    /// Whether the kernel's registration is still there.
    fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    #[getter]
    fn op(&self, py: Python<'_>) -> Py<OpOverload> {
        self.operator.clone_ref(py)
    }

    fn __repr__(&self) -> String {
        let info = self.held.info();
        format!("<SafeKernelFunction {} of {} at {}>", info.title(), self.handle().name(), info.place)
    }
}

impl KernelFunction {
    fn handle(&self) -> &OperatorHandle {
        self.held.operator()
    }
}
