//! Values that are numbers: scalars, dtypes, devices, layouts and memory formats.

use std::fmt;

use num_complex::Complex64;
use opgrid_abi::OpgridDevice;

use crate::error::{Error, ErrorKind, Result};

/// A number of any kind.
///
/// # Examples
///
/// ```
/// use opgrid_plugin_sdk::Scalar;
///
/// assert_eq!(Scalar::from(2).to_f64()?, 2.0);
/// assert!(Scalar::from(1.5).to_i64().is_err());
/// # Ok::<(), opgrid_plugin_sdk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(Complex64),
    /// True or false.
    Bool(bool),
}

impl Scalar {
    /// The number as a float; bools are 0 and 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] for a complex number with an imaginary part.
    pub fn to_f64(self) -> Result<f64> {
        match self {
            Self::Int(value) => Ok(value as f64),
            Self::Float(value) => Ok(value),
            Self::Bool(value) => Ok(f64::from(u8::from(value))),
            Self::Complex(value) if value.im == 0.0 => Ok(value.re),
            Self::Complex(_) => Err(self.refused("float")),
        }
    }

    /// The number as an integer; bools are 0 and 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] for anything that is not a whole number or does not fit.
    pub fn to_i64(self) -> Result<i64> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Bool(value) => Ok(i64::from(value)),
            Self::Float(_) | Self::Complex(_) => {
                let value = self.to_f64().map_err(|_| self.refused("int"))?;
                let fits = value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(&value);
                if fits { Ok(value as i64) } else { Err(self.refused("int")) }
            }
        }
    }

    /// Whether the number is not zero.
    pub fn to_bool(self) -> bool {
        self.to_complex() != Complex64::ZERO
    }

    /// The number as a complex one.
    pub fn to_complex(self) -> Complex64 {
        match self {
            Self::Int(value) => Complex64::new(value as f64, 0.0),
            Self::Float(value) => Complex64::new(value, 0.0),
            Self::Complex(value) => value,
            Self::Bool(value) => Complex64::new(f64::from(u8::from(value)), 0.0),
        }
    }

    #[cold]
    fn refused(self, kind: &str) -> Error {
        Error::new(ErrorKind::Value, format!("value {self} cannot be converted to {kind} without loss"))
    }
}

