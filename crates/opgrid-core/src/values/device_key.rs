//! The keys of tensors: from dtype, layout and device to the key of the data, to the set a tensor carries, and back.

use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::named::{autocast_related, autograd_related};
use crate::keys::parts::{BackendComponent, Functionality};
use crate::keys::set::DispatchKeySet;
use crate::values::device::{Device, DeviceType};
use crate::values::dtype::DType;
use crate::values::layout::Layout;

/// The device types with a backend component that has keys for dense, quantised and sparse data.
const BACKEND_DEVICES: [(DeviceType, BackendComponent); 13] = [
    (DeviceType::Cpu, BackendComponent::Cpu),
    (DeviceType::Cuda, BackendComponent::Cuda),
    (DeviceType::Hip, BackendComponent::Hip),
    (DeviceType::Xla, BackendComponent::Xla),
    (DeviceType::Mps, BackendComponent::Mps),
    (DeviceType::Ipu, BackendComponent::Ipu),
    (DeviceType::Xpu, BackendComponent::Xpu),
    (DeviceType::Hpu, BackendComponent::Hpu),
    (DeviceType::Ve, BackendComponent::Ve),
    (DeviceType::Lazy, BackendComponent::Lazy),
    (DeviceType::Mtia, BackendComponent::Mtia),
    (DeviceType::PrivateUse1, BackendComponent::PrivateUse1),
    (DeviceType::Meta, BackendComponent::Meta),
];

/// The device types whose dense data has one key whatever its dtype, and that have no other data.
const WHOLE_DEVICES: [(DeviceType, DispatchKey); 4] = [
    (DeviceType::Fpga, DispatchKey::Fpga),
    (DeviceType::Maia, DispatchKey::Maia),
    (DeviceType::Vulkan, DispatchKey::Vulkan),
    (DeviceType::Metal, DispatchKey::Metal),
];

/// The backend with keys for dense, quantised and sparse data on that type of device; users' backends have them all.
fn backend_of(device: DeviceType) -> Option<BackendComponent> {
    let built_in = BACKEND_DEVICES.iter().find(|row| row.0 == device).map(|row| row.1);
    built_in.or_else(|| device.user_backend())
}

impl DeviceType {
    /// The backend whose tensors live there; none for types of device that are no backend, such as `vulkan`.
    pub fn backend(self) -> Option<BackendComponent> {
        if self == Self::Maia { Some(BackendComponent::Maia) } else { backend_of(self) }
    }
}

impl BackendComponent {
    /// The type of device on which the backend's tensors live; none for `PrivateUse2` and `PrivateUse3`.
    pub fn device_type(self) -> Option<DeviceType> {
        if self == Self::Maia {
            return Some(DeviceType::Maia);
        }
        let built_in = BACKEND_DEVICES.iter().find(|row| row.1 == self).map(|row| row.0);
        built_in.or_else(|| DeviceType::of_user(self))
    }
}

/// The key of the data of a tensor with that dtype, layout and device.
///
/// What is not given is `float32`, strided and on the CPU. Only dense data has keys of its own for quantised
/// dtypes.
///
/// # Errors
///
/// [`ErrorKind::NotImplemented`] where there is no key for such data.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Device, DispatchKey, DType, Layout, compute_dispatch_key};
///
/// let cuda: Device = "cuda:1".parse()?;
/// assert_eq!(compute_dispatch_key(None, None, Some(cuda))?, DispatchKey::Cuda);
/// assert_eq!(compute_dispatch_key(None, Some(Layout::SparseCoo), None)?, DispatchKey::SparseCpu);
/// assert_eq!(compute_dispatch_key(Some(DType::QInt8), None, None)?, DispatchKey::QuantizedCpu);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[inline]
pub fn compute_dispatch_key(
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
) -> Result<DispatchKey> {
    // What most tensors are.
    let (kind, layout) = (device.unwrap_or_default().kind(), layout.unwrap_or_default());
    if kind == DeviceType::Cpu && layout == Layout::Strided && !dtype.is_some_and(DType::is_quantized) {
        return Ok(DispatchKey::Cpu);
    }
    key_of(dtype, layout, kind)
}

/// The key of the data of any tensor.
#[inline(never)]
fn key_of(dtype: Option<DType>, layout: Layout, device: DeviceType) -> Result<DispatchKey> {
    let sparse = |functionality, layout| match backend_of(device) {
        Some(backend) => Ok(DispatchKey::runtime(functionality, backend)),
        None => Err(unsupported(layout, device, backend_devices())),
    };
    match layout {
        Layout::Strided | Layout::Jagged => dense_key(dtype.unwrap_or(DType::F32), device),
        Layout::SparseCoo => sparse(Functionality::Sparse, "sparse"),
        layout @ (Layout::SparseCsr | Layout::SparseCsc | Layout::SparseBsr | Layout::SparseBsc) => {
            sparse(Functionality::SparseCsr, layout.name())
        }
        Layout::Mkldnn if device == DeviceType::Cpu => Ok(DispatchKey::MkldnnCpu),
        Layout::Mkldnn => Err(unsupported("mkldnn", device, std::iter::once(DeviceType::Cpu))),
    }
}

