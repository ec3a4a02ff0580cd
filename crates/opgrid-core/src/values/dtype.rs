//! The element types that values and tensors can name.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};

/// What the rules for dtypes tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Bool,
    /// Signed integers, and unsigned ones of 8 bits.
    Integer,
    /// Unsigned integers of more than 8 bits.
    WideUnsigned,
    Float,
    /// Floating-point numbers of 8 bits.
    Float8,
    Complex,
    Quantized,
}

/// What is known about a dtype.
struct Row {
    dtype: DType,
    class: Class,
    bytes: usize,
    name: &'static str,
    torch_name: &'static str,
    synonyms: &'static [&'static str],
}

/// Expands one row for each dtype to the enum and to `ROWS`, which everything else here is read from.
macro_rules! dtypes {
    ($($(#[$doc:meta])* $dtype:ident = $number:literal, $class:ident, $bytes:literal, $name:literal, $torch_name:literal,
        [$($synonym:literal),*];)*) => {
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
            $($(#[$doc])* $dtype = $number,)*
        }

        const ROWS: &[Row] = &[$(Row {
            dtype: DType::$dtype,
            class: Class::$class,
            bytes: $bytes,
            name: $name,
            torch_name: $torch_name,
            synonyms: &[$($synonym),*],
        }),*];
    };
}

// torch's number; the class; bytes of one element; the name; the name in torch's errors; what else is understood: Rust's
// and numpy's short names, and C's.
dtypes! {
    /// Unsigned 8-bit integer.
    U8 = 0, Integer, 1, "uint8", "Byte", ["u8", "byte"];
    /// Signed 8-bit integer.
    I8 = 1, Integer, 1, "int8", "Char", ["i8"];
    /// Signed 16-bit integer.
    I16 = 2, Integer, 2, "int16", "Short", ["i16", "short"];
    /// Signed 32-bit integer.
    I32 = 3, Integer, 4, "int32", "Int", ["i32", "int"];
    /// Signed 64-bit integer.
    I64 = 4, Integer, 8, "int64", "Long", ["i64", "long"];
    /// IEEE half precision.
    F16 = 5, Float, 2, "float16", "Half", ["f16", "half"];
    /// IEEE single precision, the default.
    F32 = 6, Float, 4, "float32", "Float", ["f32", "float"];
    /// IEEE double precision.
    F64 = 7, Float, 8, "float64", "Double", ["f64", "double"];
    /// Complex of two `F32`.
    Complex64 = 9, Complex, 8, "complex64", "ComplexFloat", ["c64", "cfloat"];
    /// Complex of two `F64`.
    Complex128 = 10, Complex, 16, "complex128", "ComplexDouble", ["c128", "cdouble"];
    /// One byte that is 0 or 1.
    Bool = 11, Bool, 1, "bool", "Bool", [];
    /// Signed 8-bit integer with a scale and a zero point.
    QInt8 = 12, Quantized, 1, "qint8", "QInt8", [];
    /// Unsigned 8-bit integer with a scale and a zero point.
    QUInt8 = 13, Quantized, 1, "quint8", "QUInt8", [];
    /// Signed 32-bit integer with a scale and a zero point.
    QInt32 = 14, Quantized, 4, "qint32", "QInt32", [];
    /// The upper half of an `F32`.
    BF16 = 15, Float, 2, "bfloat16", "BFloat16", ["bf16"];
    /// Eight bits with 5 of exponent and 2 of fraction, with infinities.
    F8E5M2 = 23, Float8, 1, "float8_e5m2", "Float8_e5m2", [];
    /// Eight bits with 4 of exponent and 3 of fraction, without infinities.
    F8E4M3 = 24, Float8, 1, "float8_e4m3fn", "Float8_e4m3fn", [];
    /// Unsigned 16-bit integer.
    U16 = 27, WideUnsigned, 2, "uint16", "UInt16", ["u16"];
    /// Unsigned 32-bit integer.
    U32 = 28, WideUnsigned, 4, "uint32", "UInt32", ["u32"];
    /// Unsigned 64-bit integer.
    U64 = 29, WideUnsigned, 8, "uint64", "UInt64", ["u64"];
}

/// More than the largest number.
const NUMBERS: usize = 64;

/// The dtypes of a class, as bits by their numbers: one test tells whether a dtype is among them.
const fn of_class(class: Class) -> u64 {
    let (mut dtypes, mut row) = (0, 0);
    while row < ROWS.len() {
        if ROWS[row].class as u8 == class as u8 {
            dtypes |= 1 << ROWS[row].dtype as u8;
        }
        row += 1;
    }
    dtypes
}

impl DType {
    /// Every dtype, in the order of the numbers.
    pub const ALL: [Self; ROWS.len()] = {
        let mut all = [Self::U8; ROWS.len()];
        let mut row = 0;
        while row < ROWS.len() {
            all[row] = ROWS[row].dtype;
            row += 1;
        }
        all
    };

    /// Every dtype, in the order of the numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.dtype == self).expect("every dtype has a row")
    }

    #[inline]
    const fn is_among(self, dtypes: u64) -> bool {
        dtypes >> self as u8 & 1 != 0
    }

    /// The name, as in `float32`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in torch's errors and in C++, as in `Float`.
    pub fn torch_name(self) -> &'static str {
        self.row().torch_name
    }

    /// The size of one element in bytes.
    #[inline]
    pub const fn size_in_bytes(self) -> usize {
        // Indexed by the number: kernels ask for every argument.
        const SIZES: [u8; NUMBERS] = {
            let mut sizes = [0; NUMBERS];
            let mut row = 0;
            while row < ROWS.len() {
                sizes[ROWS[row].dtype as usize] = ROWS[row].bytes as u8;
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
    pub const fn is_quantized(self) -> bool {
        self.is_among(const { of_class(Class::Quantized) })
    }

    /// Whether elements are real floating-point numbers.
    #[inline]
    pub const fn is_floating_point(self) -> bool {
        self.is_among(const { of_class(Class::Float) | of_class(Class::Float8) })
    }

    /// Whether elements are complex numbers.
    #[inline]
    pub const fn is_complex(self) -> bool {
        self.is_among(const { of_class(Class::Complex) })
    }

    /// Whether elements are integers (bool is not one).
    #[inline]
    pub const fn is_integral(self) -> bool {
        self.is_among(const { of_class(Class::Integer) | of_class(Class::WideUnsigned) })
    }

    /// Whether elements are unsigned integers of more than 8 bits, which kernels compute as other integers.
    #[inline]
    pub const fn is_wide_unsigned(self) -> bool {
        self.is_among(const { of_class(Class::WideUnsigned) })
    }

    /// The dtype that kernels take elements as for which only bits count: of unsigned integers of more than 8 bits the signed
    /// one of their width, of others the dtype itself.
    #[inline]
    pub const fn of_bits(self) -> Self {
        match self {
            Self::U16 => Self::I16,
            Self::U32 => Self::I32,
            Self::U64 => Self::I64,
            other => other,
        }
    }

    /// Whether elements are floating-point numbers of 8 bits, which hold data but promote with nothing.
    #[inline]
    pub const fn is_float8(self) -> bool {
        self.is_among(const { of_class(Class::Float8) })
    }

    /// Whether elements can be less than zero.
    #[inline]
    pub const fn is_signed(self) -> bool {
        !(matches!(self, Self::Bool | Self::U8 | Self::QUInt8) || self.is_wide_unsigned())
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
        let known = ROWS.iter().find(|row| row.name == text || row.synonyms.contains(&text));
        known.map(|row| row.dtype).ok_or_else(|| {
            let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
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
        let numbers: Vec<i64> = DType::all().map(DType::number).collect();
        assert!(
            numbers.is_sorted_by(|one, next| one < next)
                && numbers.iter().all(|&number| number < NUMBERS as i64)
        );
        let mut texts: Vec<&str> =
            ROWS.iter().flat_map(|row| row.synonyms.iter().copied().chain([row.name])).collect();
        texts.sort_unstable();
        assert!(texts.is_sorted_by(|one, next| one < next), "a text names one dtype");
        assert_eq!(("short".parse().ok(), "c64".parse().ok()), (Some(DType::I16), Some(DType::Complex64)));
        assert_eq!(DType::from_number(8), None);
        assert!("float33".parse::<DType>().unwrap_err().to_string().contains("float33"));
    }
}