/// Implements the ways from Rust's numbers.
macro_rules! scalars {
    ($($type:ty: $variant:ident;)*) => {$(
        impl From<$type> for Scalar {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

scalars! {
    i64: Int;
    i32: Int;
    f64: Float;
    f32: Float;
    bool: Bool;
    Complex64: Complex;
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
            Self::Complex(value) => value.fmt(f),
            Self::Bool(value) => value.fmt(f),
        }
    }
}

/// Expands to a type of torch's numbers, with a constant for each.
macro_rules! numbered {
    ($($(#[$doc:meta])* $type:ident { $($constant:ident = $number:literal, $text:literal;)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(i64);

        #[allow(non_upper_case_globals)]
        impl $type {
            $(#[doc = $text] pub const $constant: Self = Self($number);)*

            /// Every one that has a constant here.
            pub const ALL: &'static [Self] = &[$(Self::$constant),*];

            /// Every one that has a constant here.
            pub fn constants() -> impl Iterator<Item = Self> {
                Self::ALL.iter().copied()
            }

            /// torch's number.
            pub const fn number(self) -> i64 {
                self.0
            }

            /// The one of torch's number, which the host checks when it gets it.
            pub const fn from_number(number: i64) -> Self {
                Self(number)
            }
        }
    )*};
}

numbered! {
    /// The type of a tensor's elements.
    DType {
        U8 = 0, "Unsigned 8-bit integer.";
        I8 = 1, "Signed 8-bit integer.";
        I16 = 2, "Signed 16-bit integer.";
        I32 = 3, "Signed 32-bit integer.";
        I64 = 4, "Signed 64-bit integer.";
        F16 = 5, "IEEE half precision.";
        F32 = 6, "IEEE single precision, the default.";
        F64 = 7, "IEEE double precision.";
        Complex64 = 9, "Complex of two `F32`.";
        Complex128 = 10, "Complex of two `F64`.";
        Bool = 11, "One byte that is 0 or 1.";
        QInt8 = 12, "Signed 8-bit integer with a scale and a zero point.";
        QUInt8 = 13, "Unsigned 8-bit integer with a scale and a zero point.";
        QInt32 = 14, "Signed 32-bit integer with a scale and a zero point.";
        BF16 = 15, "The upper half of an `F32`.";
        F8E5M2 = 23, "Eight bits with 5 of exponent and 2 of fraction, with infinities.";
        F8E4M3 = 24, "Eight bits with 4 of exponent and 3 of fraction, without infinities.";
        U16 = 27, "Unsigned 16-bit integer.";
        U32 = 28, "Unsigned 32-bit integer.";
        U64 = 29, "Unsigned 64-bit integer.";
    }
    /// How a tensor's elements are kept.
    Layout {
        Strided = 0, "One block of memory addressed by strides.";
        SparseCoo = 1, "Coordinates and values.";
        SparseCsr = 2, "Compressed rows.";
        Mkldnn = 3, "The format of the oneDNN library.";
        SparseCsc = 4, "Compressed columns.";
        SparseBsr = 5, "Compressed rows of blocks.";
        SparseBsc = 6, "Compressed columns of blocks.";
        Jagged = 7, "Rows of different lengths.";
    }
    /// The order of a strided tensor's elements.
    MemoryFormat {
        Contiguous = 0, "Row-major.";
        Preserve = 1, "As the input.";
        ChannelsLast = 2, "`NCHW` sizes with `NHWC` strides.";
        ChannelsLast3d = 3, "`NCDHW` sizes with `NDHWC` strides.";
    }
}

/// A kind of device: torch's number of it, or that of a backend allocated at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceType(u32);

#[allow(non_upper_case_globals)]
impl DeviceType {
    /// The processor.
    pub const Cpu: Self = Self(0);
    /// CUDA devices.
    pub const Cuda: Self = Self(1);
    /// Tensors with shapes and dtypes but no data.
    pub const Meta: Self = Self(14);
    /// The first of torch's backends for backends of anybody's own.
    pub const PrivateUse1: Self = Self(20);

    /// The kind of a device that the host gave.
    pub(crate) const fn of_host(device: OpgridDevice) -> Self {
        Self(device.kind)
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A device: its kind, and which one of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(OpgridDevice);

impl Device {
    /// The CPU, the default.
    pub const CPU: Self = Self::from_type(DeviceType::Cpu);
    /// The device whose tensors have shapes and dtypes but no data.
    pub const META: Self = Self::from_type(DeviceType::Meta);

    /// The current device of that kind.
    pub const fn from_type(kind: DeviceType) -> Self {
        Self(OpgridDevice { kind: kind.0, index: -1 })
    }

    /// Device number `index` of that kind.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Argument`] where `index` is above 127.
    pub fn numbered(kind: DeviceType, index: usize) -> Result<Self> {
        match i8::try_from(index) {
            Ok(index) => Ok(Self(OpgridDevice { kind: kind.0, index: index.into() })),
            Err(_) => {
                let message = format!("device index {index} is too large, at most 127");
                Err(Error::new(ErrorKind::Argument, message))
            }
        }
    }

    /// The kind of device.
    pub const fn kind(self) -> DeviceType {
        DeviceType(self.0.kind)
    }

    /// Which one of that kind, if the device says so.
    pub fn index(self) -> Option<usize> {
        usize::try_from(self.0.index).ok()
    }

    pub(crate) const fn of_host(device: OpgridDevice) -> Self {
        Self(device)
    }

    pub(crate) const fn to_host(self) -> OpgridDevice {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_become_what_they_can() {
        assert_eq!((Scalar::from(true).to_i64().unwrap(), Scalar::from(2.0).to_i64().unwrap()), (1, 2));
        assert!(Scalar::from(2f64.powi(63)).to_i64().is_err() && Scalar::from(f64::NAN).to_i64().is_err());
        let number = Scalar::from(Complex64::new(1.0, 2.0));
        assert_eq!(number.to_f64().unwrap_err().kind(), ErrorKind::Value);
        assert!(number.to_bool() && !Scalar::from(0).to_bool());
    }

    #[test]
    fn devices_have_numbers_below_128() {
        let device = Device::numbered(DeviceType::Cuda, 127).unwrap();
        assert_eq!((device.kind(), device.index(), Device::CPU.index()), (DeviceType::Cuda, Some(127), None));
        assert!(Device::numbered(DeviceType::Cuda, 128).is_err());
    }
}
