//! Picks the Rust type of a dtype that is known at run time only.

use opgrid_core::{DType, Error, ErrorKind};

/// The error for a dtype that a kernel does not take; whoever knows the operator adds its name in front.
#[cold]
#[inline(never)]
pub fn unsupported(dtype: DType, expected: &str) -> Error {
    let message = format!("not implemented for '{}' ({dtype}), expected {expected}", torch_name(dtype));
    Error::new(ErrorKind::NotImplemented, message)
}

/// The name that torch's errors use.
pub fn torch_name(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "Byte",
        DType::I8 => "Char",
        DType::I16 => "Short",
        DType::I32 => "Int",
        DType::I64 => "Long",
        DType::F16 => "Half",
        DType::BF16 => "BFloat16",
        DType::F32 => "Float",
        DType::F64 => "Double",
        DType::Complex64 => "ComplexFloat",
        DType::Complex128 => "ComplexDouble",
        DType::Bool => "Bool",
        DType::QInt8 => "QInt8",
        DType::QUInt8 => "QUInt8",
        DType::QInt32 => "QInt32",
        DType::F8E5M2 => "Float8_e5m2",
        DType::F8E4M3 => "Float8_e4m3fn",
        DType::U16 => "UInt16",
        DType::U32 => "UInt32",
        DType::U64 => "UInt64",
        other => other.name(),
    }
}

/// Runs one generic body with the Rust type of a dtype that is known at run time only.
///
/// `with_dtype!(dtype, T: Float => body)` expands to
///
/// ```text
/// match dtype {
///     DType::F16 => { type T = half::f16; body }
///     DType::BF16 => { type T = half::bf16; body }
///     DType::F32 => { type T = f32; body }
///     DType::F64 => { type T = f64; body }
///     other => Err(unsupported(other, "a floating-point dtype")),
/// }
/// ```
///
/// The body is a `Result`. The bounds are
///
/// | bound | bool | integers | floats | complex | wide unsigned and 8-bit floats |
/// |---|---|---|---|---|---|
/// | `Stored` | yes | yes | yes | yes | yes |
/// | none, `Any` | yes | yes | yes | yes | |
/// | `Number` | | yes | yes | yes | |
/// | `Ordered` | yes | yes | yes | | |
/// | `Real` | | yes | yes | | |
/// | `Inexact` | | | yes | yes | |
/// | `Float` | | | yes | | |
/// | `Complex` | | | | yes | |
/// | `Integral` | yes | yes | | | |
/// | `Integer` | | yes | | | |
///
/// `Stored` is for what reads, writes, compares and converts elements; kernels that compute take the others.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_tensor::{Element, with_dtype};
///
/// let size = with_dtype!(DType::F64, T => Ok::<_, opgrid_core::Error>(size_of::<T>()))?;
/// assert_eq!(size, 8);
/// let error = with_dtype!(DType::I64, T: Float => Ok(T::DTYPE)).unwrap_err();
/// assert_eq!(error.to_string(), "not implemented for 'Long' (int64), expected a floating-point dtype");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "another dtype", [bool integer float complex])
    };
    ($dtype:expr, $T:ident: Any => $body:expr) => {
        $crate::with_dtype!($dtype, $T => $body)
    };
    ($dtype:expr, $T:ident: Stored => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "a dtype with data", [bool integer float complex stored])
    };
    ($dtype:expr, $T:ident: Number => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "a dtype of numbers", [integer float complex])
    };
    ($dtype:expr, $T:ident: Ordered => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "a bool, integer or floating-point dtype", [bool integer float])
    };
    ($dtype:expr, $T:ident: Real => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "an integer or floating-point dtype", [integer float])
    };
    ($dtype:expr, $T:ident: Inexact => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "a floating-point or complex dtype", [float complex])
    };
    ($dtype:expr, $T:ident: Float => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "a floating-point dtype", [float])
    };
    ($dtype:expr, $T:ident: Complex => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "a complex dtype", [complex])
    };
    ($dtype:expr, $T:ident: Integral => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "a bool or integer dtype", [bool integer])
    };
    ($dtype:expr, $T:ident: Integer => $body:expr) => {
        $crate::with_dtype!(@arms $dtype, $T, $body, "an integer dtype", [integer])
    };
    (@arms $dtype:expr, $T:ident, $body:expr, $expected:literal, [$($kind:ident)*]) => {
        $crate::with_dtype!(@expand $dtype, $T, $body, $expected, [$($kind)*], [])
    };
    (@expand $dtype:expr, $T:ident, $body:expr, $expected:literal, [bool $($kind:ident)*], [$($row:tt)*]) => {
        $crate::with_dtype!(@expand $dtype, $T, $body, $expected, [$($kind)*], [$($row)* (Bool, $crate::Bool)])
    };
    (@expand $dtype:expr, $T:ident, $body:expr, $expected:literal, [integer $($kind:ident)*], [$($row:tt)*]) => {
        $crate::with_dtype!(@expand $dtype, $T, $body, $expected, [$($kind)*],
            [$($row)* (U8, u8) (I8, i8) (I16, i16) (I32, i32) (I64, i64)])
    };
    (@expand $dtype:expr, $T:ident, $body:expr, $expected:literal, [float $($kind:ident)*], [$($row:tt)*]) => {
        $crate::with_dtype!(@expand $dtype, $T, $body, $expected, [$($kind)*],
            [$($row)* (F32, f32) (F64, f64) (F16, $crate::__private::f16) (BF16, $crate::__private::bf16)])
    };
    (@expand $dtype:expr, $T:ident, $body:expr, $expected:literal, [complex $($kind:ident)*], [$($row:tt)*]) => {
        $crate::with_dtype!(@expand $dtype, $T, $body, $expected, [$($kind)*],
            [$($row)* (Complex64, $crate::__private::Complex<f32>) (Complex128, $crate::__private::Complex<f64>)])
    };
    (@expand $dtype:expr, $T:ident, $body:expr, $expected:literal, [stored $($kind:ident)*], [$($row:tt)*]) => {
        $crate::with_dtype!(@expand $dtype, $T, $body, $expected, [$($kind)*],
            [$($row)* (U16, u16) (U32, u32) (U64, u64)
                (F8E5M2, $crate::tensor::F8E5M2) (F8E4M3, $crate::tensor::F8E4M3)])
    };
    (@expand $dtype:expr, $T:ident, $body:expr, $expected:literal, [], [$(($variant:ident, $type:ty))*]) => {
        match $dtype {
            $($crate::__private::DType::$variant => {
                type $T = $type;
                $body
            })*
            other => ::core::result::Result::Err($crate::tensor::choose::unsupported(other, $expected)),
        }
    };
}
