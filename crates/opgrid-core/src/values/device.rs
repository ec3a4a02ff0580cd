//! Where a tensor lives: a kind of device and, optionally, which one of that kind.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::keys::parts::BackendComponent;
use crate::keys::user_keys;

/// A kind of device: torch's, or that of a backend allocated at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceType(u8);

/// The built-in kinds in the order of torch's numbers.
const NAMES: [&str; 21] = [
    "cpu",
    "cuda",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "fpga",
    "maia",
    "xla",
    "vulkan",
    "metal",
    "xpu",
    "mps",
    "meta",
    "hpu",
    "ve",
    "lazy",
    "ipu",
    "mtia",
    "privateuseone",
];

/// The number of the first user's backend, by its position, away from what torch may add to its own.
const OF_USERS: u8 = 128;

#[allow(non_upper_case_globals, missing_docs)]
impl DeviceType {
    pub const Cpu: Self = Self(0);
    pub const Cuda: Self = Self(1);
    pub const Mkldnn: Self = Self(2);
    pub const OpenGl: Self = Self(3);
    pub const OpenCl: Self = Self(4);
    pub const Ideep: Self = Self(5);
    pub const Hip: Self = Self(6);
    pub const Fpga: Self = Self(7);
    pub const Maia: Self = Self(8);
    pub const Xla: Self = Self(9);
    pub const Vulkan: Self = Self(10);
    pub const Metal: Self = Self(11);
    pub const Xpu: Self = Self(12);
    pub const Mps: Self = Self(13);
    pub const Meta: Self = Self(14);
    pub const Hpu: Self = Self(15);
    pub const Ve: Self = Self(16);
    pub const Lazy: Self = Self(17);
    pub const Ipu: Self = Self(18);
    pub const Mtia: Self = Self(19);
    pub const PrivateUse1: Self = Self(20);
}

impl DeviceType {
    /// Every kind of device, in the order of torch's numbers; those of users' backends come last.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..NAMES.len() as u8).map(Self).chain(BackendComponent::all().filter_map(Self::of_user))
    }

    /// The kind of device of a user's backend.
    pub(crate) fn of_user(backend: BackendComponent) -> Option<Self> {
        user_keys::device_name(backend).map(|_| Self(OF_USERS + backend.position() as u8))
    }

    /// The user's backend whose kind of device it is.
    pub(crate) fn user_backend(self) -> Option<BackendComponent> {
        BackendComponent::at(u32::from(self.0.checked_sub(OF_USERS)?))
    }

    /// The number by which code of other languages knows the kind: torch's, or from 128 on that of a user's backend, which
    /// stays the same as long as the process runs.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The kind of that [`number`](Self::number), if there is one.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::all().find(|kind| kind.0 == number)
    }

    /// The name, as in `cuda`.
    pub fn name(self) -> &'static str {
        let of_user = || self.user_backend().and_then(user_keys::device_name);
        NAMES.get(usize::from(self.0)).copied().or_else(of_user).unwrap_or("unknown")
    }
}

impl fmt::Display for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DeviceType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::all().find(|kind| kind.name() == text).ok_or_else(|| {
            let expected = Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
            Error::new(
                ErrorKind::Unknown,
                format!("expected one of {expected} device type at start of device string: {text}"),
            )
        })
    }
}

/// A device: its kind and, optionally, which one of that kind.
///
/// A [fake](Self::fake) device is the meta device that passes for another one: it prints as that, and its tensors have no data.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Device, DeviceType};
///
/// let device: Device = "cuda:1".parse()?;
/// assert_eq!(device.kind(), DeviceType::Cuda);
/// assert_eq!(device.index(), Some(1));
/// assert_eq!(device.to_string(), "cuda:1");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device {
    kind: DeviceType,
    /// −1 stands for "the current one".
    index: i8,
    /// The kind that it prints as: another one than `kind` for fake devices, whose kind is meta.
    shown: DeviceType,
}

