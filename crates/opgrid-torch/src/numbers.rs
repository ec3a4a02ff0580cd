//! torch's numbers of dtypes and devices.

use opgrid::dispatch::DeviceType;
use opgrid::{DType, Device, Error, ErrorKind, Result};

/// The dtype of torch's number.
///
/// # Errors
///
/// A dtype that we do not have.
pub(crate) fn dtype_of(number: i32) -> Result<DType> {
    // Most tensors are of these.
    match number {
        6 => Ok(DType::F32),
        7 => Ok(DType::F64),
        4 => Ok(DType::I64),
        _ => DType::from_number(number.into()).ok_or_else(|| {
            let message = format!(
                "found a dtype of torch (number {number}) that opgrid does not have; convert the tensor first"
            );
            Error::new(ErrorKind::Value, message)
        }),
    }
}

/// The device of torch's numbers.
///
/// # Errors
///
/// A kind of device that we do not have.
pub(crate) fn device_of(kind: i32, index: i32) -> Result<Device> {
    let kind = usize::try_from(kind).ok().and_then(|number| DeviceType::all().take(BUILT_IN).nth(number));
    let kind =
        kind.ok_or_else(|| Error::new(ErrorKind::Value, "found a kind of device that opgrid does not have"))?;
    match usize::try_from(index) {
        Ok(index) => Device::numbered(kind, index),
        Err(_) => Ok(Device::from_type(kind)),
    }
}

/// How many kinds of devices have torch's numbers; users' backends come behind them.
const BUILT_IN: usize = 21;

/// torch's number of a kind of device.
///
/// # Errors
///
/// The device of a user's backend.
pub(crate) fn device_number(device: Device) -> Result<i32> {
    let place = DeviceType::all().take(BUILT_IN).position(|kind| kind == device.kind());
    place.map(|place| place as i32).ok_or_else(|| {
        Error::new(
            ErrorKind::Value,
            format!("torch has no device {device}; copy the tensor to the cpu first"),
        )
    })
}
