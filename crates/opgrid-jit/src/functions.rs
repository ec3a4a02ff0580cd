//! The elementary functions of [`opgrid_array::loops::math`], for expressions.
//!
//! They are the loops of the eager operators, called with blocks. On processors before x86-64-v3 the exponential of float64 is
//! computed another way where some number of the same 512 is far from zero, for operators and expressions alike.

use opgrid_array::loops::{elementwise, math};
use opgrid_core::DType;

use crate::function::Function;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $function:path;)*) => {
        $($(#[$doc])*
        ///
        /// `None` for other dtypes than float32 and float64.
        pub fn $name(dtype: DType) -> Option<Function> {
            match dtype {
                DType::F32 => Some(Function::f32(stringify!($name), 1, |out, args| {
                    elementwise::unary_slice::<f32, f32>(out, args[0], $function);
                })),
                DType::F64 => Some(Function::f64(stringify!($name), 1, |out, args| {
                    elementwise::unary_slice::<f64, f64>(out, args[0], $function);
                })),
                _ => None,
            }
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