impl Device {
    /// The CPU, the default.
    pub const CPU: Self = Self::from_type(DeviceType::Cpu);
    /// The device whose tensors have shapes and dtypes but no data.
    pub const META: Self = Self::from_type(DeviceType::Meta);

    /// The current device of that kind.
    pub const fn from_type(kind: DeviceType) -> Self {
        Self { kind, index: -1, shown: kind }
    }

    /// Device number `index` of that kind.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`] where `index` is above 127.
    pub fn numbered(kind: DeviceType, index: usize) -> Result<Self> {
        let index = i8::try_from(index).map_err(|_| {
            Error::new(
                ErrorKind::Argument,
                format!("device index {index} of `{kind}` is too large, at most 127"),
            )
        })?;
        Ok(Self { kind, index, shown: kind })
    }

    /// The kind of device; meta for fake ones.
    #[inline]
    pub const fn kind(self) -> DeviceType {
        self.kind
    }

    /// The device without data that passes for this one, to find out what a program would do on it. Kinds of which there may be
    /// several devices get number 0 where the device names none; the meta device is its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{Device, DeviceType};
    ///
    /// let cuda: Device = "cuda:0".parse()?;
    /// let fake = Device::from_type(DeviceType::Cuda).fake();
    /// assert_eq!((fake.to_string(), fake.kind()), ("cuda:0".to_owned(), DeviceType::Meta));
    /// assert!(fake.is_fake() && fake != cuda && fake.real() == cuda);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    #[must_use]
    pub const fn fake(self) -> Self {
        let has_no_number = self.index < 0 && !matches!(self.shown, DeviceType::Cpu | DeviceType::Meta);
        let index = if has_no_number { 0 } else { self.index };
        Self { kind: DeviceType::Meta, index, shown: self.shown }
    }

    /// The device that a fake one passes for; any other is itself.
    #[must_use]
    pub const fn real(self) -> Self {
        Self { kind: self.shown, ..self }
    }

    /// Whether tensors there have no data: on the meta device, fake or not.
    #[inline]
    pub const fn is_meta(self) -> bool {
        self.kind.0 == DeviceType::Meta.0
    }

    /// Whether it is the meta device that passes for another one.
    #[inline]
    pub const fn is_fake(self) -> bool {
        self.kind.0 != self.shown.0
    }

    /// Which one of that kind, if the device says so.
    #[inline]
    pub fn index(self) -> Option<usize> {
        usize::try_from(self.index).ok()
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::CPU
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index() {
            None => f.write_str(self.shown.name()),
            Some(index) => write!(f, "{}:{index}", self.shown),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fake = if self.is_fake() { "fake " } else { "" };
        write!(f, "{fake}{self}")
    }
}

impl From<&Device> for Device {
    fn from(device: &Device) -> Self {
        *device
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let Some((kind, index)) = text.split_once(':') else { return Ok(Self::from_type(text.parse()?)) };
        let kind: DeviceType = kind.parse()?;
        let plain = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        let number = index.parse::<usize>().ok().filter(|_| plain).ok_or_else(|| {
            let message =
                format!("invalid device string `{text}`: expected a number from 0 to 127 after the colon");
            Error::new(ErrorKind::Unknown, message)
        })?;
        Self::numbered(kind, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_print_as_they_parse() {
        for kind in DeviceType::all() {
            assert_eq!(kind.name().parse::<DeviceType>().unwrap(), kind);
            assert_eq!(DeviceType::from_number(kind.number()), Some(kind));
            let numbered = Device::numbered(kind, 3).unwrap();
            assert_eq!(numbered.to_string().parse::<Device>().unwrap(), numbered);
        }
        assert_eq!(DeviceType::from_number(127), None);
        for bad in ["", "gpu", "cpu:", "cpu:x", "cpu:-1", "cpu:+1", "cpu:128", "cpu:1:2"] {
            assert!(bad.parse::<Device>().is_err(), "{bad}");
        }
    }
}
