//! Devices: how many there are, which one is the current one, and where new tensors are.

use opgrid::{Device, devices};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::exchange::foreign;
use crate::values::names::DeviceObject;
use crate::values::{default_device, read};

/// The device that an argument names.
///
/// # Errors
///
/// Anything else, as a `TypeError`; a text that names none.
fn expect(object: &Bound<'_, PyAny>) -> PyResult<Device> {
    read::device(object)?.ok_or_else(|| {
        let class = foreign::class_name(object);
        PyTypeError::new_err(format!("expected a device or its name, found an object of class {class}"))
    })
}

/// Sets the device of new tensors on this thread where a call names none and no block of a device is open; `None` for the CPU.
///
/// # Errors
///
/// What names no device.
#[pyfunction]
#[pyo3(signature = (device, /))]
pub(crate) fn set_default_device(device: &Bound<'_, PyAny>) -> PyResult<()> {
    default_device::set(if device.is_none() { None } else { Some(expect(device)?) });
    Ok(())
}

/// The device of new tensors on this thread where a call names none.
#[pyfunction]
pub(crate) fn get_default_device() -> DeviceObject {
    DeviceObject(default_device::chosen().unwrap_or(Device::CPU))
}

/// How many devices of a type the registered backends have.
///
/// # Errors
///
/// What names no device.
#[pyfunction]
pub(crate) fn _device_count(device: &Bound<'_, PyAny>) -> PyResult<usize> {
    let named = expect(device)?;
    Ok(devices::count(named.kind()))
}

/// The current device of a type on this thread.
///
/// # Errors
///
/// There is none of that type.
#[pyfunction]
pub(crate) fn _current_device(py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<DeviceObject> {
    let named = expect(device)?;
    devices::current(named.kind()).or_raise(py).map(DeviceObject)
}

/// Makes a device the current one of its type on this thread; the one before.
///
/// # Errors
///
/// There is no such device.
#[pyfunction]
pub(crate) fn _set_current_device(py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<DeviceObject> {
    let named = expect(device)?;
    devices::set_current(named).or_raise(py).map(DeviceObject)
}

/// Waits for all work on a device.
///
/// # Errors
///
/// There is no such device; those of work that has failed.
#[pyfunction]
pub(crate) fn _synchronize(py: Python<'_>, device: &Bound<'_, PyAny>) -> PyResult<()> {
    let named = expect(device)?;
    crate::collector::detached(py, || devices::synchronize(named)).or_raise(py)
}
