//! Picks the Rust type of a dtype that is known at run time only.

use opgrid_core::{DType, Error, ErrorKind};

/// The error for a dtype that a kernel does not take; whoever knows the operator adds its name in front.
#[cold]
#[inline(never)]
pub fn unsupported(dtype: DType, expected: &str) -> Error {
    let message = format!("not implemented for '{}' ({dtype}), expected {expected}", dtype.torch_name());
    Error::new(ErrorKind::NotImplemented, message)
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
/// | bound | bool | integers | floats | complex | wide unsigned | 8-bit floats |
/// |---|---|---|---|---|---|---|
/// | `Stored` | yes | yes | yes | yes | yes | yes |
/// | `AnyFloat` | | | yes | | | yes |
/// | none, `Any` | yes | yes | yes | yes | see below | |
/// | `Number` | | yes | yes | yes | see below | |
/// | `Ordered` | yes | yes | yes | | see below | |
/// | `Real` | | yes | yes | | see below | |
/// | `Inexact` | | | yes | yes | | |
/// | `Float` | | | yes | | | |
/// | `Complex` | | | | yes | | |
/// | `Integral` | yes | yes | | | see below | |
/// | `Integer` | | yes | | | see below | |
///
/// `Stored` and `AnyFloat` are for what reads, writes, compares and converts elements; kernels that compute take the others.
///
/// Unsigned integers of more than 8 bits ("wide unsigned") are mostly computed as other integers, so that there are few loops
/// for them. What is behind a bound says as which:
///
/// | behind the bound | uint16 | uint32 | uint64 | for |
/// |---|---|---|---|---|
/// | nothing | | | | loops that do not take them |
/// | `by value` | i64 | i64 | u64 | loops that convert elements to `T`, and results from it |
/// | `by bits` | i16 | i32 | i64 | loops where the lowest bits of operands make the lowest bits of results: copies, sums, products, bitwise operators |
/// | `by itself` | u16 | u32 | u64 | what compares, checks or converts elements, and all else |
///
/// All other dtypes have their own type in each case.
///
/// The groups at the end of the macro are the one list of dtypes and their Rust types: [`STORED`] and the table of conversions
/// are made of it.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_array::{Element, with_dtype};
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
        $crate::with_dtype!(@bound Any [integer] ($dtype, $T, $body))
    };
    ($dtype:expr, $T:ident: $bound:ident => $body:expr) => {
        $crate::with_dtype!(@bound $bound [integer] ($dtype, $T, $body))
    };
    ($dtype:expr, $T:ident: $bound:ident by value => $body:expr) => {
        $crate::with_dtype!(@bound $bound [integer_by_value] ($dtype, $T, $body))
    };
    ($dtype:expr, $T:ident: $bound:ident by bits => $body:expr) => {
        $crate::with_dtype!(@bound $bound [integer_by_bits] ($dtype, $T, $body))
    };
    ($dtype:expr, $T:ident: $bound:ident by itself => $body:expr) => {
        $crate::with_dtype!(@bound $bound [integer unsigned] ($dtype, $T, $body))
    };
    (@bound Any [$($integer:ident)*] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [bool $($integer)* float complex] []
            @match ($dtype, $T, $body, "another dtype"))
    };
    (@bound Number [$($integer:ident)*] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [$($integer)* float complex] []
            @match ($dtype, $T, $body, "a numeric dtype"))
    };
    (@bound Ordered [$($integer:ident)*] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [bool $($integer)* float] []
            @match ($dtype, $T, $body, "a bool, integer or floating-point dtype"))
    };
    (@bound Real [$($integer:ident)*] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [$($integer)* float] []
            @match ($dtype, $T, $body, "an integer or floating-point dtype"))
    };
    (@bound Integral [$($integer:ident)*] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [bool $($integer)*] []
            @match ($dtype, $T, $body, "a bool or integer dtype"))
    };
    (@bound Integer [$($integer:ident)*] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [$($integer)*] [] @match ($dtype, $T, $body, "an integer dtype"))
    };
    (@bound Stored [integer] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [bool integer float complex unsigned float8] []
            @match ($dtype, $T, $body, "a dtype with data"))
    };
    (@bound AnyFloat [integer] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [float float8] [] @match ($dtype, $T, $body, "a floating-point dtype"))
    };
    (@bound Inexact [integer] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [float complex] []
            @match ($dtype, $T, $body, "a floating-point or complex dtype"))
    };
    (@bound Float [integer] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [float] [] @match ($dtype, $T, $body, "a floating-point dtype"))
    };
    (@bound Complex [integer] ($dtype:expr, $T:ident, $body:expr)) => {
        $crate::with_dtype!(@rows [complex] [] @match ($dtype, $T, $body, "a complex dtype"))
    };
    (@rows [bool $($more:ident)*] [$($row:tt)*] $($then:tt)*) => {
        $crate::with_dtype!(@rows [$($more)*] [$($row)*
            (Bool, $crate::Bool)
        ] $($then)*)
    };
    (@rows [integer $($more:ident)*] [$($row:tt)*] $($then:tt)*) => {
        $crate::with_dtype!(@rows [$($more)*] [$($row)*
            (U8, u8) (I8, i8) (I16, i16) (I32, i32) (I64, i64)
        ] $($then)*)
    };
    (@rows [float $($more:ident)*] [$($row:tt)*] $($then:tt)*) => {
        $crate::with_dtype!(@rows [$($more)*] [$($row)*
            (F16, $crate::__private::f16) (BF16, $crate::__private::bf16) (F32, f32) (F64, f64)
        ] $($then)*)
    };
    (@rows [complex $($more:ident)*] [$($row:tt)*] $($then:tt)*) => {
        $crate::with_dtype!(@rows [$($more)*] [$($row)*
            (Complex64, $crate::__private::Complex<f32>) (Complex128, $crate::__private::Complex<f64>)
        ] $($then)*)
    };
    (@rows [unsigned $($more:ident)*] [$($row:tt)*] $($then:tt)*) => {
        $crate::with_dtype!(@rows [$($more)*] [$($row)*
            (U16, u16) (U32, u32) (U64, u64)
        ] $($then)*)
    };
    (@rows [integer_by_value $($more:ident)*] [$($row:tt)*] $($then:tt)*) => {
        $crate::with_dtype!(@rows [$($more)*] [$($row)*
            (U8, u8) (I8, i8) (I16, i16) (I32, i32) (I64 | U16 | U32, i64) (U64, u64)
        ] $($then)*)
    };
    (@rows [integer_by_bits $($more:ident)*] [$($row:tt)*] $($then:tt)*) => {
        $crate::with_dtype!(@rows [$($more)*] [$($row)*
            (U8, u8) (I8, i8) (I16 | U16, i16) (I32 | U32, i32) (I64 | U64, i64)
        ] $($then)*)
    };
    (@rows [float8 $($more:ident)*] [$($row:tt)*] $($then:tt)*) => {
        $crate::with_dtype!(@rows [$($more)*] [$($row)*
            (F8E5M2, $crate::F8E5M2) (F8E4M3, $crate::F8E4M3)
        ] $($then)*)
    };
    (@rows [] [$(($($variant:ident)|+, $type:ty))*] @match ($dtype:expr, $T:ident, $body:expr, $expected:literal)) => {
        match $dtype {
            $($($crate::__private::DType::$variant)|+ => {
                type $T = $type;
                $body
            })*
            other => ::core::result::Result::Err($crate::choose::unsupported(other, $expected)),
        }
    };
    // Hands the rows to a macro of the caller's, behind what it is given.
    (@rows [] [$($row:tt)*] $then:ident ($($given:tt)*)) => {
        $then!(($($given)*) $($row)*)
    };
}

