//! The element types that values and tensors can name.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};

/// The type of a tensor's elements. Discriminants are the numbers that torch's schemas use for `ScalarType`.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
///
/// let dtype: DType = "float32".parse()?;
/// assert_eq!((dtype, dtype.size_in_bytes(), dtype.number()), (DType::F32, 4, 6));
/// assert!(DType::Complex64.is_complex() && !DType::Bool.is_integral());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum DType {
    /// Unsigned 8-bit integer.
    U8 = 0,
    /// Signed 8-bit integer.
    I8 = 1,
    /// Signed 16-bit integer.
    I16 = 2,
    /// Signed 32-bit integer.
    I32 = 3,
    /// Signed 64-bit integer.
    I64 = 4,
    /// IEEE half precision.
    F16 = 5,
    /// IEEE single precision, the default.
    F32 = 6,
    /// IEEE double precision.
    F64 = 7,
    /// Complex of two `F32`.
    Complex64 = 9,
    /// Complex of two `F64`.
    Complex128 = 10,
    /// One byte that is 0 or 1.
    Bool = 11,
    /// Signed 8-bit integer with a scale and a zero point.
    QInt8 = 12,
    /// Unsigned 8-bit integer with a scale and a zero point.
    QUInt8 = 13,
    /// Signed 32-bit integer with a scale and a zero point.
    QInt32 = 14,
    /// The upper half of an `F32`.
    BF16 = 15,
    /// Eight bits with 5 of exponent and 2 of fraction, with infinities.
    F8E5M2 = 23,
    /// Eight bits with 4 of exponent and 3 of fraction, without infinities.
    F8E4M3 = 24,
    /// Unsigned 16-bit integer.
    U16 = 27,
    /// Unsigned 32-bit integer.
    U32 = 28,
    /// Unsigned 64-bit integer.
    U64 = 29,
}

/// Every dtype with its name and its size in bytes; the one list that names, parsing and sizes come from.
const ROWS: [(DType, &str, usize); 20] = [
    (DType::U8, "uint8", 1),
    (DType::I8, "int8", 1),
    (DType::I16, "int16", 2),
    (DType::I32, "int32", 4),
    (DType::I64, "int64", 8),
    (DType::F16, "float16", 2),
    (DType::F32, "float32", 4),
    (DType::F64, "float64", 8),
    (DType::Complex64, "complex64", 8),
    (DType::Complex128, "complex128", 16),
    (DType::Bool, "bool", 1),
    (DType::QInt8, "qint8", 1),
    (DType::QUInt8, "quint8", 1),
    (DType::QInt32, "qint32", 4),
    (DType::BF16, "bfloat16", 2),
    (DType::F8E5M2, "float8_e5m2", 1),
    (DType::F8E4M3, "float8_e4m3fn", 1),
    (DType::U16, "uint16", 2),
    (DType::U32, "uint32", 4),
    (DType::U64, "uint64", 8),
];

/// Other spellings: Rust's and numpy's short ones, and torch's C names.
const SYNONYMS: [(&str, DType); 23] = [
    ("u8", DType::U8),
    ("u16", DType::U16),
    ("u32", DType::U32),
    ("u64", DType::U64),
    ("i8", DType::I8),
    ("i16", DType::I16),
    ("i32", DType::I32),
    ("i64", DType::I64),
    ("f16", DType::F16),
    ("bf16", DType::BF16),
    ("f32", DType::F32),
    ("f64", DType::F64),
    ("c64", DType::Complex64),
    ("c128", DType::Complex128),
    ("short", DType::I16),
    ("int", DType::I32),
    ("long", DType::I64),
    ("half", DType::F16),
    ("float", DType::F32),
    ("double", DType::F64),
    ("cfloat", DType::Complex64),
    ("cdouble", DType::Complex128),
    ("byte", DType::U8),
];

impl DType {
    /// Every dtype, in the order of the numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, usize) {
        ROWS.iter().find(|row| row.0 == self).expect("every dtype has a row")
    }

    /// The name, as in `float32`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The size of one element in bytes.
    #[inline]
    pub const fn size_in_bytes(self) -> usize {
        // Indexed by the number: kernels ask for every argument.
        const SIZES: [u8; 30] = {
            let mut sizes = [0; 30];
            let mut row = 0;
            while row < ROWS.len() {
                sizes[ROWS[row].0 as usize] = ROWS[row].2 as u8;
                row += 1;
            }
            sizes
        };
        SIZES[self as usize] as usize
    }

    /// What addresses of elements are a multiple of, in bytes: the size of one, or of one part of a complex number.
    #[inline]
    pub fn alignment(self) -> usize {
        let size = self.size_in_bytes();
        if self.is_complex() { size / 2 } else { size }
    }

    /// The number that schemas use for this dtype, as in `ScalarType dtype=6`.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// The dtype of that number, if opgrid has it.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::all().find(|dtype| dtype.number() == number)
    }

    /// Whether elements carry a scale and a zero point.
    #[inline]
    pub fn is_quantized(self) -> bool {
        matches!(self, Self::QInt8 | Self::QUInt8 | Self::QInt32)
    }

    /// Whether elements are real floating-point numbers.
    #[inline]
    pub fn is_floating_point(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F32 | Self::F64 | Self::F8E5M2 | Self::F8E4M3)
    }

    /// Whether elements are complex numbers.
    #[inline]
    pub fn is_complex(self) -> bool {
        matches!(self, Self::Complex64 | Self::Complex128)
    }

    /// Whether elements are integers (bool is not one).
    #[inline]
    pub fn is_integral(self) -> bool {
        matches!(self, Self::U8 | Self::I8 | Self::I16 | Self::I32 | Self::I64) || self.is_wide_unsigned()
    }

    /// Whether elements are unsigned integers of more than 8 bits, which hold data but promote with no other integers.
    #[inline]
    pub fn is_wide_unsigned(self) -> bool {
        matches!(self, Self::U16 | Self::U32 | Self::U64)
    }

    /// Whether elements are floating-point numbers of 8 bits, which hold data but promote with nothing.
    #[inline]
    pub fn is_float8(self) -> bool {
        matches!(self, Self::F8E5M2 | Self::F8E4M3)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = ROWS.iter().find(|row| row.1 == text).map(|row| row.0);
        let synonym = || SYNONYMS.iter().find(|row| row.0 == text).map(|row| row.1);
        named.or_else(synonym).ok_or_else(|| {
            let names: Vec<_> = ROWS.iter().map(|row| row.1).collect();
            Error::new(
                ErrorKind::Unknown,
                format!("unknown dtype `{text}`, expected one of {}", names.join(", ")),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_sizes_round_trip() {
        for dtype in DType::all() {
            assert_eq!(dtype.name().parse::<DType>().unwrap(), dtype);
            assert_eq!(DType::from_number(dtype.number()), Some(dtype));
            assert!(dtype.size_in_bytes() > 0);
        }
        for (text, dtype) in SYNONYMS {
            assert_eq!(text.parse::<DType>().unwrap(), dtype);
        }
        assert_eq!(DType::from_number(8), None);
        assert!("float33".parse::<DType>().unwrap_err().to_string().contains("float33"));
    }
}
