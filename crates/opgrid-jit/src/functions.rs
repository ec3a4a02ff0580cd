//! The elementary functions of [`opgrid_array::loops::math`], for expressions.
//!
//! They are the loops of the eager operators, called with blocks. On processors before x86-64-v3 the exponential of float64 is
//! computed another way where some number of the same 512 is far from zero, for operators and expressions alike.

use opgrid_array::loops::math;
use opgrid_core::DType;

use crate::function::Function;

/// A [`Function`] of one value made of a loop function of `opgrid_array`, for a dtype; `None` for other dtypes than float32 and
/// float64.
///
/// # Examples
///
/// ```
/// use opgrid_array::loops::math::ReciprocalRoot;
/// use opgrid_core::DType;
///
/// let function = opgrid_jit::elementary_function!(DType::F32, "rsqrt", ReciprocalRoot).unwrap();
/// assert_eq!((function.name(), function.dtype()), ("rsqrt", DType::F32));
/// assert!(opgrid_jit::elementary_function!(DType::I64, "rsqrt", ReciprocalRoot).is_none());
/// ```
#[macro_export]
macro_rules! elementary_function {
    ($dtype:expr, $name:expr, $function:expr) => {
        match $dtype {
            $crate::elementary::DType::F32 => Some($crate::Function::f32($name, 1, |out, args| {
                $crate::elementary::unary_slice::<f32, f32>(out, args[0], $function);
            })),
            $crate::elementary::DType::F64 => Some($crate::Function::f64($name, 1, |out, args| {
                $crate::elementary::unary_slice::<f64, f64>(out, args[0], $function);
            })),
            _ => None,
        }
    };
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $function:path;)*) => {
        $($(#[$doc])*
        ///
        /// `None` for other dtypes than float32 and float64.
        pub fn $name(dtype: DType) -> Option<Function> {
            elementary_function!(dtype, stringify!($name), $function)
        })*
    };
}

functions! {
    /// The exponential, as `aten::exp` computes it.
    exp = math::Exponential;
    /// The natural logarithm, as `aten::log` computes it.
    log = math::Logarithm;
    /// `1 / (1 + e ^ -x)`, as `aten::sigmoid` computes it.
    sigmoid = math::Logistic;
    /// The hyperbolic tangent, as `aten::tanh` computes it.
    tanh = math::HyperbolicTangent;
}