/// Lists dtypes of the rows of [`with_dtype!`].
macro_rules! list {
    (() $(($variant:ident, $type:ty))*) => {
        &[$(DType::$variant),*]
    };
}

/// Every dtype that tensors have elements of: those that kernels compute with first.
pub const STORED: &[DType] =
    crate::with_dtype!(@rows [bool integer float complex unsigned float8] [] list ());
/// The dtypes that kernels compute with.
pub const ANY: &[DType] = crate::with_dtype!(@rows [bool integer float complex unsigned] [] list ());
/// All of those but bool.
pub const NUMBERS: &[DType] = crate::with_dtype!(@rows [integer float complex unsigned] [] list ());
/// All but complex ones.
pub const ORDERED: &[DType] = crate::with_dtype!(@rows [bool integer float unsigned] [] list ());
/// Integers and floats.
pub const REAL: &[DType] = crate::with_dtype!(@rows [integer float unsigned] [] list ());
/// Bool and integers.
pub const INTEGRAL: &[DType] = crate::with_dtype!(@rows [bool integer unsigned] [] list ());
/// Integers.
pub const INTEGERS: &[DType] = crate::with_dtype!(@rows [integer unsigned] [] list ());
/// Floats.
pub const FLOATS: &[DType] = crate::with_dtype!(@rows [float] [] list ());
/// Complex ones.
pub const COMPLEX: &[DType] = crate::with_dtype!(@rows [complex] [] list ());
/// Floats and complex ones.
pub const INEXACT: &[DType] = crate::with_dtype!(@rows [float complex] [] list ());

const _: () = {
    let mut at = 0;
    while at < DType::ALL.len() {
        let dtype = DType::ALL[at];
        let (mut is_stored, mut row) = (dtype.is_quantized(), 0);
        while row < STORED.len() {
            is_stored |= STORED[row] as u8 == dtype as u8;
            row += 1;
        }
        assert!(is_stored, "a dtype of `DType::ALL` is in no group of `with_dtype!`; give it a row there");
        at += 1;
    }
};
