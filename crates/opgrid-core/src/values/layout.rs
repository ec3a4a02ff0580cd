//! How a tensor's elements are kept ([`Layout`]) and in which order strided ones lie ([`MemoryFormat`]).

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};

/// How a tensor keeps its elements. Discriminants are the numbers that torch's schemas use for `Layout`.
///
/// # Examples
///
/// ```
/// use opgrid_core::Layout;
///
/// assert_eq!((Layout::default(), Layout::SparseCsr.name()), (Layout::Strided, "sparse_csr"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Layout {
    /// One block of memory addressed by strides.
    #[default]
    Strided = 0,
    /// Coordinates and values.
    SparseCoo = 1,
    /// Compressed rows.
    SparseCsr = 2,
    /// The format of the oneDNN library.
    Mkldnn = 3,
    /// Compressed columns.
    SparseCsc = 4,
    /// Compressed rows of blocks.
    SparseBsr = 5,
    /// Compressed columns of blocks.
    SparseBsc = 6,
    /// Rows of different lengths.
    Jagged = 7,
}

/// The order of a strided tensor's elements. Discriminants are torch's numbers.
///
/// # Examples
///
/// ```
/// use opgrid_core::MemoryFormat;
///
/// assert_eq!("channels_last".parse::<MemoryFormat>()?, MemoryFormat::ChannelsLast);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum MemoryFormat {
    /// Row-major.
    #[default]
    Contiguous = 0,
    /// As the input.
    Preserve = 1,
    /// `NCHW` sizes with `NHWC` strides.
    ChannelsLast = 2,
    /// `NCDHW` sizes with `NDHWC` strides.
    ChannelsLast3d = 3,
}

/// Implements names, numbers and parsing from one list of rows.
macro_rules! named {
    ($type:ident, $what:literal, [$(($variant:ident, $name:literal)),* $(,)?]) => {
        impl $type {
            /// Every value, in the order of the numbers.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$variant),*].into_iter()
            }

            /// The name, as torch writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The number that schemas use.
            pub fn number(self) -> i64 {
                self as i64
            }

            /// The value of that number.
            pub fn from_number(number: i64) -> Option<Self> {
                Self::all().find(|value| value.number() == number)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::all().find(|value| value.name() == text).ok_or_else(|| {
                    let names: Vec<_> = Self::all().map(Self::name).collect();
                    let message = format!("unknown {} `{text}`, expected one of {}", $what, names.join(", "));
                    Error::new(ErrorKind::Unknown, message)
                })
            }
        }
    };
}

named!(
    Layout,
    "layout",
    [
        (Strided, "strided"),
        (SparseCoo, "sparse_coo"),
        (SparseCsr, "sparse_csr"),
        (Mkldnn, "_mkldnn"),
        (SparseCsc, "sparse_csc"),
        (SparseBsr, "sparse_bsr"),
        (SparseBsc, "sparse_bsc"),
        (Jagged, "jagged"),
    ]
);

named!(
    MemoryFormat,
    "memory format",
    [
        (Contiguous, "contiguous_format"),
        (Preserve, "preserve_format"),
        (ChannelsLast, "channels_last"),
        (ChannelsLast3d, "channels_last_3d"),
    ]
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_round_trip() {
        for layout in Layout::all() {
            assert_eq!(layout.name().parse::<Layout>().unwrap(), layout);
            assert_eq!(Layout::from_number(layout.number()), Some(layout));
        }
        for format in MemoryFormat::all() {
            assert_eq!(format.name().parse::<MemoryFormat>().unwrap(), format);
            assert_eq!(MemoryFormat::from_number(format.number()), Some(format));
        }
        assert!("dense".parse::<Layout>().unwrap_err().to_string().contains("sparse_coo"));
    }
}