/// The key of strided or jagged data.
fn dense_key(dtype: DType, device: DeviceType) -> Result<DispatchKey> {
    if let Some(backend) = backend_of(device) {
        let functionality =
            if dtype.is_quantized() { Functionality::Quantized } else { Functionality::Dense };
        return Ok(DispatchKey::runtime(functionality, backend));
    }
    if let Some(row) = WHOLE_DEVICES.iter().find(|row| row.0 == device) {
        return Ok(row.1);
    }
    if device == DeviceType::Mkldnn {
        let message = "the mkldnn device is deprecated for dense tensors, use layout `_mkldnn` on the cpu";
        return Err(Error::new(ErrorKind::NotImplemented, message));
    }
    let whole = WHOLE_DEVICES.iter().map(|row| row.0);
    Err(unsupported("dense", device, backend_devices().chain(whole)))
}

fn backend_devices() -> impl Iterator<Item = DeviceType> {
    DeviceType::all().filter(|device| backend_of(*device).is_some())
}

#[cold]
fn unsupported(layout: &str, device: DeviceType, expected: impl Iterator<Item = DeviceType>) -> Error {
    let expected: Vec<_> = expected.map(DeviceType::name).collect();
    let expected = expected.join(", ");
    let message =
        format!("unsupported device type for {layout} layout: {device}, expected one of {expected}");
    Error::new(ErrorKind::NotImplemented, message)
}

/// The key for which a registration for a type of device is made.
///
/// # Errors
///
/// [`ErrorKind::Unknown`] where kernels cannot be registered by that type of device.
pub fn device_key(device: DeviceType) -> Result<DispatchKey> {
    let backend = device.backend().filter(|_| device != DeviceType::Ve);
    backend.map(BackendComponent::key).ok_or_else(|| {
        let message = format!(
            "device type {device} cannot be overloaded at dispatch time, register for a dispatch key"
        );
        Error::new(ErrorKind::Unknown, message)
    })
}

/// The layout and the type of device of tensors with that key: the reverse of [`compute_dispatch_key`].
///
/// # Errors
///
/// [`ErrorKind::Unknown`] where several layouts share the key, or where it belongs to no type of device.
pub fn key_to_options(key: DispatchKey) -> Result<(Layout, DeviceType)> {
    Ok((layout_of(key)?, device_of(key)?))
}

fn layout_of(key: DispatchKey) -> Result<Layout> {
    match (key.functionality(), key.backend()) {
        (Functionality::Sparse, Some(_)) => Ok(Layout::SparseCoo),
        (Functionality::SparseCsr, Some(_)) => {
            let message = format!(
                "dispatch key {key} doesn't have a unique layout, expected a layout to be given: \
                 sparse_csr, sparse_csc, sparse_bsr or sparse_bsc"
            );
            Err(Error::new(ErrorKind::Unknown, message))
        }
        (Functionality::MkldnnCpu, _) => Ok(Layout::Mkldnn),
        _ => Ok(Layout::Strided),
    }
}

fn device_of(key: DispatchKey) -> Result<DeviceType> {
    let device = match (key, key.backend()) {
        (DispatchKey::MkldnnCpu, _) => Some(DeviceType::Cpu),
        (DispatchKey::Vulkan, _) => Some(DeviceType::Vulkan),
        (_, Some(backend)) => backend.device_type(),
        _ => None,
    };
    device.ok_or_else(|| {
        let message =
            format!("dispatch key {key} doesn't correspond to a device, expected the key of a backend");
        Error::new(ErrorKind::Unknown, message)
    })
}

/// What a newly made tensor carries whose data has that key: the key, `ADInplaceOrView`, and the autograd and
/// autocast keys of its backend. For `Undefined` it is what an undefined tensor carries.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, tensor_key_set};
///
/// let keys = tensor_key_set(DispatchKey::Cpu);
/// assert_eq!(keys.to_string(), "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)");
/// ```
pub fn tensor_key_set(key: DispatchKey) -> DispatchKeySet {
    inference_tensor_key_set(key) | autograd_related(key.backend())
}

/// What a tensor carries that was made in inference mode, without autograd: the key of its data and the autocast
/// key of its backend.
pub fn inference_tensor_key_set(key: DispatchKey) -> DispatchKeySet {
    key.key_set() | autocast_related(key.backend())
}
